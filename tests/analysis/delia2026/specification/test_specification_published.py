"""Specification curve of the paper's figures, each estimate by other means, and in print."""

import io
import math

import numpy as np
import pandas as pd
import pytest
from statsmodels.regression.linear_model import OLS

from analysis.audit import evidence
from analysis.commands.cli import main
from analysis.delia2026.specification import choices as specification_choices
from analysis.delia2026.specification import curve as specification
from analysis.delia2026.specification import curve_tables as specification_exhibits
from analysis.delia2026.specification.curve import distinct, specification_curve
from analysis.inference.resampling import permutation
from analysis.tidy.columns import texts
from tests.analysis.delia2026.specification.specified import one, rng
from tests.analysis.places import PUBLISHED


@pytest.fixture(scope="module")
def figures(published_store):
    return specification_choices.figures(published_store)


@pytest.fixture(scope="module")
def published(figures):
    return specification_curve(figures, rng=np.random.default_rng(specification.SEED))


@pytest.fixture(scope="module")
def gains(published_store):
    return evidence.published_gains(published_store, "gain_penultimate_block")


CHOSEN = [
    {"unit": unit, "outcome": outcome, "estimator": estimator, "groups": groups}
    for unit in specification_choices.UNITS
    for outcome in ("mean below 1", "size of log gain")
    for estimator in ("difference", "log odds ratio", "adjusted difference")
    for groups in specification_choices.GROUPS
    if (estimator, outcome) != ("log odds ratio", "size of log gain")
]


@pytest.mark.parametrize("chosen", CHOSEN, ids=lambda chosen: ", ".join(chosen.values()))
def test_a_published_estimate_is_that_of_plain_least_squares(published, gains, chosen):
    row = one(published, **chosen)
    rows = units(labelled(evidence.base_models(gains), chosen["groups"]), chosen)
    if pd.isna(row["estimate"]):
        assert len(rows) < 10
        assert row["reason"] == "too few units for this estimator"
        return
    assert row["n_obs"] == len(rows)
    assert row["estimate"] == pytest.approx(estimate(rows, chosen["estimator"]))
    if chosen["estimator"] == "log odds ratio" or pd.isna(row["std_error"]):
        return
    is_adjusted = chosen["estimator"] == "adjusted difference"
    columns = ["ours", *(specification_choices.COVARIATES if is_adjusted else ())]
    fit = OLS(rows["y"], rows[columns].assign(one=1.0)).fit()
    assert row["std_error"] == pytest.approx(fit.bse["ours"])
    assert row["p_value"] == pytest.approx(fit.pvalues["ours"])
    assert [row["conf_low"], row["conf_high"]] == pytest.approx(fit.conf_int().loc["ours"].tolist())


def labelled(models, groups):
    """Return the models of either group; `label` is the lab, + in front of the group's own."""
    is_ours = models["suite"] == "Pythia" if "Pythia" in groups else models["lab"] == "EleutherAI"
    rows = models.assign(label=np.where(is_ours, "+", "-") + models["lab"])
    named = models["lab"].isin(["EleutherAI", "Meta", "OpenAI"])
    return rows[named] if "Meta" in groups else rows


def units(rows, chosen):
    """Return one row per unit with its outcome, group and covariates, by pandas alone."""
    sign = (rows["gain_mean"] < 1).astype(float)
    y = sign if chosen["outcome"] == "mean below 1" else -np.log(rows["gain_mean"])
    wide = rows.assign(ours=rows["label"].str.startswith("+").astype(float), y=y)
    key = {"model": "model_id", "suite": "suite", "lab": "label"}[chosen["unit"]]
    return wide.groupby(key)[["y", "ours", *specification_choices.COVARIATES]].mean()


def estimate(rows, estimator):
    ours, theirs = rows[rows["ours"] == 1]["y"], rows[rows["ours"] == 0]["y"]
    if estimator == "difference":
        return ours.mean() - theirs.mean()
    if estimator == "log odds ratio":
        odds = [(group.sum() + 0.5) / ((1 - group).sum() + 0.5) for group in (ours, theirs)]
        return math.log(odds[0] / odds[1])
    covariates = rows[["ours", *specification_choices.COVARIATES]]
    design = np.column_stack([np.ones(len(rows)), covariates])
    return float(np.linalg.lstsq(design, rows["y"].to_numpy())[0][1])


@pytest.mark.parametrize(
    ("unit", "estimator", "groups"),
    [
        (unit, estimator, groups)
        for unit in ("model", "suite")
        for estimator in specification_choices.ESTIMATORS
        for groups in ("EleutherAI / other labs", "Pythia / other suites")
        if (unit, estimator) != ("suite", "adjusted difference")
    ],
)
def test_the_exchange_of_labels_is_that_of_the_permutation_test(
    published, published_store, unit, estimator, groups
):
    chosen = {"unit": unit, "estimator": estimator, "groups": groups, "outcome": "mean below 1"}
    row = one(published, **chosen, models="the hunt")
    gains = evidence.published_gains(published_store, "gain_penultimate_block", [evidence.HUNT])
    rows = labelled(gains, groups)
    rows = rows.assign(label=rows["label"].str[:1])
    tested = permutation.permutation_test(
        rows,
        lambda relabelled: estimate(units(relabelled, chosen), estimator),
        label="label",
        unit="suite",
    ).iloc[0]
    assert row["estimate"] == pytest.approx(tested["estimate"])
    assert row["p_permutation"] == pytest.approx(tested["p_value"])
    assert row["smallest_p"] == pytest.approx(tested["smallest_p"])


def test_the_order_of_the_figures_does_not_matter_and_a_seed_repeats(figures):
    levels = {
        **specification_choices.CHOICES,
        "gain": ("penultimate, else last",),
        "figure": ("most prompts", "mean of all"),
    }
    once, again = (
        specification_curve(rows, rng=rng(), n_permutations=199, levels=levels)
        for rows in (figures, figures.sample(frac=1, random_state=3))
    )
    pd.testing.assert_frame_equal(again.specifications, once.specifications)
    pd.testing.assert_frame_equal(again.joint, once.joint)
    pd.testing.assert_frame_equal(again.null, once.null)


def test_the_observed_curve_is_the_sorted_estimates(published):
    estimates = distinct(published.specifications)["standardised"]
    expected = np.quantile(estimates, published.null["quantile"])
    assert published.null["estimate"].to_numpy() == pytest.approx(expected, abs=1e-6)
    assert (published.null["null_low"] <= published.null["null_high"]).all()


def test_leaving_out_uses_the_band_and_the_norm_and_means_are_of_log_gains(figures):
    models = specification_choices.select(figures, "penultimate block", "most prompts", "base")
    assert len(models) == 23
    near = specification_choices.leave_out(models, "within 1 % of 1")
    assert set(models["model_id"]) - set(near["model_id"]) == {
        "EleutherAI/pythia-1.4b",
        "EleutherAI/pythia-6.9b",
        "bigscience/bloom-3b",
        "facebook/opt-350m",
    }
    remaining = specification_choices.leave_out(models, "post-norm")
    assert set(models["model_id"]) - set(remaining["model_id"]) == {"facebook/opt-350m"}
    models = specification_choices.select(figures, "penultimate block", "mean of all", "base")
    three = figures[
        (figures["model_id"] == "EleutherAI/pythia-6.9b")
        & (figures["metric"] == "gain_penultimate_block")
    ]
    row = models.set_index("model_id").loc["EleutherAI/pythia-6.9b"]
    assert len(three) == 3
    assert row["log_gain"] == pytest.approx(three["log_gain"].mean())
    assert row["n_prompts"] == 33
    assert row["log_error"] == pytest.approx(math.sqrt((three["log_error"] ** 2).sum()) / 3)


@pytest.fixture(scope="module")
def result(published_store):
    figures = specification_choices.figures(published_store)
    levels = specification_choices.CHOICES
    some = levels | {"gain": levels["gain"][:4], "figure": levels["figure"][:1]}
    return specification_curve(
        figures, rng=np.random.default_rng(1), n_permutations=99, levels=some
    )


def test_the_curve_ascends_and_its_marks_share_out_each_bin(result):
    curve = specification_exhibits.curve(result)
    assert len(curve) == len(distinct(result.specifications))
    assert curve["standardised"].is_monotonic_increasing
    assert curve["rank"].tolist() == list(range(1, len(curve) + 1))
    assert curve["is_marked"].sum() == specification_exhibits.N_WHISKERS
    band = specification_exhibits.null_band(result)
    assert (band["rank"].min(), band["rank"].max()) == (1, len(curve))
    marks = specification_exhibits.marks(result)
    shares = marks.groupby(["choice", "bin"])["share"].sum()
    assert shares.to_numpy() == pytest.approx(1)
    assert marks["bin"].nunique() == specification_exhibits.N_BINS
    lifts = marks[marks["share"] > 0].groupby(["choice", "level"])
    assert lifts["lift"].sum().to_numpy() == pytest.approx(specification_exhibits.N_BINS)
    assert marks["rank"].between(1, len(specification_exhibits.curve(result))).all()


def test_the_words_and_tables_are_the_counts_of_the_rows(result):
    words_shown = specification_exhibits.words(result)
    rows = result.specifications
    assert words_shown["rows"] == f"{len(rows):,}"
    assert words_shown["distinct"] == f"{len(distinct(rows)):,}"
    some = distinct(rows)
    by_exchange = (some["p_permutation"] < 0.05) & (some["estimate"] > 0)
    assert words_shown["exchanged"].startswith(f"{100 * by_exchange.mean():.0f}")
    joint = result.joint.set_index(["groups", "term"]).loc[specification.ALL_WAYS]
    significant = joint.loc["share significant as claimed", "estimate"]
    level = specification_exhibits.level_rows(result, "figure").iloc[0]
    assert level["ordinary"].startswith(f"{100 * significant:.0f}")
    by_row = (some["estimate"] > 0) & (some["p_value"] < 0.05)
    assert significant == pytest.approx(by_row.mean())  # who has no p is not counted
    assert words_shown["without_p"] == str(some["p_value"].isna().sum())
    assert some["p_value"].isna().any()
    assert words_shown["claimed"].startswith(f"{100 * some['as_claimed'].mean():.0f}")
    assert all(isinstance(text, str) for text in words_shown.values())
    assert len(texts(result.joint, specification_exhibits.JOINT)) == 4 * 3
    levels = specification_exhibits.level_rows(result, "gain")
    assert len(levels) == 4
    counted = levels["n"].str.replace(",", "").astype(int).sum()
    assert counted == len(distinct(result.specifications))


def test_the_command_prints_an_overview_and_every_row_as_csv(capsys, monkeypatch, result):
    monkeypatch.setattr(specification, "specification_curve", lambda *_, **__: result)
    source = ["--data", str(PUBLISHED)]
    assert main([*source, "specifications"]) == 0
    printed = capsys.readouterr().out
    assert f"{len(distinct(result.specifications)):,} of these distinct." in printed
    assert "share with the claimed sign" in printed
    assert main([*source, "specifications", "--csv"]) == 0
    rows = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert len(rows) == len(result.specifications)
    assert list(rows.columns) == list(result.specifications.columns)
    first = result.specifications.iloc[0]
    assert math.isclose(rows.loc[0, "estimate"], first["estimate"], rel_tol=1e-9)
