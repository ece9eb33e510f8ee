from __future__ import annotations

from collections.abc import Callable
from math import comb, log
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

#: Closed forms.
CLOSED = 1e-11

models = pd.read_csv(R / "models.csv")
eight = models.head(8)
t_tests = pd.read_csv(R / "bayes_factor_t.csv")
contingency = pd.read_csv(R / "bayes_factor_contingency.csv")
of_models = pd.read_csv(R / "bayes_factor_models.csv").set_index("case")["bayes_factor"]


@pytest.mark.parametrize("position", range(len(t_tests)))
def test_the_factor_of_a_t_agrees_with_r(position: int) -> None:
    answer = t_tests.loc[position]
    n1, n2 = answer["n1"], answer["n2"]
    effective, df = (n1 * n2 / (n1 + n2), n1 + n2 - 2) if n2 else (n1, n1 - 1)
    found = bayes_factor.jzs(answer["t"], effective, df, scale=answer["scale"])
    assert found == pytest.approx(answer["bayes_factor"], rel=INTEGRATED)


def test_the_estimate_of_a_t_test_is_in_standard_deviations() -> None:
    rows = pd.DataFrame({"side": list("aabbb"), "y": [1.0, 3.0, 4.0, 6.0, 8.0]})
    # Squared deviations 2 and 8 over three degrees of freedom; means 2 and 6.
    two = bayes_factor.t_test(rows, value="y", group="side", null_value=1).iloc[0]
    assert two["estimate"] == pytest.approx((2 - 6 - 1) / (10 / 3) ** 0.5)
    assert two["statistic"] == pytest.approx(two["estimate"] * (2 * 3 / 5) ** 0.5)


@pytest.mark.parametrize(
    ("case", "rows"),
    [
        ("t", lambda: bayes_factor.t_test(models, value="gain", group="heritage")),
        ("t one sample", lambda: bayes_factor.t_test(models, value="gain", null_value=2)),
        ("correlation", lambda: bayes_factor.correlation(models, x="density", y="gain")),
        (
            "correlation uniform",
            lambda: bayes_factor.correlation(models, x="density", y="gain", scale=1),
        ),
        (
            "correlation of 8",
            lambda: bayes_factor.correlation(eight, x="density", y="gain"),
        ),
    ],
)
def test_the_factors_of_the_models_agree_with_r(
    case: str, rows: Callable[[], pd.DataFrame]
) -> None:
    assert rows()["bayes_factor"].iloc[0] == pytest.approx(of_models[case], rel=INTEGRATED)


@pytest.mark.parametrize("position", range(len(contingency)))
def test_the_four_sampling_plans_agree_with_r(position: int) -> None:
    answer = contingency.loc[position]
    counts = pd.DataFrame(answer[["a", "b", "c", "d"]].to_numpy(dtype=float).reshape(2, 2))
    rows = bayes_factor.contingency(counts, concentration=answer["concentration"])
    found = rows.set_index("sampling").loc[answer["sampling"], "bayes_factor"]
    assert found == pytest.approx(answer["bayes_factor"], rel=CLOSED)


def test_with_both_margins_fixed_the_tables_of_the_tea_are_equally_likely() -> None:
    # Five tables share the margins 4, 4, 4, 4; under independence [3 1; 1 3] has 16 of 70.
    rows = bayes_factor.contingency(pd.DataFrame([[3, 1], [1, 3]])).set_index("sampling")
    expected = (1 / 5) / (comb(4, 3) * comb(4, 1) / comb(8, 4))
    assert rows.loc["hypergeometric", "bayes_factor"] == pytest.approx(expected, rel=1e-12)


def test_with_row_sizes_fixed_and_flat_priors_the_factor_is_a_ratio_of_beta_functions() -> None:
    # Two binomials with uniform priors, 2 of 2 and 0 of 1: (1/3)(1/2) against 2! 1! / 4!.
    rows = bayes_factor.contingency(pd.DataFrame([[2, 0], [0, 1]])).set_index("sampling")
    found = rows.loc["independent multinomial", "bayes_factor"]
    assert found == pytest.approx((1 / 3) * (1 / 2) / (2 / 24), rel=1e-12)


def test_no_effect_speaks_for_none_and_more_rows_more_so() -> None:
    few, many = bayes_factor.jzs(0.0, 5, 9), bayes_factor.jzs(0.0, 500, 999)
    assert many < few < 1


@settings(max_examples=40, deadline=None)
@given(t=st.floats(0.1, 20), n=st.integers(2, 200))
def test_a_larger_t_is_more_evidence_and_its_sign_none(t: float, n: int) -> None:
    assert bayes_factor.jzs(t * 1.1, n, n) > bayes_factor.jzs(t, n, n)
    assert bayes_factor.jzs(-t, n, n) == bayes_factor.jzs(t, n, n)


def every_row() -> pd.DataFrame:
    rows = [
        bayes_factor.t_test(models, value="gain", group="heritage"),
        bayes_factor.correlation(models, x="density", y="gain"),
        bayes_factor.contingency(pd.DataFrame([[3, 1], [1, 3]])),
    ]
    return pd.concat(rows, ignore_index=True)


def test_every_row_has_the_logarithm_of_its_factor() -> None:
    rows = every_row()
    np.testing.assert_allclose(np.exp(rows["log_bayes_factor"]), rows["bayes_factor"], rtol=1e-12)
    assert len(rows) == 6


def test_a_table_beyond_the_largest_number_has_the_logarithm_that_can_be_counted() -> None:
    # 2,001 tables share the margins, equally likely; independence gives it 1 of C(4000, 2000).
    table = pd.DataFrame([[2000, 0], [0, 2000]])
    row = bayes_factor.contingency(table).set_index("sampling").loc["hypergeometric"]
    expected = log(comb(4000, 2000)) - log(2001)
    assert row["log_bayes_factor"] == pytest.approx(expected, rel=1e-12)
    assert row["bayes_factor"] == np.inf
    assert "see its logarithm" in row["note"]


def integrated(function: Callable[[Any], Any], ends: list[Any]) -> float:
    """Return the logarithm of an integral in fifty digits."""
    with mpmath.workdps(50):
        return float(mpmath.log(mpmath.quad(function, ends)))


def test_the_logarithm_of_a_large_t_is_that_of_the_integral_in_many_digits() -> None:
    t, n, df = mpmath.mpf(200), 500, 499
    scale = mpmath.mpf(bayes_factor.EFFECT_SCALE)

    def density(g: Any) -> Any:
        spread = 1 + n * scale**2 * g
        ratio = (1 + t**2 / (df * spread)) / (1 + t**2 / df)
        prior = mpmath.exp(-1 / (2 * g)) / mpmath.sqrt(2 * mpmath.pi * g**3)
        return ratio ** (-(df + 1) / mpmath.mpf(2)) / mpmath.sqrt(spread) * prior

    expected = integrated(density, [0, 1, 50, 200, 2000, mpmath.inf])
    assert bayes_factor.log_jzs(200, n, df) == pytest.approx(expected, rel=1e-8)
    assert expected > np.log(np.finfo(float).max)
    assert bayes_factor.jzs(200, n, df) == np.inf


@pytest.mark.parametrize(
    ("r", "n"), [(0, 3), (0.3, 5), (-0.999999, 12), (0.99, 40), (0.95, 2000), (0.01, 100_000)]
)
@pytest.mark.parametrize("scale", [1 / 3, 1.0, 2.0])
def test_the_logarithm_of_a_correlation_is_the_closed_form_in_many_digits(
    r: float, n: int, scale: float
) -> None:
    with mpmath.workdps(50):
        k, a = mpmath.mpf(scale), mpmath.mpf(n - 1) / 2
        c = (n + 2 / k) / 2
        expected = mpmath.log(
            mpmath.power(2, 1 - 2 / k)
            * mpmath.sqrt(mpmath.pi)
            / mpmath.beta(1 / k, 1 / k)
            * mpmath.gamma(c - 0.5)
            / mpmath.gamma(c)
            * mpmath.hyp2f1(a, a, c, mpmath.mpf(r) ** 2)
        )
    found = bayes_factor.log_of_correlation(r, n, scale=scale)
    assert found == pytest.approx(float(expected), rel=1e-10, abs=1e-10)


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
    with pytest.raises(DesignError, match="must not lie on a line"):
        bayes_factor.correlation(models.assign(twice=2 * models["gain"]), x="twice", y="gain")
    with pytest.raises(AnalysisError, match=r"`concentration` must exceed 0\.5"):
        bayes_factor.contingency(pd.DataFrame([[3, 1], [1, 3]]), concentration=0.5)
