"""Resampling, influence, permutation, robust tests and profiles, against R and by hand."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis import mixed
from analysis.mixed.algebra.simulate import simulator
from analysis.mixed.frames.comparison import boundary_p_value, compare
from analysis.mixed.model import MixedModel
from analysis.mixed.refitting.bootstrap import (
    cluster_bootstrap,
    likelihood_ratio_bootstrap,
    parametric_bootstrap,
    r_squared_intervals,
)
from analysis.mixed.refitting.influence import leave_one_out
from analysis.mixed.refitting.permutation import permutation_test
from analysis.mixed.refitting.prediction import leave_one_out_prediction
from analysis.mixed.refitting.robust import COVARIANCES, cluster_robust, wild_cluster_bootstrap
from analysis.tidy.errors import AnalysisError, ColumnError, DesignError
from tests.benchmarks.cells import draw_statistics

R = Path(__file__).parents[3] / "r"
rows = pd.read_csv(R / "mixed_data_crossed.csv")
rows["heritage"] = rows["lab"].map(
    {"alpha": "open", "beta": "open", "gamma": "closed", "delta": "closed", "epsilon": "closed"}
)
FORMULA = "gain ~ rho + depth + (1 | lab) + (1 | model) + (1 | prompt)"

#: clubSandwich works with n x n projections.
ROBUST = 1e-9


def spelt(term: str) -> str:
    return {"(Intercept)": "Intercept", "kindchat": "kind[T.chat]", "kindcode": "kind[T.code]"}.get(
        term, term
    )


@pytest.fixture(scope="module")
def whole() -> MixedModel:
    return mixed.fit(FORMULA, rows)


@pytest.fixture(scope="module")
def with_kind() -> MixedModel:
    return mixed.fit("gain ~ rho + depth + kind + (1 | lab) + (1 | model) + (1 | prompt)", rows)


@pytest.mark.parametrize("cluster", ["lab", "model", "prompt"])
@pytest.mark.parametrize("covariance", COVARIANCES)
def test_cluster_robust_tests_agree_with_clubsandwich(
    with_kind: MixedModel, cluster: str, covariance: str
) -> None:
    answers = pd.read_csv(R / "mixed_robust.csv")
    named = "CR1S" if covariance == "CR1" else covariance
    chosen = (answers["cluster"] == cluster) & (answers["type"] == named)
    answer = answers[chosen].set_index("term")
    ours = cluster_robust(with_kind, cluster, covariance=covariance).set_index("term")
    ours = ours.loc[[spelt(term) for term in answer.index]]
    # kind belongs to prompts: no single prompt or lab determines it, all terms are testable.
    for column in ("estimate", "std_error", "df", "p_value"):
        np.testing.assert_allclose(ours[column], answer[column], rtol=ROBUST)


def test_the_wild_bootstrap_agrees_with_one_written_row_by_row(with_kind: MixedModel) -> None:
    for answer in pd.read_csv(R / "mixed_wild.csv").itertuples():
        ours = wild_cluster_bootstrap(with_kind, spelt(answer.term), "lab").iloc[0]
        assert ours["statistic"] == pytest.approx(answer.statistic, rel=1e-9)
        assert ours["p_value"] == answer.p_value
        assert (ours["n_resamples"], ours["smallest_p"]) == (32, 2 / 32)


def test_many_clusters_need_a_source_of_draws(whole: MixedModel) -> None:
    with pytest.raises(AnalysisError, match=r"2\^15 sign vectors are too many to enumerate"):
        wild_cluster_bootstrap(whole, "rho", "prompt")
    drawn = wild_cluster_bootstrap(
        whole, "depth", "prompt", rng=np.random.default_rng(1), n_resamples=199
    ).iloc[0]
    assert drawn["smallest_p"] == 1 / 200
    assert drawn["p_value"] >= 1 / 200


def test_estimates_without_each_lab_agree_with_refits_by_lme4(whole: MixedModel) -> None:
    answer = pd.read_csv(R / "mixed_left_out.csv")
    answer["term"] = [spelt(term) for term in answer["term"]]
    both = leave_one_out(whole, "lab").merge(answer, on=["level", "term"], suffixes=("", "_r"))
    assert len(both) == 15
    # lme4's own optimum is good to about six digits.
    for column in ("estimate", "change", "cooks_distance"):
        np.testing.assert_allclose(both[column], both[f"{column}_r"], rtol=1e-5, atol=1e-6)


def test_without_a_lab_that_alone_has_a_level_the_term_is_gone() -> None:
    own = rows.assign(kind=rows["kind"].where(rows["lab"] != "beta", "beta's own"))
    model = mixed.fit("gain ~ kind + (1 | lab) + (1 | model)", own)
    left = leave_one_out(model, "lab").query("level == 'beta'")
    assert left["estimate"].isna().all()
    assert left["note"].str.contains("Without it there is no").all()


def test_a_unit_that_was_not_collected_is_refused(whole: MixedModel) -> None:
    with pytest.raises(DesignError, match="A unit must be a factor that was collected; 'suite'"):
        leave_one_out(whole, "suite")


def test_drawn_cross_products_have_the_moments_of_drawn_rows(whole: MixedModel) -> None:
    # Means and variances of X'y, Z1'y and y'y over many draws against those of the model.
    rng = np.random.default_rng(7)
    cross, found = whole.cross, whole.found
    source = simulator(cross, found)
    drawn = [source.draw(rng) for _ in range(4000)]
    q = cross.n_random
    fixed = np.array([each.rest[q:-1, -1] for each in drawn])
    expected = cross.rest[q:-1, q:-1] @ found.coefficients
    error = fixed.std(axis=0) / np.sqrt(len(drawn))
    assert (np.abs(fixed.mean(axis=0) - expected) < 4 * error).all()
    squares = np.array([each.rest[-1, -1] for each in drawn])
    theta = found.theta**2
    sizes = np.array(
        [cross.diagonal.sum()] + [np.trace(cross.rest[a:b, a:b]) for a, b in ((0, 12), (12, 17))]
    )
    mean = found.coefficients @ expected + found.variance * (cross.n_obs + theta @ sizes)
    assert squares.mean() == pytest.approx(mean, abs=4 * squares.std() / np.sqrt(len(drawn)))


@pytest.mark.slow
def test_the_parametric_bootstrap_repeats_the_standard_errors(whole: MixedModel) -> None:
    found = parametric_bootstrap(whole, rng=np.random.default_rng(3), n_resamples=400)
    fixed = found.query("effect == 'fixed'")
    tidy = whole.tidy(["fixed"], df="satterthwaite")
    # The relative error of a standard deviation of 400 draws is 1 / sqrt(800), 3.5 %.
    np.testing.assert_allclose(fixed["std_error"], tidy["std_error"], rtol=0.14)
    assert (found["conf_low"] <= found["conf_high"]).all()
    assert (found["n_failed"] == 0).all()


def test_the_parametric_bootstrap_gives_the_same_numbers_for_the_same_seed(
    whole: MixedModel,
) -> None:
    one, other = (
        parametric_bootstrap(whole, rng=np.random.default_rng(5), n_resamples=40) for _ in range(2)
    )
    pd.testing.assert_frame_equal(one, other)


def test_shares_of_variance_have_intervals(whole: MixedModel) -> None:
    found = r_squared_intervals(whole, rng=np.random.default_rng(5), n_resamples=99)
    glance = whole.glance().iloc[0]
    known = [glance[name] for name in ("r_squared_marginal", "r_squared_conditional", "icc")]
    assert found["estimate"].tolist() == known
    assert (found["conf_low"] < found["estimate"]).all()
    assert (found["estimate"] < found["conf_high"]).all()
    assert found["conf_high"].max() < 1


def test_too_few_resamples_are_refused(whole: MixedModel) -> None:
    with pytest.raises(DesignError, match=r"A 0.95 interval needs at least 39 resamples; 10 of 10"):
        parametric_bootstrap(whole, rng=np.random.default_rng(5), n_resamples=10)


@pytest.mark.slow
def test_the_cluster_bootstrap_gives_copies_of_a_unit_their_own_effects(whole: MixedModel) -> None:
    found = cluster_bootstrap(whole, "lab", rng=np.random.default_rng(2), n_resamples=60)
    assert (found["n_failed"] == 0).all()
    assert found["note"].str.startswith("Only 5 lab levels").all()
    # Were the copies of a lab one lab, resamples of one lab twice over would have no groups.
    two = rows[rows["lab"].isin(["alpha", "gamma"])]
    pair = mixed.fit("gain ~ depth + (1 | lab) + (1 | prompt)", two)
    drawn = cluster_bootstrap(pair, "lab", rng=np.random.default_rng(2), n_resamples=45)
    assert (drawn["n_failed"] == 0).all()


@pytest.mark.slow
def test_a_bootstrapped_likelihood_ratio_follows_the_boundary_mixture() -> None:
    # Under a null of no lab variance the plain chi-squared p is too large.
    larger = mixed.fit("gain ~ depth + (1 | lab) + (1 | prompt)", rows, reml=False)
    smaller = mixed.fit_statistics("gain ~ depth + (1 | prompt)", larger.statistics, reml=False)
    found = likelihood_ratio_bootstrap(
        smaller, larger, rng=np.random.default_rng(4), n_resamples=99
    ).iloc[0]
    assert found["statistic"] == pytest.approx(compare([smaller, larger])["statistic"].iloc[1])
    assert found["p_value"] == found["smallest_p"] == 1 / 100


def test_a_ratio_of_two_fits_of_one_frame_is_that_of_two_fits_of_its_statistics() -> None:
    right = "(1 | model) + (1 | prompt)"
    larger = mixed.fit(f"gain ~ kind * depth + rho + {right}", rows)
    by_rows = mixed.fit(f"gain ~ rho + kind + {right}", rows, reml=False)
    by_cells = mixed.fit_statistics(f"gain ~ rho + kind + {right}", larger.statistics)
    found = [
        likelihood_ratio_bootstrap(each, larger, rng=np.random.default_rng(4), n_resamples=9)
        for each in (by_rows, by_cells)
    ]
    pd.testing.assert_frame_equal(*found, rtol=1e-6)
    known = compare([by_rows, larger])["statistic"].iloc[1]
    assert found[0]["statistic"].item() == pytest.approx(known, rel=1e-6)


@pytest.mark.parametrize("fixed", ["I(2 * rho)", "0 + kind"])
def test_bootstrapped_ratios_need_columns_of_one_name(fixed: str) -> None:
    right = "(1 | model) + (1 | prompt)"
    smaller = mixed.fit(f"gain ~ {fixed} + {right}", rows)
    larger = mixed.fit(f"gain ~ rho + kind + {right}", rows)
    assert np.isfinite(compare([smaller, larger])["statistic"].iloc[1])
    with pytest.raises(DesignError, match=r"no column (I\(2 \* rho\)|kind\[base\])"):
        likelihood_ratio_bootstrap(smaller, larger, rng=np.random.default_rng(1))
    with pytest.raises(DesignError, match="on the same rows"):
        likelihood_ratio_bootstrap(
            mixed.fit(smaller.formula.text, rows.iloc[1:]), larger, rng=np.random.default_rng(1)
        )


@pytest.mark.parametrize("term", ["depth", "Intercept"])
def test_a_term_that_does_not_read_what_is_exchanged_has_no_permutation_test(
    whole: MixedModel, term: str
) -> None:
    with pytest.raises(DesignError, match=f"'{term}' does not read 'rho'"):
        permutation_test(whole, term, "rho", "model", rng=np.random.default_rng(1))


@pytest.mark.parametrize("unit", [1.0, 1e8, 1e-8])
@pytest.mark.parametrize("formula", ["depth + kind + (depth | model)", "depth + kind + (1 | lab)"])
def test_drawn_noise_has_the_covariance_of_columns_of_any_size(unit: float, formula: str) -> None:
    model = mixed.fit(f"gain ~ {formula}", rows.assign(depth=unit * rows["depth"]))
    cross, source = model.cross, simulator(model.cross, model.found)
    first = source.first_root @ source.first_root.transpose(0, 2, 1)
    assert first == pytest.approx(cross.diagonal, rel=1e-9)
    across = np.einsum("lir,lij,ljs->rs", source.regression, first, source.regression)
    rest = cross.rest[:-1, :-1]
    sizes = np.sqrt(np.diag(rest))
    found = source.rest_root @ source.rest_root.T + across
    np.testing.assert_allclose(
        found / np.outer(sizes, sizes), rest / np.outer(sizes, sizes), atol=1e-9
    )


def test_a_level_without_which_a_test_cannot_be_had_is_noted_beside_the_others() -> None:
    rng = np.random.default_rng(4)
    few = pd.DataFrame({name: rng.normal(size=10) for name in "yabc"})
    few = few.assign(lab=list("aabbccddee"), suite=list("abcdeabcde"))
    model = mixed.fit("y ~ a + b + (1 | lab) + (1 | suite)", few)
    found = leave_one_out(model, "lab", df="KR").groupby("level")[["note", "estimate"]].first()
    without = found["note"].str.startswith("Kenward and Roger's test must know")
    assert without.sum() == 1
    assert found.loc[without, "estimate"].isna().all()
    assert found.loc[~without, "estimate"].notna().all()
    with pytest.raises(DesignError, match="must have a REML fit"):
        leave_one_out(model.update(reml=False), "lab", df="KR")
    with pytest.raises(DesignError, match="must be fixed effects; the model has none"):
        leave_one_out(model.update("y ~ 0 + (1 | lab)"), "lab")


def test_the_boundary_halves_the_p_value_of_one_variance() -> None:
    assert boundary_p_value(2.0, 1) == pytest.approx(stats.chi2.sf(2.0, 1) / 2)
    mixture = (stats.chi2.sf(5.0, 2) + stats.chi2.sf(5.0, 1)) / 2
    assert boundary_p_value(5.0, 2) == pytest.approx(mixture)
    assert boundary_p_value(0.0, 1) == 1.0


def test_models_are_compared_from_the_smallest(whole: MixedModel) -> None:
    smaller = mixed.fit("gain ~ rho + depth + (1 | model) + (1 | prompt)", rows)
    frame = compare([smaller, whole])
    assert frame["p_value_boundary"].iloc[1] < frame["p_value"].iloc[1]
    with pytest.raises(DesignError, match="Models must be ordered from the smallest"):
        compare([whole, smaller])
    with pytest.raises(DesignError, match="on the same rows"):
        compare([mixed.fit(FORMULA, rows[:300]), whole])


def test_models_with_other_fixed_parts_are_compared_by_maximum_likelihood(
    whole: MixedModel,
) -> None:
    smaller = mixed.fit("gain ~ depth + (1 | lab) + (1 | model) + (1 | prompt)", rows)
    frame = compare([smaller, whole])
    assert frame["method"].iloc[0] == "Likelihood ratio, maximum likelihood"
    by_hand = smaller.refitted(reml=False).found.criterion
    by_hand -= whole.refitted(reml=False).found.criterion
    assert frame["statistic"].iloc[1] == pytest.approx(by_hand, abs=1e-9)


def test_all_ten_ways_to_give_two_labs_a_heritage_are_tried() -> None:
    model = mixed.fit("gain ~ heritage + depth + (1 | lab) + (1 | prompt)", rows)
    found = permutation_test(model, "heritage[T.open]", "heritage", "lab").iloc[0]
    assert found["n_permutations"] == 10
    assert found["n_groups"] == 5
    # No data can reach below one in ten, or two where a mirrored assignment ties.
    assert found["smallest_p"] == pytest.approx(0.1)
    assert found["p_value"] * 10 == pytest.approx(round(found["p_value"] * 10))
    tidy = model.tidy(["fixed"], df="satterthwaite").set_index("term")
    assert found["statistic"] == pytest.approx(tidy.loc["heritage[T.open]", "statistic"], rel=1e-4)


def test_a_predictor_that_varies_within_a_unit_is_not_exchanged(whole: MixedModel) -> None:
    with pytest.raises(DesignError, match="'rho' must have one value in every lab"):
        permutation_test(whole, "rho", "rho", "lab")
    with pytest.raises(DesignError, match="constant within cells; 'depth' is not"):
        permutation_test(whole, "depth", "depth", "model")


def test_a_contrast_of_what_is_no_coefficient_names_the_nearest(whole: MixedModel) -> None:
    with pytest.raises(ColumnError, match="'roh' is none, the nearest is 'rho'"):
        whole.contrast({"a": {"roh": 1.0}})


def test_a_left_out_lab_is_predicted_as_by_rows(whole: MixedModel) -> None:
    found = leave_one_out_prediction(whole, "lab").set_index("level")
    here = rows["lab"] == "gamma"
    others = mixed.fit(FORMULA, rows[~here])
    predicted = others.predict(rows[here], df="wald")["estimate"]
    errors = rows.loc[here, "gain"] - predicted
    assert found.loc["gamma", "rmse"] == pytest.approx(np.sqrt((errors**2).mean()), rel=1e-6)
    null = rows.loc[here, "gain"] - rows.loc[~here, "gain"].mean()
    assert found.loc["gamma", "rmse_null"] == pytest.approx(np.sqrt((null**2).mean()))
    assert found.loc["", "n_obs"] == len(rows)


def test_a_lab_with_a_level_of_its_own_cannot_be_predicted() -> None:
    own = rows.assign(kind=rows["kind"].where(rows["lab"] != "beta", "beta's own"))
    model = mixed.fit("gain ~ kind + (1 | lab) + (1 | model)", own)
    found = leave_one_out_prediction(model, "lab").set_index("level")
    assert np.isnan(found.loc["beta", "rmse"])
    assert found.loc["beta", "note"].startswith("The others have no")
    assert found.loc["", "note"] == "Of 4 of 5 levels."


def test_statistics_drawn_cell_by_cell_are_those_of_drawn_rows() -> None:
    statistics = mixed.collect_statistics("gain ~ depth + (1 | model) + (1 | prompt)", rows)
    part = np.zeros((2, len(statistics.counts)))
    part[0], part[1] = 2.0, -1.0
    rng = np.random.default_rng(8)
    fits = [
        mixed.fit_statistics(
            "gain ~ depth + (1 | model) + (1 | prompt)",
            draw_statistics(statistics, part, 0.5, rng),
        )
        for _ in range(60)
    ]
    found = np.array([[*fitted.coefficients, fitted.found.variance] for fitted in fits])
    error = found.std(axis=0) / np.sqrt(len(found))
    # Variances are estimated at the boundary here, so the residual one is a little small.
    assert (np.abs(found.mean(axis=0) - [2.0, -1.0, 0.25]) < 4 * error + [0, 0, 0.005]).all()


def test_drawn_effects_have_the_covariance_of_the_model() -> None:
    # One group with correlated effects is the eliminated one: its draws keep their covariance.
    rng = np.random.default_rng(11)
    group = np.repeat(np.arange(40), 5)
    x = rng.normal(size=200)
    effects = rng.multivariate_normal([0, 0], [[1.0, -0.8], [-0.8, 1.0]], 40)[group]
    y = effects[:, 0] + effects[:, 1] * x + 0.3 * rng.normal(size=200)
    model = mixed.fit("y ~ x + (1 + x | g)", pd.DataFrame({"y": y, "x": x, "g": group}))
    found = parametric_bootstrap(model, rng=rng, n_resamples=60).set_index("term")
    row = found.loc["cor__Intercept.x"]
    assert row["conf_low"] < row["estimate"] < row["conf_high"]
    assert row["conf_high"] < 0
    for term in ("sd__Intercept", "sd__x"):
        middle = (found.loc[term, "conf_low"] + found.loc[term, "conf_high"]) / 2
        assert middle == pytest.approx(found.loc[term, "estimate"], rel=0.15)


def test_a_permutation_p_value_is_the_share_of_assignments_that_reach_the_observed() -> None:
    # Five labs, two of them open: ten assignments, each fitted here by itself.
    formula = "gain ~ heritage + depth + (1 | lab) + (1 | prompt)"

    def with_open(labs: tuple[str, ...]) -> MixedModel:
        heritage = np.where(rows["lab"].isin(labs), "open", "closed")
        return mixed.fit(formula, rows.assign(heritage=heritage))

    pairs = list(itertools.combinations(sorted(set(rows["lab"])), 2))
    models = [with_open(pair) for pair in pairs]
    middle = int(np.argsort([_size(model) for model in models])[5])
    found = permutation_test(models[middle], "heritage[T.open]", "heritage", "lab")
    assert found["p_value"].iloc[0] == pytest.approx(5 / 10)


def _size(model: MixedModel) -> float:
    tidy = model.tidy(["fixed"], df="wald").set_index("term")
    return abs(float(tidy.loc["heritage[T.open]", "statistic"]))
