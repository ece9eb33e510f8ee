"""What users of lme4 reach for: summary, prediction of known groups, confint, update, drop1."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis import mixed
from analysis.mixed.reading.formula import updated
from analysis.tidy.errors import AnalysisError, ColumnError, DesignError

R = Path(__file__).parents[3] / "r"
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


def test_a_level_that_is_new_has_its_whole_variance(model):
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


def test_confint_gives_the_intervals_by_name():
    model = mixed.fit("Yield ~ 1 + (1 | Batch)", pd.read_csv(R / "mixed_data_dyestuff.csv"))
    pd.testing.assert_frame_equal(model.confint(), mixed.profile_intervals(model))
    drawn = model.confint("bootstrap", rng=np.random.default_rng(1), n_resamples=39)
    direct = mixed.parametric_bootstrap(model, rng=np.random.default_rng(1), n_resamples=39)
    pd.testing.assert_frame_equal(drawn, direct)
    for seed in (None, 3):
        with pytest.raises(AnalysisError, match=f"`rng` must be given.* found {seed}"):
            model.confint("bootstrap", rng=seed)
        with pytest.raises(AnalysisError, match=f"`rng` must be given.* found {seed}"):
            model.simulate(rng=seed)
    with pytest.raises(AnalysisError, match="`method` must be one of 'profile'"):
        model.confint("boot")


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


def test_drop1_compares_with_the_model_without_each_term():
    whole = mixed.fit("gain ~ rho + kind * depth + (1 | model)", rows)
    frame = whole.drop1().set_index("term")
    assert list(frame.index) == ["", "rho", "kind:depth"]
    smaller = mixed.fit("gain ~ kind * depth + (1 | model)", rows)
    test = mixed.compare([smaller, whole]).iloc[1]
    assert frame.loc["rho", "statistic"] == pytest.approx(test["statistic"], abs=1e-6)
    assert frame.loc["rho", "p_value"] == pytest.approx(test["p_value"], rel=1e-5)
    assert frame.loc["kind:depth", "df"] == 2
    with pytest.raises(DesignError, match="beside the intercept must be there to be dropped"):
        mixed.fit("gain ~ 1 + (1 | model)", rows).drop1()


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
