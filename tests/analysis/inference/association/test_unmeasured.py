"""Traits nobody measured: PySensemakr, the published example, columns left out, E-values."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.inference.association import unmeasured
from analysis.tidy.errors import AnalysisError

R = Path(__file__).parents[3] / "r"


def test_every_number_is_pysensemakrs():
    for row in pd.read_csv(R / "unmeasured.csv").to_dict("records"):
        estimate, error, df = row["estimate"], row["std_error"], row["df"]
        t, q = estimate / error, row["q"]
        value = unmeasured.robustness_value(t, df, q=q)
        at_level = unmeasured.robustness_value(t, df, q=q, alpha=row["alpha"])
        assert value == pytest.approx(row["robustness_value"], rel=1e-10)
        assert at_level == pytest.approx(row["robustness_value_alpha"], rel=1e-10, abs=1e-15)
        trait = unmeasured.like_a_benchmark(
            row["benchmark_treatment"], row["benchmark_outcome"], times=row["times"]
        )
        assert trait.treatment == pytest.approx(row["r_squared_treatment"], rel=1e-10)
        assert trait.outcome == pytest.approx(row["r_squared_outcome"], rel=1e-10)
        found = unmeasured.adjusted(estimate, error, df, trait)
        assert found[0] == pytest.approx(row["adjusted"], rel=1e-10)
        assert found[1] == pytest.approx(row["adjusted_error"], rel=1e-10)


def test_the_published_example_of_darfur():
    assert unmeasured.robustness_value(4.184, 783) == pytest.approx(0.139, abs=5e-4)
    assert unmeasured.robustness_value(4.184, 783, alpha=0.05) == pytest.approx(0.076, abs=5e-4)
    assert unmeasured.partial_r_squared(4.184, 783) == pytest.approx(0.022, abs=5e-4)


def regression(y, *columns):
    design = np.column_stack(columns)
    coefficients = np.linalg.lstsq(design, y)[0]
    df = len(y) - design.shape[1]
    variance = np.square(y - design @ coefficients).sum() / df
    errors = np.sqrt(variance * np.diag(np.linalg.inv(design.T @ design)))
    return coefficients[0], errors[0], df


@pytest.mark.parametrize("seed", range(5))
def test_a_trait_that_was_left_out_is_put_back_exactly(seed):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=22)
    d = 0.7 * z + rng.normal(size=22)
    y = d + 0.4 * z + rng.normal(size=22)
    ones = np.ones(22)
    short = regression(y, d, ones)
    whole = regression(y, d, ones, z)
    of_d = regression(d, z, ones)
    of_y = regression(y, z, ones, d)
    trait = unmeasured.Trait(
        unmeasured.partial_r_squared(of_d[0] / of_d[1], of_d[2]),
        unmeasured.partial_r_squared(of_y[0] / of_y[1], of_y[2]),
    )
    bias = short[0] - unmeasured.adjusted(*short, trait)[0]
    assert abs(bias) == pytest.approx(abs(short[0] - whole[0]))
    assert unmeasured.adjusted(*short, trait)[1] == pytest.approx(whole[1])


@pytest.mark.parametrize(("t", "df"), [(4.2, 783), (-3.0, 14), (12.0, 8), (0.5, 20)])
def test_a_trait_of_the_robustness_value_leaves_nothing(t, df):
    value = unmeasured.robustness_value(t, df)
    left, _ = unmeasured.adjusted(t, 1.0, df, unmeasured.Trait(value, value))
    assert left == pytest.approx(0, abs=1e-9)
    at_level = unmeasured.robustness_value(t, df, alpha=0.05)
    assert 0 <= at_level < value
    assert unmeasured.robustness_value(t, df, q=0.5) < value


def test_a_trait_as_strong_as_a_weak_benchmark_explains_little_more():
    trait = unmeasured.like_a_benchmark(0.01, 0.02)
    assert trait.treatment == pytest.approx(0.01 / 0.99)
    overlap = 0.01**2 / 0.99**2
    expected = ((1 + math.sqrt(overlap)) / math.sqrt(1 - overlap)) ** 2 * 0.02 / 0.98
    assert trait.outcome == pytest.approx(expected)
    twice = unmeasured.like_a_benchmark(0.01, 0.02, times=2)
    assert twice.treatment == pytest.approx(2 * trait.treatment)
    with pytest.raises(AnalysisError, match="times as strong"):
        unmeasured.like_a_benchmark(0.6, 0.1, times=2)
    with pytest.raises(AnalysisError, match="two degrees of freedom"):
        unmeasured.robustness_value(2.0, 1)


def test_the_e_value_is_where_the_bounding_factor_meets_the_ratio():
    # VanderWeele and Ding's own example: a ratio of 3.9 has an E-value of 7.26.
    assert unmeasured.e_value(3.9) == pytest.approx(7.26, abs=0.005)
    for ratio in (1.2, 2.0, 0.4):
        found = unmeasured.e_value(ratio)
        assert found**2 / (2 * found - 1) == pytest.approx(max(ratio, 1 / ratio))
    assert unmeasured.e_values(0.5, -0.1, 1.1, 1.0)[1] == 1
