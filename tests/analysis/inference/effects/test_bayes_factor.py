from __future__ import annotations

from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.inference.effects import bayes_factor
from analysis.tidy.errors import AnalysisError, DesignError

R = Path(__file__).parents[3] / "r"

#: BayesFactor integrates numerically, to about 1e-8 relative.
INTEGRATED = 1e-6

models = pd.read_csv(R / "models.csv")
t_tests = pd.read_csv(R / "bayes_factor_t.csv")
of_models = pd.read_csv(R / "bayes_factor_models.csv").set_index("case")["bayes_factor"]


@pytest.mark.parametrize("position", range(len(t_tests)))
def test_the_factor_of_a_t_agrees_with_r(position: int) -> None:
    answer = t_tests.loc[position]
    n1, n2 = answer["n1"], answer["n2"]
    effective, df = (n1 * n2 / (n1 + n2), n1 + n2 - 2) if n2 else (n1, n1 - 1)
    found = bayes_factor.log_jzs(answer["t"], effective, df, scale=answer["scale"])
    assert np.exp(found) == pytest.approx(answer["bayes_factor"], rel=INTEGRATED)


def test_the_estimate_of_a_t_test_is_in_standard_deviations() -> None:
    rows = pd.DataFrame({"side": list("aabbb"), "y": [1.0, 3.0, 4.0, 6.0, 8.0]})
    # Squared deviations 2 and 8 over three degrees of freedom; means 2 and 6.
    two = bayes_factor.t_test(rows, value="y", group="side", null_value=1).iloc[0]
    assert two["estimate"] == pytest.approx((2 - 6 - 1) / (10 / 3) ** 0.5)
    assert two["statistic"] == pytest.approx(two["estimate"] * (2 * 3 / 5) ** 0.5)


def test_no_effect_speaks_for_none_and_more_rows_more_so() -> None:
    few, many = bayes_factor.log_jzs(0.0, 5, 9), bayes_factor.log_jzs(0.0, 500, 999)
    assert many < few < 0


@settings(max_examples=40, deadline=None)
@given(t=st.floats(0.1, 20), n=st.integers(2, 200))
def test_a_larger_t_is_more_evidence_and_its_sign_none(t: float, n: int) -> None:
    assert bayes_factor.log_jzs(t * 1.1, n, n) > bayes_factor.log_jzs(t, n, n)
    assert bayes_factor.log_jzs(-t, n, n) == bayes_factor.log_jzs(t, n, n)


def test_the_logarithm_of_a_large_t_is_that_of_the_integral_in_many_digits() -> None:
    t, n, df = mpmath.mpf(200), 500, 499
    scale = mpmath.mpf(bayes_factor.EFFECT_SCALE)

    def density(g: Any) -> Any:
        spread = 1 + n * scale**2 * g
        ratio = (1 + t**2 / (df * spread)) / (1 + t**2 / df)
        prior = mpmath.exp(-1 / (2 * g)) / mpmath.sqrt(2 * mpmath.pi * g**3)
        return ratio ** (-(df + 1) / mpmath.mpf(2)) / mpmath.sqrt(spread) * prior

    with mpmath.workdps(50):
        expected = float(mpmath.log(mpmath.quad(density, [0, 1, 50, 200, 2000, mpmath.inf])))
    assert bayes_factor.log_jzs(200, n, df) == pytest.approx(expected, rel=1e-8)
    assert expected > np.log(np.finfo(float).max)


def test_the_factors_of_the_models_agree_with_r() -> None:
    rows = {
        "t": bayes_factor.t_test(models, value="gain", group="heritage").iloc[0],
        "t one sample": bayes_factor.t_test(models, value="gain", null_value=2).iloc[0],
    }
    for case, row in rows.items():
        assert row["bayes_factor"] == pytest.approx(of_models[case], rel=INTEGRATED)
        assert np.exp(row["log_bayes_factor"]) == pytest.approx(row["bayes_factor"], rel=1e-12)


def test_a_factor_beyond_the_largest_number_is_infinite_and_has_its_logarithm() -> None:
    rows = pd.DataFrame({"y": 10 + np.linspace(-1, 1, 500) / 10})
    row = bayes_factor.t_test(rows, value="y").iloc[0]
    assert row["bayes_factor"] == np.inf
    assert 709 < row["log_bayes_factor"] < np.inf
    assert row["note"]


def test_the_row_says_what_was_compared() -> None:
    row = bayes_factor.t_test(models, value="gain", group="heritage").iloc[0]
    assert row["contrast"] == "mean of gain: 0 - 1"
    assert row["df"] == 22
    assert row["prior_scale"] == pytest.approx(np.sqrt(0.5))


def test_what_has_no_factor_is_refused() -> None:
    with pytest.raises(AnalysisError, match="`scale` must be positive"):
        bayes_factor.t_test(models, value="gain", scale=0)
    with pytest.raises(DesignError, match="'lab' has 7"):
        bayes_factor.t_test(models, value="gain", group="lab")
    with pytest.raises(DesignError, match="must vary within groups"):
        bayes_factor.t_test(models.assign(gain=models["heritage"]), value="gain", group="heritage")
    with pytest.raises(DesignError, match="must vary within groups"):
        bayes_factor.t_test(pd.DataFrame({"gain": [0.1, 0.1, 0.1]}), value="gain")
