from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.inference.association import regression
from analysis.inference.partition import partition
from analysis.tidy.errors import ColumnError, DesignError

R = Path(__file__).parents[3] / "r"

#: lm() and lstsq differ in the order of elimination.
AGREEMENT = 1e-12

BLOCKS = {"lab": ["lab"], "geometry": ["density", "layers"], "scale": ["log_parameters"]}

models = pd.read_csv(R / "models.csv")
answers = pd.read_csv(R / "partition.csv")


def shares(
    rows: pd.DataFrame, blocks: partition.Blocks = BLOCKS, seed: int = 1, n_resamples: int = 99
) -> pd.DataFrame:
    return partition.shapley(
        rows,
        response="gain",
        blocks=blocks,
        cluster="lab",
        n_resamples=n_resamples,
        rng=np.random.default_rng(seed),
    )


def test_shares_agree_with_all_orders_of_lm() -> None:
    result = shares(models)
    assert result["block"].tolist() == answers["block"].tolist()
    np.testing.assert_allclose(result["share"], answers["share"], rtol=AGREEMENT)
    np.testing.assert_allclose(result["r_squared"], answers["r_squared"], rtol=AGREEMENT)


def test_uncorrelated_predictors_share_what_each_explains() -> None:
    # A 2x2 design twice: y = 3a + b + noise orthogonal to both; total ss 8 * (9 + 1 + 1) = 88.
    a, b = np.tile([-1, -1, 1, 1], 2), np.tile([-1, 1, -1, 1], 2)
    noise = np.repeat([-1, 1], 4)
    rows = pd.DataFrame({"a": a, "b": b, "gain": 3 * a + b + noise})
    result = partition.shapley(
        rows,
        response="gain",
        blocks={"first": ["a"], "second": ["b"]},
        n_resamples=99,
        rng=np.random.default_rng(0),
    )
    np.testing.assert_allclose(result["share"], [9 / 11, 1 / 11], rtol=1e-14)
    np.testing.assert_allclose(result["chance_share"], [1 / 7, 1 / 7], rtol=1e-14)
    assert result["n_groups"].tolist() == [8, 8]


def test_weights_of_two_blocks_are_the_two_orders() -> None:
    # Subsets: none, first, second, both.
    expected = [[-0.5, 0.5, -0.5, 0.5], [-0.5, -0.5, 0.5, 0.5]]
    np.testing.assert_array_equal(partition.shapley_weights(2), expected)


def test_chance_share_is_the_mean_share_of_a_shuffled_response() -> None:
    rng = np.random.default_rng(2)
    design = partition.block_design(models, "gain", BLOCKS)
    expected = shares(models)["chance_share"].to_numpy()
    weights = partition.shapley_weights(3)
    subsets = [
        np.column_stack(
            [np.ones(24), *(c for bit, c in enumerate(design.columns) if subset >> bit & 1)]
        )
        for subset in range(8)
    ]
    projections = np.array([columns @ np.linalg.pinv(columns) for columns in subsets])
    drawn = []
    for _ in range(400):
        response = rng.permutation(design.response)
        centred = response - response.mean()
        explained = [centred @ hat @ centred / (centred @ centred) for hat in projections]
        drawn.append(weights @ explained)
    error = np.std(drawn, axis=0) / np.sqrt(400)
    assert (np.abs(np.mean(drawn, axis=0) - expected) < 4 * error).all()


def test_a_block_with_all_columns_has_the_r_squared_of_the_regression() -> None:
    result = shares(models, {"all": ["lab", "density", "layers", "log_parameters"]})
    glance = regression.fit(models, "gain ~ lab + density + layers + log_parameters").glance()
    assert result["share"].iloc[0] == pytest.approx(glance["r_squared"].iloc[0], rel=1e-12)


def test_a_lab_drawn_out_of_a_resample_costs_nothing() -> None:
    result = shares(models)
    assert result["n_failed"].tolist() == [0, 0, 0]
    assert result["n_groups"].tolist() == [7, 7, 7]
    assert result["note"].str.contains("Only 7 clusters").all()


def test_a_resample_without_variation_is_counted() -> None:
    rows = pd.DataFrame(
        {"lab": list("aabbcc"), "density": [1.0, 2, 4, 3, 5, 9], "gain": [1.0, 1, 1, 1, 2, 3]}
    )
    result = shares(rows, {"geometry": ["density"]}, n_resamples=999)
    # The third lab is missed with probability (2/3)^3.
    assert result["n_failed"].iloc[0] / 999 == pytest.approx(8 / 27, abs=0.045)


def test_differences_come_from_the_resamples_of_the_shares() -> None:
    result = shares(models, n_resamples=199)
    pairs = partition.differences(
        models,
        response="gain",
        blocks=BLOCKS,
        cluster="lab",
        n_resamples=199,
        rng=np.random.default_rng(1),
    )
    assert pairs["contrast"].tolist() == ["lab - geometry", "lab - scale", "geometry - scale"]
    share = result.set_index("block")["share"]
    np.testing.assert_allclose(
        pairs["estimate"],
        [
            share["lab"] - share["geometry"],
            share["lab"] - share["scale"],
            share["geometry"] - share["scale"],
        ],
        atol=1e-14,
    )
    # Six columns against two, six against one, two against one, of 23 degrees of freedom.
    np.testing.assert_allclose(pairs["null_value"], [4 / 23, 5 / 23, 1 / 23], rtol=1e-12)
    assert (pairs["conf_low"] < pairs["estimate"]).all()
    assert (pairs["estimate"] < pairs["conf_high"]).all()


def test_the_bca_interval_is_available() -> None:
    result = partition.shapley(
        models,
        response="gain",
        blocks=BLOCKS,
        cluster="suite",
        n_resamples=199,
        method="bca",
        rng=np.random.default_rng(3),
    )
    assert (result["conf_low"] < result["conf_high"]).all()
    assert result["method"].str.contains("bca").all()


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 999), scale=st.sampled_from([1e-6, 1.0, 1e6]))
def test_shares_ignore_order_and_units_and_sum_to_r_squared(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    rows = models.assign(gain=rng.normal(size=24))
    changed = rows.assign(gain=5 - scale * rows["gain"], density=rows["density"] * scale).sample(
        frac=1, random_state=seed
    )
    reordered = {"scale": BLOCKS["scale"], "lab": BLOCKS["lab"], "geometry": ["layers", "density"]}
    plain = shares(rows, n_resamples=39).set_index("block")
    other = shares(changed, reordered, n_resamples=39).set_index("block").loc[plain.index]
    np.testing.assert_allclose(plain["share"], other["share"], atol=1e-9)
    assert plain["share"].sum() == pytest.approx(plain["r_squared"].iloc[0], rel=1e-12)
    assert (plain["share"] > -1e-12).all()
    assert plain["chance_share"].sum() == pytest.approx(9 / 23)


def test_two_thousand_resamples_of_lab_means_differ_only_by_the_seed() -> None:
    first, again, other = (shares(models, seed=seed)["conf_high"] for seed in (1, 1, 2))
    pd.testing.assert_series_equal(first, again)
    assert not np.allclose(first, other)


def test_a_column_in_two_blocks_is_refused() -> None:
    with pytest.raises(ColumnError, match=r"\['density'\] are used twice"):
        shares(models, {"a": ["density"], "b": ["density", "layers"]})
    with pytest.raises(ColumnError, match=r"\['gain'\] are used twice"):
        shares(models, {"a": ["gain"]})


def test_a_saturated_model_is_refused() -> None:
    with pytest.raises(DesignError, match="24 rows and 23 independent columns leave none"):
        shares(models, {"model": ["model_id"]})


def test_constant_predictors_and_empty_blocks_are_refused() -> None:
    with pytest.raises(DesignError, match="'density' must vary"):
        shares(models.assign(density=1.0), BLOCKS)
    with pytest.raises(DesignError, match="each with a column"):
        shares(models, {"nothing": []})
    with pytest.raises(DesignError, match="at least two blocks; found 1"):
        partition.differences(
            models, response="gain", blocks={"a": ["density"]}, rng=np.random.default_rng(0)
        )


def test_a_lead_must_clear_zero_and_what_chance_gives() -> None:
    # Of 39 leads four are below 0.1 and one of these below zero.
    replicates = np.array([-0.1, 0.02, 0.05, 0.09, *np.linspace(0.2, 0.5, 35)])
    for sign in (1, -1):
        assert partition.beyond_chance(sign * replicates, sign * 0.1) == pytest.approx(2 * 5 / 40)
        assert partition.beyond_chance(sign * replicates, -sign * 0.1) == pytest.approx(2 * 2 / 40)


def test_a_lead_that_is_one_but_for_rounding_is_none() -> None:
    replicates = np.array([0.3] * 30 + [0.0] * 10)
    noise = np.random.default_rng(3).uniform(-1e-15, 1e-15, (20, 40))
    p_values = partition.beyond_chance((replicates + noise).T, 0.0)
    np.testing.assert_array_equal(p_values, 2 * 11 / 41)
    p_values = partition.beyond_chance(-(replicates + noise).T, 0.0)
    np.testing.assert_array_equal(p_values, 2 * 11 / 41)
