"""Shares of variance: sums of squares, intervals that hold together, incomplete rows left out."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.heritage.study import shares
from analysis.tidy.errors import DesignError


def drawn_table(rng, *, n_rows=8, n_seeds=2):
    """Return a table of recipes by four shapes by seeds with effects of every source."""
    rows, columns = rng.normal(0, 1.0, (n_rows, 1)), rng.normal(0, 0.5, (1, 4))
    cells = rows + columns + rng.normal(0, 0.3, (n_rows, 4))
    return np.asarray(cells[:, :, None] + rng.normal(0, 0.4, (n_rows, 4, n_seeds)))


def test_joint_intervals_hold_the_true_shares_and_estimates_are_near_them():
    rng = np.random.default_rng(2)
    cells = drawn_table(rng, n_seeds=1)[:, :, 0]
    exact = shares.sources(np.repeat(cells[:, :, None], 2, axis=2), "recipe", shares.GEOMETRY)
    parts = [source.sum_of_squares / (2 * cells.size) for source in exact[:-1]]
    truth = np.array([*parts, 0.3**2]) / (sum(parts) + 0.3**2)
    covered, estimates = [], []
    for _ in range(150):
        values = cells[:, :, None] + rng.normal(0, 0.3, (*cells.shape, 2))
        result = shares.sources(values, "recipe", shares.GEOMETRY)
        ends = np.array(shares.joint_intervals(result, values.size, 0.95))
        covered.append(bool(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).all()))
        estimates.append(shares.estimated_shares(result, values.size))
    assert np.mean(covered) > 0.93
    assert np.mean(estimates, axis=0) == pytest.approx(truth, abs=0.015)


def test_shares_sum_to_one_and_f_is_the_usual_one():
    values = drawn_table(np.random.default_rng(3))
    result = shares.variance_shares(
        values, "recipe", shares.SCALE_AND_SHAPE, n_resamples=200, rng=np.random.default_rng(0)
    )
    for _, rows in result.groupby("method"):
        assert rows["estimate"].sum() == pytest.approx(1)
        assert (rows["conf_low"] <= rows["conf_high"]).all()
    one_way = shares.sources(values[:, :1], "recipe", {})
    error = one_way[-1].sum_of_squares / one_way[-1].df
    expected = stats.f_oneway(*values[:, 0]).statistic
    assert one_way[0].sum_of_squares / one_way[0].df / error == pytest.approx(expected)


def test_a_row_with_a_run_missing_is_left_out_whole():
    runs = pd.DataFrame(
        [
            {"recipe": recipe, "geometry": shape, "seed": seed, "excess": float(seed)}
            for recipe in "abc"
            for shape in "xy"
            for seed in (0, 1)
        ]
    )
    runs.loc[0, "excess"] = np.nan
    values, remaining = shares.cell_table(runs, "excess", "recipe", "geometry", ["x", "y"])
    assert remaining == ["b", "c"]
    assert values.shape == (2, 2, 2)
    with pytest.raises(DesignError, match="two complete recipe levels and two seeds"):
        shares.cell_table(runs.iloc[:6], "excess", "recipe", "geometry", ["x", "y"])
