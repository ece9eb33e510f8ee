"""Analyses of variance are car's and lmerTest's; only nested models have a likelihood ratio.

`tests/r/mixed_face.R` and, for Satterthwaite's degrees of freedom, `tests/r/mixed_anova_rows.R`
wrote the answers with car 3.1-1 and lmerTest 3.1-3.
"""

import numpy as np
import pandas as pd
import patsy
import pytest

from analysis import mixed
from analysis.tidy.errors import AnalysisError, DesignError
from tests.analysis.places import R

answers = pd.read_csv(R / "mixed_face_anova.csv")
rows_of_r = pd.read_csv(R / "mixed_anova_rows.csv", keep_default_na=False)
cake = pd.read_csv(R / "mixed_data_cake.csv")
crossed = pd.read_csv(R / "mixed_data_crossed.csv")

#: R's optimum has three digits more than its tolerance promises; ours is at its theta or its own.
TESTS = 2e-5

TWO = "gain ~ kind * lab + depth + (1 | model) + (1 | prompt)"


@pytest.mark.parametrize("kind", ["II", "III"])
@pytest.mark.parametrize("name", answers["name"].unique())
def test_types_two_and_three_are_cars(against_r, name, kind):
    model = mixed.fit(TWO, crossed) if name == "crossed_two" else against_r.at_r(name, "REML")
    for df in ("wald", "kenward-roger", "satterthwaite"):
        if df == "satterthwaite" and kind == "II":
            continue  # lmerTest's type II is another, of least squares without random effects
        ours = model.anova(type=kind, df=df).set_index("term")
        theirs = answers[
            (answers["name"] == name) & (answers["type"] == kind) & (answers["method"] == df)
        ].set_index("term")
        theirs.index = theirs.index.str.replace("^", " ** ", regex=False)
        ours = ours.loc[theirs.index]
        size = theirs["df"] if df == "wald" else 1.0
        np.testing.assert_allclose(ours["statistic"] * size, theirs["statistic"], rtol=TESTS)
        np.testing.assert_array_equal(ours["df"], theirs["df"])
        # lmerTest takes the derivatives behind its degrees of freedom by finite differences.
        rounding = 2e-3 if df == "satterthwaite" else 1e-4
        np.testing.assert_allclose(ours["p_value"], theirs["p_value"], rtol=rounding, atol=1e-12)
        if df != "wald":
            np.testing.assert_allclose(ours["df_residual"], theirs["df_residual"], rtol=rounding)


@pytest.mark.parametrize("name", rows_of_r["name"].unique())
def test_satterthwaites_degrees_of_freedom_are_of_lmertests_rows(name):
    theirs = rows_of_r[rows_of_r["name"] == name]
    case = theirs.iloc[0]
    stated = {"sum": patsy.Sum, "third": "r"}.get(case["contrasts"])
    model = mixed.fit(
        case["formula"],
        pd.read_csv(R / f"mixed_data_{case['data']}.csv"),
        contrasts={"f": stated} if stated else None,
        weights=case["weights"] or None,
        reml=bool(case["reml"]),
    )
    for kind, each in theirs.groupby("type"):
        ours = model.anova(type=kind, df="satterthwaite").set_index("term").loc[each["term"]]
        np.testing.assert_array_equal(ours["df"], each["df"])
        for column, rounding in (("statistic", 2e-5), ("df_residual", 1e-3), ("p_value", 2e-4)):
            np.testing.assert_allclose(ours[column], each[column], rtol=rounding, err_msg=column)


@pytest.mark.parametrize("formula", ["y ~ f + (1 | g)", "y ~ f + half + (1 | g)"])
@pytest.mark.parametrize("stated", [None, patsy.Sum, patsy.Helmert, "q"])
def test_one_hypothesis_has_one_denominator(formula, stated):
    rows = pd.read_csv(R / "mixed_data_unbalanced.csv")
    plain = mixed.fit(formula, rows).anova(type="II", df="satterthwaite")
    model = mixed.fit(formula, rows, contrasts={"f": stated} if stated else None)
    for kind in ("II", "III"):
        frame = model.anova(type=kind, df="satterthwaite")
        np.testing.assert_allclose(frame["df_residual"], plain["df_residual"], rtol=1e-6)


@pytest.mark.parametrize("kind", ["II", "III"])
def test_the_contrasts_of_the_fit_change_no_test(kind):
    formula = "angle ~ recipe * temp + (1 | recipe:replicate)"
    plain = mixed.fit(formula, cake)
    for contrast in ("B", patsy.Sum, patsy.Helmert):
        other = mixed.fit(formula, cake, contrasts={"recipe": contrast})
        pd.testing.assert_frame_equal(
            other.anova(type=kind, df="satterthwaite"),
            plain.anova(type=kind, df="satterthwaite"),
            rtol=1e-5,
        )


def test_the_default_is_type_three_and_an_unknown_type_names_the_known_ones():
    model = mixed.fit("angle ~ recipe * temp + (1 | recipe:replicate)", cake)
    frame = model.anova()
    pd.testing.assert_frame_equal(frame, model.anova(type="III"))
    assert set(frame["method"]) == {"Kenward-Roger F; type III, sum-to-zero contrasts"}
    notes = frame.set_index("term")["note"]
    assert notes["recipe"] == "Tested where temp is zero."
    assert notes["temp"] == ""
    assert "type II" in model.anova(type="II")["method"].iloc[0]
    model = mixed.fit("angle ~ recipe + (1 | recipe:replicate)", cake)
    with pytest.raises(AnalysisError, match="`type` must be one of 'II', 'III'; found 'I'"):
        model.anova(type="I")


BASE = "gain ~ rho + depth + (1 | model) + (1 | prompt)"

NESTED = {
    "a term more": ("gain ~ rho + (1 | model)", "gain ~ rho + kind + (1 | model)"),
    "an interaction spans its factors": (
        "gain ~ kind + lab + (1 | model)",
        "gain ~ kind:lab + (1 | model)",
    ),
    "a slope more": ("gain ~ depth + (1 | model)", "gain ~ depth + (1 + depth | model)"),
    "uncorrelated within correlated": (
        "gain ~ depth + (1 + depth || model)",
        "gain ~ depth + (1 + depth | model)",
    ),
}

APART = {
    "a line within a factor": ("gain ~ step + (1 | model)", "gain ~ C(step) + (1 | model)", "step"),
    "other predictors": ("gain ~ rho + (1 | model)", "gain ~ depth + kind + (1 | model)", "rho"),
    "a transform": ("gain ~ log(rho) + (1 | model)", "gain ~ rho + kind + (1 | model)", r"log\("),
    "other groups": (
        "gain ~ rho + (1 | prompt)",
        "gain ~ rho + depth + (1 | model)",
        r"\(1 \| prompt\)",
    ),
    "another slope": (
        "gain ~ depth + rho + (1 + rho | prompt)",
        "gain ~ depth + rho + kind + (1 + depth | prompt)",
        r"\(1 \+ rho \| prompt\)",
    ),
}


@pytest.fixture(scope="module")
def stepped():
    return crossed.assign(step=np.arange(len(crossed)) % 4)


@pytest.mark.parametrize("name", NESTED)
def test_nested_models_are_compared_however_they_are_written(name, stepped):
    smaller, larger = (mixed.fit(formula, stepped) for formula in NESTED[name])
    assert mixed.compare([smaller, larger])["df"].iloc[1] > 0


@pytest.mark.parametrize("name", APART)
def test_models_that_are_not_nested_are_refused(name, stepped):
    smaller, larger, lacking = APART[name]
    refusal = f"The smaller model must lie in the larger; .* does not contain {lacking}"
    with pytest.raises(DesignError, match=refusal):
        mixed.compare([mixed.fit(smaller, stepped), mixed.fit(larger, stepped)])


def test_other_rows_responses_offsets_or_weights_are_refused():
    smaller = mixed.fit("gain ~ rho + (1 | model)", crossed[1:])
    larger = mixed.fit(BASE, crossed[:-1])
    with pytest.raises(DesignError, match="was fitted to other rows than"):
        mixed.compare([smaller, larger])
    larger = mixed.fit(BASE, crossed)
    other = crossed.assign(score=crossed["gain"])
    with pytest.raises(DesignError, match=r"must explain the same response; found \['gain', 'sc"):
        mixed.compare([mixed.fit("score ~ rho + (1 | model)", other), larger])
    with pytest.raises(DesignError, match="'gain less known'"):
        mixed.compare([mixed.fit("gain ~ rho + offset(known) + (1 | model)", crossed), larger])
    weighted = mixed.fit("gain ~ rho + (1 | model)", crossed, weights="precision")
    with pytest.raises(DesignError, match="the same rows with the same weights"):
        mixed.compare([weighted, larger])
    shuffled = crossed.sample(frac=1, random_state=1)
    smaller = mixed.fit("gain ~ rho + (1 | model) + (1 | prompt)", shuffled)
    assert mixed.compare([smaller, larger])["df"].iloc[1] == 1
