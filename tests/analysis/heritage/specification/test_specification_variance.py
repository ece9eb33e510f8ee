"""Shares of choices in the variance of estimates, on tables whose variance is known."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.formula.api import wls

from analysis.heritage.specification.variance import choice_shares
from analysis.tidy.errors import ColumnError, DesignError

TWO = ("gain", "unit")


def crossed(effects: dict[str, float], of_unit: dict[str, float]) -> pd.DataFrame:
    """Return one specification per pair of levels whose estimate is the sum of two effects."""
    rows = [
        {"gain": gain, "unit": unit, "standardised": effects[gain] + of_unit[unit]}
        for gain, unit in product(effects, of_unit)
    ]
    return pd.DataFrame(rows).assign(n_duplicates=1)


def test_a_choice_that_decides_alone_has_the_whole_variance():
    shares = choice_shares(crossed({"a": 0, "b": 3}, {"x": 0, "y": 0}), TWO)
    assert shares["choice"].tolist() == ["gain", "unit"]
    assert shares["eta_squared"].to_numpy() == pytest.approx([1, 0])
    assert shares["share"].to_numpy() == pytest.approx([1, 0])


def test_balanced_effects_have_the_shares_of_their_variances():
    # Effects of plus and minus 2 and of plus and minus 1: variances 4 and 1.
    shares = choice_shares(crossed({"a": -2, "b": 2}, {"x": -1, "y": 1}), TWO)
    assert shares["share"].to_numpy() == pytest.approx([4 / 5, 1 / 5])
    assert shares["eta_squared"].to_numpy() == pytest.approx([4 / 5, 1 / 5])
    assert shares["r_squared"].to_numpy() == pytest.approx([1, 1])


def test_what_two_choices_do_together_is_left_over():
    # 0, 0, 0, 4: mean 1, variance 3; each choice alone explains 1, their product the third.
    rows = crossed({"a": 0, "b": 0}, {"x": 0, "y": 0}).assign(standardised=[0.0, 0, 0, 4])
    shares = choice_shares(rows, TWO)
    assert shares["share"].to_numpy() == pytest.approx([1 / 3, 1 / 3])
    assert shares["r_squared"].to_numpy() == pytest.approx([2 / 3, 2 / 3])


def test_a_repeated_specification_changes_nothing():
    rows = crossed({"a": -2, "b": 2}, {"x": -1, "y": 1})
    doubled = pd.concat([rows.iloc[:1]] * 3 + [rows.iloc[1:]]).assign(
        n_duplicates=[3, 3, 3, 1, 1, 1]
    )
    pd.testing.assert_frame_equal(choice_shares(doubled, TWO), choice_shares(rows, TWO))


def test_specifications_without_an_estimate_are_ignored():
    rows = crossed({"a": -2, "b": 2}, {"x": -1, "y": 1})
    lacking = rows.iloc[:1].assign(gain="c", standardised=np.nan, n_duplicates=np.nan)
    joined = choice_shares(pd.concat([rows, lacking]), TWO)
    pd.testing.assert_frame_equal(joined, choice_shares(rows, TWO))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_shares_sum_to_the_r_squared_of_weighted_least_squares(seed: int):
    draw = np.random.default_rng(seed)
    rows = pd.DataFrame(
        {
            "gain": draw.choice(list("abc"), 40),
            "unit": draw.choice(list("xy"), 40),
            "standardised": draw.normal(size=40),
            "n_duplicates": draw.integers(1, 5, 40),
        }
    )
    shares = choice_shares(rows, TWO)
    fit = wls("standardised ~ gain + unit", rows, weights=1 / rows["n_duplicates"]).fit()
    assert shares["share"].sum() == pytest.approx(fit.rsquared)
    assert shares["r_squared"].to_numpy() == pytest.approx(fit.rsquared)
    assert (shares["eta_squared"] <= shares["r_squared"] + 1e-12).all()


def test_estimates_that_do_not_vary_are_refused():
    rows = crossed({"a": 1, "b": 1}, {"x": 0, "y": 0})
    with pytest.raises(DesignError, match="The estimates must vary; 4 of them do not"):
        choice_shares(rows, TWO)
    with pytest.raises(ColumnError, match="'standardised'"):
        choice_shares(rows.drop(columns="standardised"), TWO)
