"""The frames of a fit: summary, prediction, confint, update, drop1; keys, columns, warnings."""

import duckdb
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis import mixed
from analysis.inference.association import regression
from analysis.mixed.frames.tables import df_note
from analysis.mixed.reading.formula import updated
from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError, ColumnError, DesignError
from tests.analysis.places import R

rows = pd.read_csv(R / "mixed_data_crossed.csv")
FORMULA = "gain ~ rho + depth + kind + (1 | lab) + (1 + depth | model) + (1 | prompt)"


@pytest.fixture(scope="module")
def model():
    return mixed.fit(FORMULA, rows)


def test_a_model_prints_as_a_few_lines_and_its_summary_holds_the_numbers_of_the_frames(model):
    lines = repr(model).splitlines()
    assert str(model) == repr(model)
    assert lines[0] == "Linear mixed model fitted by REML"
    assert lines[1] == f"Formula: {FORMULA}"
    assert "rows: 371; levels: prompt 15, model 12, lab 5" in lines[2]
    assert len(lines) < 15
    assert max(map(len, lines)) < 100
    page = model.summary()
    assert repr(page) == str(page)
    assert len(page) < 3000
    below = page.partition("Fixed effects")[2]
    fixed = model.tidy(["fixed"]).set_index("term")
    for term, row in fixed.iterrows():
        (line,) = [line.split() for line in below.splitlines() if line.split()[:1] == [term]]
        shown = [float(each) for each in line[1:]]
        numbers = row[["estimate", "std_error", "df", "statistic", "p_value"]]
        np.testing.assert_allclose(shown, numbers.astype(float), atol=0.051, rtol=0.05)
        assert shown[0] == pytest.approx(row["estimate"], abs=6e-5)
    pars = model.tidy(["ran_pars"]).set_index(["group", "term"])["estimate"]
    residual = next(line for line in page.splitlines() if line.strip().startswith("Residual"))
    sigma = pars["Residual", "sd__Observation"]
    assert float(residual.split()[-1]) == pytest.approx(sigma, abs=1e-4)
    assert f"{pars['model', 'cor__Intercept.depth']:.2f}" in page


def test_known_groups_are_predicted_where_their_rows_are_fitted(model):
    # The errors are those of whole matrices in `test_mixed_predicted_df`.
    predicted, augmented = model.predict(rows, groups="known"), model.augment()
    np.testing.assert_allclose(predicted["estimate"], augmented["fitted"], atol=1e-10)
    variance = predicted["std_error"] ** 2 + model.solution.variance
    reach = stats.t.isf(0.025, predicted["predicted_df"]) * np.sqrt(variance)
    np.testing.assert_allclose(
        predicted["predicted_high"], predicted["estimate"] + reach, rtol=1e-6
    )
    known = mixed.fit("gain ~ depth + offset(known) + (1 | model)", rows)
    augmented = known.augment()
    for groups, column in (("new", "fitted_fixed"), ("known", "fitted")):
        predicted = known.predict(rows, groups=groups)["estimate"]
        np.testing.assert_allclose(predicted, augmented[column], atol=1e-10)
    flat = pd.read_csv(R / "mixed_data_dyestuff2.csv")
    singular = mixed.fit("Yield ~ 1 + (1 | Batch)", flat)
    predicted = singular.predict(flat.head(2), groups="known")
    fixed = singular.predict(flat.head(2))
    np.testing.assert_allclose(predicted["std_error"], fixed["std_error"], rtol=1e-3)


def test_a_level_or_rows_that_are_new_are_predicted_or_refused(model):
    one = rows.head(1)
    everywhere = one.assign(lab="zeta", model="m99", prompt="p99")
    known = model.predict(everywhere, groups="known", df="satterthwaite")
    new = model.predict(everywhere, df="satterthwaite")
    for column in ("estimate", "predicted_low", "predicted_high"):
        np.testing.assert_allclose(known[column], new[column], rtol=1e-8)
    assert "A level of lab was not fitted." in known["note"].iloc[0]
    assert model.predict(one, groups="known")["note"].iloc[0] == ""
    with pytest.raises(ColumnError, match="must have a column 'lab'"):
        model.predict(one.drop(columns="lab"), groups="known")
    with pytest.raises(AnalysisError, match="`groups` must be one of 'new', 'known'"):
        model.predict(one, groups="all")
    with pytest.raises(ColumnError, match=r"must hold levels that were fitted; \['poem'\]"):
        model.predict(rows.head(2).assign(kind="poem"))
    with pytest.raises(ColumnError, match="must be a pandas DataFrame; found dict"):
        model.predict({"depth": [0.5]})


def test_confint_and_drop1_give_what_their_methods_give():
    model = mixed.fit("Yield ~ 1 + (1 | Batch)", pd.read_csv(R / "mixed_data_dyestuff.csv"))
    pd.testing.assert_frame_equal(model.confint(), mixed.profile_intervals(model))
    drawn = model.confint("bootstrap", rng=np.random.default_rng(1), n_resamples=39)
    direct = mixed.parametric_bootstrap(model, rng=np.random.default_rng(1), n_resamples=39)
    pd.testing.assert_frame_equal(drawn, direct)
    np.testing.assert_array_equal(model.simulate(), model.simulate())
    with pytest.raises(AnalysisError, match=r"`rng` must be .* found 3"):
        model.confint("bootstrap", rng=3)
    with pytest.raises(AnalysisError, match=r"`rng` must be .* found 3"):
        model.simulate(rng=3)
    with pytest.raises(AnalysisError, match="`method` must be one of 'profile'"):
        model.confint("boot")
    whole = mixed.fit("gain ~ rho + kind * depth + (1 | model)", rows)
    frame = whole.drop1().set_index("term")
    assert list(frame.index) == ["", "rho", "kind:depth"]
    smaller = mixed.fit("gain ~ kind * depth + (1 | model)", rows)
    test = mixed.compare([smaller, whole]).iloc[1]
    assert frame.loc["rho", "statistic"] == pytest.approx(test["statistic"], abs=1e-6)
    assert frame.loc["rho", "p_value"] == pytest.approx(test["p_value"], rel=1e-5)
    assert frame.loc["kind:depth", "df"] == 2
    with pytest.raises(DesignError, match="intercept"):
        mixed.fit("gain ~ 1 + (1 | model)", rows).drop1()


UPDATES = {
    ". ~ . + z": "y ~ x + (1 | a) + (1 + x | b) + z",
    ". ~ . - (1 | a)": "y ~ x + (1 + x | b)",
    ". ~ . - ( 1+x  |b ) + (1 | b)": "y ~ x + (1 | a) + (1 | b)",
    "log(y) ~ .": "log(y) ~ x + (1 | a) + (1 + x | b)",
    "y ~ I(x / 2.5) + (1 | a)": "y ~ I(x / 2.5) + (1 | a)",
}


@pytest.mark.parametrize("change", UPDATES)
def test_a_change_of_a_formula_is_read_as_in_r(change):
    assert updated("y ~ x + (1 | a) + (1 + x | b)", change) == UPDATES[change]


def test_update_fits_anew_with_something_changed(model):
    smaller = model.update(". ~ . - rho - (1 | lab)")
    direct = mixed.fit("gain ~ depth + kind + (1 + depth | model) + (1 | prompt)", rows)
    assert smaller.terms == direct.terms
    assert smaller.solution.criterion == pytest.approx(direct.solution.criterion, abs=1e-8)
    assert not model.update(reml=False).reml
    alone = mixed.fit_statistics(FORMULA, model.statistics)
    with pytest.raises(DesignError, match="must have its rows to be updated"):
        alone.update(". ~ . - rho")
    with pytest.raises(ColumnError, match=r"A random term that is dropped must be there; \(1 \| k"):
        model.update(". ~ . - (1 | kind)")


def test_simulated_responses_have_the_means_and_variances_of_the_fit():
    model = mixed.fit("gain ~ depth + offset(known) + (1 | model)", rows, weights="precision")
    drawn = model.simulate(2000, rng=np.random.default_rng(1))
    assert drawn.shape == (371, 2000)
    same = model.simulate(2000, rng=np.random.default_rng(1))
    assert np.array_equal(drawn, same)
    augmented = model.augment()
    deviation = drawn.std(axis=1)
    error = (drawn.mean(axis=1) - augmented["fitted_fixed"]) / deviation * np.sqrt(2000)
    assert np.abs(error).max() < 4.5
    pars = model.tidy(["ran_pars"])["estimate"] ** 2
    expected = pars.iloc[0] + pars.iloc[1] / rows["precision"]
    assert np.corrcoef(deviation**2, expected)[0, 1] > 0.95
    np.testing.assert_allclose((deviation**2 / expected).mean(), 1, atol=0.03)
    same_model = rows["model"].to_numpy() == "m01"
    correlation = np.corrcoef(drawn[same_model])[0, 1]
    inside = expected[same_model].to_numpy()
    assert correlation == pytest.approx(pars.iloc[0] / np.sqrt(inside[0] * inside[1]), abs=0.08)


def test_models_with_few_or_no_fixed_effects_are_predicted_and_drawn_from():
    model = mixed.fit("gain ~ 0 + depth + (1 | model)", rows)
    zero, half = model.predict(pd.DataFrame({"depth": [0.0, 0.5]})).to_dict("records")
    assert zero["estimate"] == zero["std_error"] == zero["conf_high"] == 0
    assert zero["df"] == np.inf
    spread = np.sqrt((model.tidy("ran_pars")["estimate"] ** 2).sum())
    quantile = stats.t.ppf(0.975, zero["predicted_df"])
    assert zero["predicted_high"] == pytest.approx(quantile * spread)
    assert half["estimate"] == pytest.approx(0.5 * model.coefficients[0])
    model = mixed.fit("gain ~ 0 + (1 | model)", rows)
    augmented = model.augment()
    known = model.predict(rows[:5], groups="known")
    np.testing.assert_allclose(known["estimate"], augmented["fitted"][:5])
    drawn = mixed.parametric_bootstrap(model, rng=np.random.default_rng(1), n_resamples=39)
    assert drawn["term"].tolist() == ["sd__Intercept", "sd__Observation"]


def guards(model, **options):
    frame = model.warnings(**options)
    return list(frame[["guard", "term", "group"]].itertuples(index=False, name=None))


def test_tidy_has_one_row_per_effect_group_level_and_term(model):
    tidy = model.tidy(["fixed", "ran_pars", "ran_vals"])
    keys = ["effect", "group", "level", "term"]
    assert not tidy.duplicated(keys).any()
    assert (tidy["effect"] == "fixed").sum() == 5
    assert (tidy["effect"] == "ran_pars").sum() == 6
    assert (tidy["effect"] == "ran_vals").sum() == 5 + 2 * 12 + 15
    assert set(tidy.columns) <= set(glossary.GLOSSARY)
    n_groups = model.tidy(["fixed"]).set_index("term")["n_groups"]
    # rho belongs to the 12 models, kind to the 15 prompts, the slope of depth varies by model.
    of_kind = {"kind[T.chat]": 15, "kind[T.code]": 15}
    assert n_groups.to_dict() == {"Intercept": 5, **of_kind, "rho": 12, "depth": 12}
    glance = model.glance()
    assert glance["n_groups"].item() == 5
    assert glance["note"].item().endswith("Groups: prompt, 15; model, 12; lab, 5.")
    signs = mixed.fit_binomial("(gain > 1) ~ depth + (1 | model) + (1 | prompt)", rows).glance()
    assert signs["note"].item().endswith("Groups: prompt, 15; model, 12.")
    alone = mixed.fit("gain ~ depth + (1 | model)", rows).glance()
    assert "Groups:" not in alone["note"].item()


def test_intervals_and_p_values_follow_from_the_statistic_and_its_df(model):
    from scipy import stats

    for df in ("kenward-roger", "satterthwaite", "wald"):
        tidy = model.tidy(["fixed"], df=df, conf_level=0.9)
        freedom = tidy["df"].replace(np.inf, 1e12)
        np.testing.assert_allclose(
            tidy["p_value"], 2 * stats.t.sf(abs(tidy["statistic"]), freedom), rtol=1e-8
        )
        reach = stats.t.isf(0.05, freedom) * tidy["std_error"]
        np.testing.assert_allclose(tidy["conf_high"], tidy["estimate"] + reach, rtol=1e-9)
    # Five clusters beside the one leave four degrees of freedom, less a rounding error.
    labs = np.repeat(list("abcdef"), 8)
    values = np.random.default_rng(5).normal(size=(2, 48))
    frame = pd.DataFrame({"lab": labs, "y": values[0], "one": (labs == "a").astype(float)})
    notes = regression.fit(frame, "y ~ one", cluster="lab").tidy()["note"]
    assert not notes.str.contains("Fewer than").any()
    assert not df_note(4 - 1e-12)
    assert df_note(3.9)


def test_augment_keeps_rows_order_and_columns(model, tmp_path):
    augmented = model.augment()
    pd.testing.assert_frame_equal(augmented[list(rows.columns)], rows, check_dtype=False)
    np.testing.assert_allclose(
        augmented["fitted"] + augmented["residual"], augmented["gain"], atol=1e-12
    )
    positive = rows.assign(gain=np.exp(rows["gain"]))
    positive.to_parquet(tmp_path / "rows.parquet")
    formula = "log(gain) ~ depth + offset(known) + (1 | model)"
    model = mixed.fit(formula, tmp_path / "rows.parquet")
    augmented = model.augment()
    np.testing.assert_allclose(
        augmented["fitted"] + augmented["residual"], rows["gain"], atol=1e-12
    )
    fixed = augmented["known"] + model.coefficients @ np.array([np.ones(371), rows["depth"]])
    np.testing.assert_allclose(augmented["fitted_fixed"], fixed, atol=1e-12)


def test_augment_needs_the_rows_and_a_locked_store_has_them(model):
    alone = mixed.fit_statistics(FORMULA, model.statistics)
    with pytest.raises(DesignError, match="fitted from statistics"):
        alone.augment()
    connection = duckdb.connect()
    connection.from_df(rows).create("measured")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    model = mixed.fit("gain ~ depth + (1 | model)", connection.table("measured"))
    augmented = model.augment()
    assert len(augmented) == len(rows)


def test_few_groups_groups_alike_and_mixed_definitions_are_warned_of(model):
    assert ("few groups for a z test", "rho", "model") in guards(model, df="wald")
    assert ("few groups for a z test", "depth", "model") in guards(model, df="wald")
    assert not any(guard == "few groups for a z test" for guard, *_ in guards(model))
    assert "rejects too often" in model.tidy(["fixed"], df="wald").set_index("term")["note"]["rho"]
    flat = pd.read_csv(R / "mixed_data_dyestuff2.csv")
    singular = mixed.fit("Yield ~ 1 + (1 | Batch)", flat)
    assert ("variance at the boundary", "", "Batch") in guards(singular)
    assert bool(singular.glance()["singular"].iloc[0])
    assert "The variance of Intercept among Batch is zero" in singular.glance()["note"].iloc[0]
    three = mixed.fit("gain ~ depth + (1 | kind)", rows)
    assert ("fewer than five groups", "", "kind") in guards(three)
    alike = mixed.fit("gain ~ depth + (1 | lab:kind) + (1 | kind:lab)", rows)
    assert ("groups alike", "", "kind:lab") in guards(alike)
    nested = mixed.fit("gain ~ depth + (1 | lab/kind)", rows)
    assert not any(guard == "groups alike" for guard, *_ in guards(nested))
    two = rows.assign(metric=np.where(rows["depth"] > 0.5, "gain_last_block", "gain_final"))
    formula = "gain ~ rho + (1 | model)"
    assert ("mixed definitions", "", "metric") in guards(mixed.fit(formula, two))
    told_apart = mixed.fit("gain ~ rho + metric + (1 | model)", two)
    assert not any(guard == "mixed definitions" for guard, *_ in guards(told_apart))


def test_a_predictor_without_its_intercept_or_slope_is_warned_of(model):
    heritage = rows.assign(heritage=rows["lab"].isin(["alpha", "beta"]))
    formula = "gain ~ heritage + (1 | model)"
    without = mixed.fit(formula, heritage, units=["lab"])
    assert ("no random intercept", "heritage[T.true]", "lab") in guards(without)
    with_lab = mixed.fit(formula + " + (1 | lab)", heritage)
    assert not any(guard == "no random intercept" for guard, *_ in guards(with_lab))
    assert ("confounded with a group", "heritage[T.true]", "lab") in guards(with_lab)
    single = rows.assign(row=[f"r{place}" for place in range(len(rows))])
    by_row = mixed.fit("gain ~ depth + (1 | model)", single, units=["row"])
    assert not any(guard == "no random intercept" for guard, *_ in guards(by_row))
    nested = mixed.fit("gain ~ rho + (1 | lab/model)", rows)
    assert not any(guard == "no random intercept" for guard, *_ in guards(nested))
    crossed = mixed.fit("gain ~ rho + (1 | model:prompt) + (1 | prompt)", rows)
    assert ("no random intercept", "rho", "model") in guards(crossed)
    intercepts = mixed.fit("gain ~ depth + (1 | lab) + (1 | model)", rows)
    assert ("no random slope", "depth", "lab") in guards(intercepts)
    assert not any(guard == "no random slope" for guard, *_ in guards(model))


@pytest.mark.parametrize("groups", ["new", "known"])
def test_a_row_that_lacks_a_predictor_has_no_prediction_and_says_why(model, groups):
    labelled = rows.head(6).set_axis([3, 1, 4, 1, 5, 9])
    holes = labelled.copy()
    holes["depth"] = [np.nan, *labelled["depth"].iloc[1:4], np.inf, labelled["depth"].iloc[5]]
    holes["kind"] = [*labelled["kind"].iloc[:4], None, None]
    result, whole = (model.predict(each, groups=groups) for each in (holes, labelled))
    assert result.columns.equals(whole.columns)
    assert result.index.equals(labelled.index)
    pd.testing.assert_frame_equal(result.iloc[1:4], whole.iloc[1:4])
    assert result["note"].tolist() == [
        "No prediction: 'depth' is no finite number.",
        *whole["note"].iloc[1:4],
        "No prediction: 'depth' is no finite number. 'kind' names no level.",
        "No prediction: 'kind' names no level.",
    ]
    numbers = result[["estimate", "std_error", "df", "conf_low", "predicted_high"]].iloc[[0, 4, 5]]
    assert numbers.isna().all(axis=None)
    alone = model.predict(holes.iloc[[4]], groups=groups)
    pd.testing.assert_frame_equal(alone, result.iloc[[4]], check_dtype=False)


@pytest.mark.parametrize("name", ["fixed_", "basis1_", "Offset_", "level0", "cell_", "Fitted"])
def test_rows_with_a_column_called_like_one_that_is_joined_are_refused(name):
    # A column called basis1_ or fixed_ once took the place of ours, and residuals were wrong.
    model = mixed.fit(f"gain ~ {name} + (1 | model)", rows.rename(columns={"depth": name}))
    with pytest.raises(ColumnError, match=rf"must not already have .*\['{name}'\]"):
        model.augment()
