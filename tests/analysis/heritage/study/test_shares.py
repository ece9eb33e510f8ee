"""Shares of variance, labs against other labellings, cells that are negative."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.heritage.study import labs, shares, signs
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


def test_a_twin_has_the_label_of_its_sibling():
    """By hand: six ways to choose two of four independent recipes, ten to choose three of five."""
    means = pd.DataFrame(
        {"recipe": list("pPqrs"), "lab": list("AAABC"), "excess": [1.0, 1.1, 2.0, 5, 9]}
    )
    lone = labs.lab_share(means, "excess").set_index("term").loc["lab"]
    paired = labs.lab_share(means, "excess", twins={"P": "p"}).set_index("term").loc["lab"]
    assert (lone["p_value"], lone["n_groups"]) == (pytest.approx(1 / 10), 5)
    assert (paired["p_value"], paired["n_groups"]) == (pytest.approx(1 / 6), 4)
    assert paired["n_permutations"] == 12
    assert paired["estimate"] == lone["estimate"]
    with pytest.raises(DesignError, match="found 2 independent recipes of 2 labs"):
        labs.lab_share(means.iloc[[0, 1, 3]], "excess", twins={"P": "p"})


def test_negative_cells_are_found_and_false_ones_are_rare():
    rng = np.random.default_rng(4)
    runs = pd.DataFrame({"cell": np.repeat(np.arange(16), 2), "excess": rng.normal(0, 0.1, 32)})
    runs.loc[runs["cell"] == 3, "excess"] -= 2
    result = signs.negative_cells(runs, "excess").set_index("level")
    assert result.index[result["p_adjusted"] < 0.01].tolist() == [3]
    pooled = runs.groupby("cell")["excess"].var().mean()
    assert result.loc[3, "std_error"] == pytest.approx((pooled / 2) ** 0.5)
    assert (result["df"] == 16).all()
    null = [
        signs.negative_cells(runs.assign(excess=rng.normal(0, 1, 32)), "excess")["p_adjusted"].min()
        for _ in range(120)
    ]
    assert np.mean(np.array(null) < 0.05) < 0.11
    with pytest.raises(DesignError, match="two runs or more"):
        signs.negative_cells(runs.drop_duplicates("cell"), "excess")
