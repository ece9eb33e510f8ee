from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from analysis.inference.association.firth import firth, profile
from analysis.inference.association.penalised import maximise
from analysis.inference.association.ridges import highest
from analysis.tidy.errors import ColumnError, DesignError
from analysis.tidy.frame import Floats

R = Path(__file__).parents[3] / "r"

#: brglm2 iterates to an adjusted score of 1e-13; ours to a step of 1e-12.
ESTIMATES = 1e-9

#: The R script's optim finds a profile likelihood to about 1e-12, its argument to about 1e-6.
PROFILES = 1e-5

answers = pd.read_csv(R / "firth.csv")
endometrial = pd.read_csv(R / "firth_endometrial.csv")
models = pd.read_csv(R / "models.csv")
models["dampens"] = models["gain"] < models["gain"].median()
models["first_lab"] = (models["lab"] == models["lab"].iloc[0]).astype(int)

#: Printed by logistf 1.24 for its example, logistf(case ~ age + oc + vic + vicl + vis + dia, sex2):
#: urinary tract infection and contraception (Foxman et al. 1997); `dia` separates the cases.
LOGISTF = pd.DataFrame(
    [
        ("(Intercept)", 0.12025405, -0.8185591, 1.07315122),
        ("age", -1.10598131, -1.9737884, -0.30742514),
        ("oc", -0.06881673, -0.9414363, 0.78920202),
        ("vic", 2.26887464, 1.2730216, 3.43543273),
        ("vicl", -2.11140817, -3.2608611, -1.11773495),
        ("vis", -0.78831694, -1.6080879, 0.01518468),
        ("dia", 3.09601166, 0.7745682, 8.03029352),
    ],
    columns=["term", "estimate", "conf_low", "conf_high"],
)

#: Patterns of the predictors and of the case, with the women who have each: logistf's sex2, copied
#: by hand from a public test file. Four rows lost in copying were put back in the one pattern that
#: gives logistf's printed coefficients, so this table is no source for anything else.
infection = pd.read_csv(R / "firth_sex2.csv")

CASES = {
    "endometrial": (endometrial, "high_grade ~ neovasculization + pulsatility + endometrium"),
    "models": (models, "dampens ~ heritage + density"),
    "one_lab": (models, "dampens ~ first_lab"),
}


@pytest.mark.parametrize("case", CASES)
def test_estimates_and_standard_errors_agree_with_brglm2_and_profiles_with_r(case: str) -> None:
    rows, answer = firth(*CASES[case]), answers[answers["case"] == case]
    for name in ("estimate", "std_error"):
        np.testing.assert_allclose(rows[name], answer[name], rtol=ESTIMATES)
    for name in ("statistic", "p_value", "conf_low", "conf_high"):
        np.testing.assert_allclose(rows[name], answer[name], rtol=PROFILES, atol=PROFILES)


def test_the_published_analysis_of_the_endometrial_data_is_reproduced() -> None:
    # Heinze and Schemper (2002), table 2: neovasculization separates the data.
    row = firth(*CASES["endometrial"]).set_index("term").loc["neovasculization"]
    assert row["estimate"] == pytest.approx(2.93, abs=0.005)
    assert row["conf_low"] == pytest.approx(0.61, abs=0.005)
    assert row["conf_high"] == pytest.approx(7.85, abs=0.005)


def test_the_example_of_logistf_is_reproduced() -> None:
    women = infection.loc[infection.index.repeat(infection["n"])].reset_index(drop=True)
    assert len(women) == 239
    rows = firth(women, "case ~ age + oc + vic + vicl + vis + dia")
    # logistf stops at a change of 1e-5.
    for name in ("estimate", "conf_low", "conf_high"):
        np.testing.assert_allclose(rows[name], LOGISTF[name], rtol=1e-5)


def separated(seed: int, *, kind: str) -> pd.DataFrame:
    """Return 24 rows whose outcome a factor, a number or a sum tells without error."""
    rng = np.random.default_rng(seed)
    others = rng.normal(size=(24, 3))
    first = rng.normal(size=24) if kind == "number" else rng.integers(0, 2, 24).astype(float)
    told = others @ [1.0, 2.0, -1.0] + 2 * first - 1 if kind == "sum" else first
    outcome = told > (0.5 if kind == "factor" else 0.0)
    return pd.DataFrame(others, columns=["a", "b", "c"]).assign(g=first, y=outcome)


@pytest.mark.parametrize("kind", ["factor", "number", "sum"])
@pytest.mark.parametrize("seed", range(2))
def test_a_separated_outcome_with_three_more_predictors_has_a_profile_interval(
    seed: int, kind: str
) -> None:
    frame = separated(seed, kind=kind)
    rows = firth(frame, "y ~ g + a + b + c")
    assert np.isfinite(rows[["conf_low", "conf_high"]].to_numpy()).all()
    assert (rows["conf_low"] < rows["estimate"]).all()
    assert (rows["estimate"] < rows["conf_high"]).all()
    # Excluding zero is the same as a significant ratio.
    excluded = (rows["conf_low"] > 0) | (rows["conf_high"] < 0)
    assert (excluded == (rows["p_value"] < 0.05)).all()


@pytest.mark.parametrize("kind", ["factor", "number", "sum"])
def test_a_general_optimiser_finds_the_same_profile_under_separation(kind: str) -> None:
    frame = separated(1, kind=kind)
    design = np.column_stack([np.ones(24), frame[["g", "a", "b", "c"]]])
    response = frame["y"].to_numpy(dtype=float)

    def penalised(free: Floats, held: float) -> float:
        linear = design @ np.array([free[0], held, *free[1:]])
        likelihood = log_expit(np.where(response == 1, linear, -linear)).sum()
        weights = expit(linear) * expit(-linear)
        information = (design * weights[:, None]).T @ design
        return -float(likelihood + np.linalg.slogdet(information)[1] / 2)

    top = maximise(design, response)
    row = firth(frame, "y ~ g + a + b + c").iloc[1]
    for end in (row["conf_low"], row["conf_high"]):
        near = profile(design, response, top, 1, end)
        start = highest(design, response, (top, near), 1).coefficients[[0, 2, 3, 4]] + 0.3
        found = minimize(
            penalised,
            start,
            args=(end,),
            method="Nelder-Mead",
            options={"fatol": 1e-12, "maxiter": 5000},
        )
        assert 2 * (top.log_likelihood + found.fun) == pytest.approx(3.841458820694124, rel=1e-6)


ridges = pd.read_csv(R / "firth_ridges.csv")
ridge_ends = pd.read_csv(R / "firth_ridges_ends.csv")


@pytest.mark.parametrize("position", range(len(ridge_ends)))
def test_an_end_lies_on_the_highest_ridge_that_r_finds_from_many_starts(position: int) -> None:
    answer = ridge_ends.loc[position]
    rows = firth(ridges[ridges["set"] == answer["set"]], "y ~ a + b + c").set_index("term")
    side = "conf_low" if answer["end"] < 0 else "conf_high"
    assert rows.loc[answer["term"], side] == pytest.approx(answer["end"], abs=answer["tolerance"])


@pytest.mark.parametrize("zero", [0.0, 1e4, 2e6])
def test_where_a_column_has_its_zero_changes_nothing_but_the_intercept(zero: float) -> None:
    # From 1 to 10 by brglm2 and R's optim (firth.R); a date has its zero in 1970.
    rows = pd.DataFrame({"x": zero + np.arange(1.0, 11), "y": [0, 0, 1, 0, 0, 1, 1, 0, 1, 1]})
    row = firth(rows, "y ~ x").iloc[1]
    answer = answers[answers["case"] == "ten"].iloc[1]
    for name in ("estimate", "std_error", "statistic", "p_value", "conf_low", "conf_high"):
        assert row[name] == pytest.approx(answer[name], rel=PROFILES)


def test_an_intercept_alone_adds_half_a_success_and_half_a_failure() -> None:
    rows = pd.DataFrame({"y": [1] * 3 + [0] * 6})
    assert firth(rows, "y ~ 1")["estimate"].iloc[0] == pytest.approx(np.log(3.5 / 6.5), rel=1e-12)


def test_a_2x2_table_adds_half_to_every_cell() -> None:
    # A saturated model with Jeffreys' prior; 5 of 5 against 1 of 4 is separated.
    rows = pd.DataFrame({"y": [1] * 5 + [1] + [0] * 3, "group": [1] * 5 + [0] * 4})
    fitted = firth(rows, "y ~ group").set_index("term")
    expected = np.log(5.5 / 0.5) - np.log(1.5 / 3.5)
    assert fitted.loc["group", "estimate"] == pytest.approx(expected, rel=1e-10)
    assert np.isfinite(fitted.loc["group", ["conf_low", "conf_high"]].astype(float)).all()
    assert "6 of 9 rows have the outcome" in fitted.loc["group", "note"]


def test_at_the_ends_of_the_interval_the_ratio_is_the_critical_value() -> None:
    matrices = np.column_stack([np.ones(24), models["density"]])
    response = models["dampens"].to_numpy(dtype=float)
    row = firth(models, "dampens ~ density").iloc[1]
    top = maximise(matrices, response)
    for end in (row["conf_low"], row["conf_high"]):
        held = profile(matrices, response, top, 1, end).log_likelihood
        assert 2 * (top.log_likelihood - held) == pytest.approx(3.841458820694124, rel=1e-9)


def test_coding_the_outcome_the_other_way_changes_the_sign() -> None:
    plain = firth(models, "dampens ~ heritage + density")
    turned = firth(models.assign(dampens=~models["dampens"]), "dampens ~ heritage + density")
    np.testing.assert_allclose(plain["estimate"], -turned["estimate"], rtol=1e-9)
    np.testing.assert_allclose(plain["conf_low"], -turned["conf_high"], rtol=1e-7)


def test_it_removes_the_bias_of_maximum_likelihood() -> None:
    # 200 data sets of 40 rows, true slope 1.5, seed 3; Monte-Carlo standard error about 0.05.
    rng = np.random.default_rng(3)
    slopes = []
    for _ in range(200):
        x = rng.normal(size=40)
        design = np.column_stack([np.ones(40), x])
        response = (rng.random(40) < expit(1.5 * x)).astype(float)
        slopes.append(maximise(design, response).coefficients[1])
    error = np.std(slopes) / np.sqrt(len(slopes))
    assert abs(np.mean(slopes) - 1.5) < 3 * error


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(ColumnError, match="must hold 0 and 1; found"):
        firth(models, "gain ~ density")
    with pytest.raises(DesignError, match="all 24 rows hold 1"):
        firth(models.assign(dampens=1), "dampens ~ density")
    with pytest.raises(DesignError, match=r"\['twice'\] are linear combinations"):
        firth(models.assign(twice=2 * models["density"]), "dampens ~ density + twice")
    with pytest.raises(DesignError, match="3 terms need at least 4 rows; found 3"):
        firth(models.iloc[[0, 1, 6]].assign(dampens=[0, 1, 1]), "dampens ~ density + layers")
