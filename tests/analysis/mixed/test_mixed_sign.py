"""What a fit of a binary response is asked beyond its table, against car, emmeans and glmer."""

import numpy as np
import pandas as pd
import pytest

from analysis import mixed
from analysis.tidy.errors import AnalysisError, DesignError
from tests.analysis.mixed.glmer import CASES, cows, rows
from tests.analysis.places import R

tests = pd.read_csv(R / "mixed_sign_tests.csv", keep_default_na=False)
means = pd.read_csv(R / "mixed_sign_means.csv")
#: glmer's covariance is a difference quotient of four digits; see `tests.analysis.mixed.glmer`.
ERROR = 1e-3


@pytest.fixture(scope="module")
def fits():
    return {
        case: mixed.fit_binomial(CASES[case][1], CASES[case][0]) for case in ("cows", "sign_factor")
    }


@pytest.mark.parametrize("case", ["cows", "sign_factor"])
@pytest.mark.parametrize("kind", ["II", "III"])
def test_walds_chi_squared_of_terms_is_cars(fits, case, kind):
    theirs = tests[(tests["case"] == case) & (tests["kind"] == kind)].set_index("term")
    ours = fits[case].anova(type=kind).set_index("term")
    assert set(ours.index) == set(theirs.index)
    ours = ours.loc[theirs.index]
    assert ours["df"].tolist() == theirs["df"].tolist()
    np.testing.assert_allclose(ours["statistic"] * ours["df"], theirs["statistic"], rtol=ERROR)
    np.testing.assert_allclose(ours["p_value"], theirs["p_value"], rtol=10 * ERROR)


RATIOS = {
    "cows": ("ill ~ 1 + (1 | herd)", "ill ~ period + (1 | herd)", cows),
    "sign_factor": (
        "(gain > 1) ~ kind + depth + (1 | model) + (1 | prompt)",
        "(gain > 1) ~ kind * depth + (1 | model) + (1 | prompt)",
        rows,
    ),
    "sign_group": (
        "(gain > 1) ~ kind * depth + (1 | model)",
        "(gain > 1) ~ kind * depth + (1 | model) + (1 | prompt)",
        rows,
    ),
}


@pytest.mark.parametrize("case", RATIOS)
def test_likelihood_ratios_of_nested_fits_are_glmers(case):
    *formulas, frame = RATIOS[case]
    row = mixed.compare([mixed.fit_binomial(each, frame) for each in formulas]).iloc[1]
    theirs = tests[(tests["case"] == case) & (tests["kind"] == "ratio")].iloc[0]
    assert row["df"] == theirs["df"]
    assert row["statistic"] == pytest.approx(theirs["statistic"], abs=1e-5)
    assert row["p_value"] == pytest.approx(theirs["p_value"], rel=1e-4)
    if case == "sign_group":
        assert row["p_value_boundary"] == pytest.approx(row["p_value"] / 2)


def test_what_cannot_be_compared_is_refused(fits):
    linear = mixed.fit("gain ~ kind + (1 | model)", rows)
    with pytest.raises(DesignError, match="one kind"):
        mixed.compare([linear, fits["sign_factor"]])
    fewer = mixed.fit_binomial("ill ~ 1 + (1 | herd)", cows.assign(ill=1 - cows["ill"]))
    with pytest.raises(DesignError, match="same rows"):
        mixed.compare([fewer, fits["cows"]])


CALLS = {
    ("cows", "means"): {},
    ("cows", "pairs"): {"pairs": True},
    ("cows", "control"): {"control": "q1"},
    ("sign_factor", "at"): {"at": {"depth": 0.9}},
}
ASKED = means[["case", "asked", "adjust"]].drop_duplicates()


@pytest.mark.parametrize(
    ("case", "asked", "adjust"), list(ASKED.itertuples(index=False, name=None))
)
def test_means_and_their_contrasts_are_those_of_emmeans(fits, case, asked, adjust):
    theirs = means[(means[["case", "asked", "adjust"]] == [case, asked, adjust]).all(axis=1)]
    factor = "period" if case == "cows" else "kind"
    ours = fits[case].means(factor, adjust=adjust, **CALLS[case, asked])
    assert ours["contrast"].tolist() == theirs["contrast"].tolist()
    size = theirs["std_error"].max()
    for column in ("estimate", "conf_low", "conf_high"):
        np.testing.assert_allclose(ours[column], theirs[column], atol=ERROR * size)
    np.testing.assert_allclose(ours["std_error"], theirs["std_error"], rtol=ERROR)
    column = "p_value" if adjust == "none" else "p_adjusted"
    np.testing.assert_allclose(ours[column], theirs["p_value"], rtol=20 * ERROR, atol=1e-6)


def test_the_covariance_and_its_contrasts_are_glmers(fits):
    theirs = pd.read_csv(R / "mixed_sign_vcov.csv").to_numpy()
    model = fits["cows"]
    np.testing.assert_allclose(model.vcov(), theirs, rtol=ERROR, atol=1e-5)
    row = model.contrast({"sum": {"period[T.q2]": 1, "period[T.q3]": 1}}).iloc[0]
    assert row["std_error"] == pytest.approx(np.sqrt(theirs[1:3, 1:3].sum()), rel=ERROR)
    assert np.isinf(row["df"])
    with pytest.raises(DesignError, match="by z"):
        model.means("period", df="kenward-roger")


def test_draws_have_the_mean_and_the_spread_of_the_model(fits):
    model = fits["cows"]
    drawn = model.simulate(400)
    assert drawn.shape == (len(cows), 400)
    assert set(np.unique(drawn)) == {0.0, 1.0}
    np.testing.assert_array_equal(drawn, model.simulate(400))
    # The mean over draws of q1's share is that of a normal intercept, by quadrature.
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    sd = model.tidy(["ran_pars"])["estimate"].iloc[0]
    at = 1 / (1 + np.exp(-(model.coefficients[0] + sd * nodes)))
    expected = float(weights @ at / weights.sum())
    shares = drawn[(cows["period"] == "q1").to_numpy()].mean(axis=0)
    error = shares.std(ddof=1) / np.sqrt(400)
    assert shares.mean() == pytest.approx(expected, abs=4 * error)
    # Herds are drawn anew: shares spread more than those of independent rows.
    assert shares.var() > 1.5 * expected * (1 - expected) / (cows["period"] == "q1").sum()


def test_a_page_and_intervals_of_the_fit(fits):
    model = fits["cows"]
    page = str(model.summary())
    for told in ("ill ~ period + (1 | herd)", "period[T.q4]", "Laplace", f"{model.criterion:.2f}"):
        assert told in page
    assert "<table" in model._repr_html_()
    wald = model.tidy(["fixed"])
    pd.testing.assert_series_equal(model.confint()["conf_low"], wald["conf_low"])


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("fixef", "tidy"),
        ("VarCorr", "ran_pars"),
        ("aic", "glance"),
        ("nagq", "glmm"),
        ("drop1", "compare"),
        ("influence", "without each level"),
        ("leverage", "influence.ME"),
        ("plot", "glmm"),
        ("profile", "simulate"),
    ],
)
def test_a_name_that_is_not_here_says_where_its_answer_is(fits, name, place):
    with pytest.raises(AttributeError, match=place):
        getattr(fits["cows"], name)
    assert not hasattr(fits["cows"], "no_such_name")


def test_levels_of_one_or_two_rows_are_told():
    rng = np.random.default_rng(1)
    pairs = pd.DataFrame({"g": np.repeat(np.arange(150), 2), "x": rng.normal(size=300)})
    effect = rng.normal(size=150)[pairs["g"]]
    pairs["y"] = (rng.random(300) < 1 / (1 + np.exp(-pairs["x"] - effect))).astype(int)
    few = mixed.fit_binomial("y ~ x + (1 | g)", pairs.assign(g=pairs["g"].astype(str)))
    told = few.warnings().set_index("guard")
    assert told.loc["few rows a level", "group"] == "g"
    assert "glmm" in told.loc["few rows a level", "note"]
    thirds = pairs.assign(g=(pairs["g"] // 10).astype(str))
    many = mixed.fit_binomial("y ~ x + (1 | g)", thirds).warnings()
    assert "few rows a level" not in set(many["guard"])
    with pytest.raises(AnalysisError):
        few.anova(type="I")
