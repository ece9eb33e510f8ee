"""R squared of many samples, and its shares among blocks, against lm() and by hand."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.inference.partition import explained, shares
from analysis.inference.partition.subsets import Subsets, all_subsets, select_blocks
from analysis.tidy.errors import ColumnError, DesignError
from tests.analysis.places import R

#: lm() eliminates by Householder rotations, ours orthogonalises column by column.
AGREEMENT = 1e-11

BLOCKS = {"lab": ["lab"], "suite": ["suite"], "geometry": ["density", "layers"]}
BLOCKS["scale"] = ["log_parameters"]
THREE = {name: BLOCKS[name] for name in ("lab", "geometry", "scale")}

models = pd.read_csv(R / "models.csv")
answers = pd.read_csv(R / "subsets.csv")


def subsets_of(rows=models, blocks=BLOCKS, seed=1, n_resamples=99):
    names = {"response": "gain", "blocks": blocks, "cluster": "lab" if "lab" in rows else None}
    drawn = {"n_resamples": n_resamples, "rng": np.random.default_rng(seed), "with_chance": True}
    return all_subsets(rows, **names, **drawn)


def subsets_with(values):
    """Subsets of two or three blocks with given R squared and no noise."""
    each = np.array(values)
    return Subsets(
        names=tuple("abc"[: int(np.log2(len(each)))]),
        r_squared=each,
        chance=np.zeros(len(each)),
        replicates=np.tile(each, (99, 1)),
        chance_replicates=np.zeros((99, len(each))),
        n_obs=20,
        n_groups=5,
    )


@pytest.fixture(scope="module")
def subsets():
    return subsets_of()


def oracle(kind):
    return answers[answers["kind"] == kind].set_index("block")["share"]


def test_shares_agree_with_lm_on_every_subset_and_in_all_orders(subsets):
    expected = pd.read_csv(R / "partition.csv")
    result = shares.shapley(subsets_of(blocks=THREE))
    assert result["block"].tolist() == expected["block"].tolist()
    np.testing.assert_allclose(result["share"], expected["share"], rtol=AGREEMENT)
    np.testing.assert_allclose(result["r_squared"], expected["r_squared"], rtol=AGREEMENT)
    general = shares.shapley(subsets).set_index("block")["share"]
    np.testing.assert_allclose(general[oracle("general").index], oracle("general"), atol=AGREEMENT)
    parts = shares.unique_and_alone(subsets)
    unique = parts[parts["term"] == "unique"].set_index("block")["share"]
    np.testing.assert_allclose(unique, oracle("component")[unique.index], atol=AGREEMENT)
    assert unique["lab"] == pytest.approx(0, abs=1e-12)  # nested in the suite
    found = shares.dominance(replace(subsets, chance=0 * subsets.chance))
    complete = found[found["term"] == "complete"].set_index("contrast")["estimate"]
    assert complete.to_dict() == oracle("complete").to_dict()
    assert set(complete) == {0.0, 0.5, 1.0}
    found = shares.dominance(subsets_with([0, 0.3, 0.1 + 0.2, 0.4]))
    assert found["estimate"].tolist() == [0.5] * 2


def test_two_blocks_by_hand():
    # A 2x2 design twice: y = 3a + b + noise orthogonal to both; total ss 8 * (9 + 1 + 1) = 88.
    a, b = np.tile([-1, -1, 1, 1], 2), np.tile([-1, 1, -1, 1], 2)
    noise = np.repeat([-1, 1], 4)
    rows = pd.DataFrame({"a": a, "b": b, "gain": 3 * a + b + noise})
    result = shares.shapley(subsets_of(rows, {"first": ["a"], "second": ["b"]}))
    np.testing.assert_allclose(result["share"], [9 / 11, 1 / 11], rtol=1e-14)
    np.testing.assert_allclose(result["chance_share"], [1 / 7, 1 / 7], rtol=1e-14)
    assert result["n_groups"].tolist() == [8, 8]
    # Subsets: none, first, second, both.
    expected = [[-0.5, 0.5, -0.5, 0.5], [-0.5, -0.5, 0.5, 0.5]]
    np.testing.assert_array_equal(shares.shapley_weights(2), expected)
    # R squared: none 0, a 0.3, b 0.2, both 0.4.
    found = shares.unique_and_alone(subsets_with([0, 0.3, 0.2, 0.4]))
    by_hand = found.set_index(["block", "term"])["share"]
    assert by_hand["a", "unique"] == pytest.approx(0.2)
    assert by_hand["a", "alone"] == pytest.approx(0.3)
    assert by_hand["b", "unique"] == pytest.approx(0.1)


def test_chance_is_what_a_shuffled_response_gives_and_failures_are_counted(subsets):
    rng = np.random.default_rng(3)
    drawn = np.array(
        [
            subsets_of(models.assign(gain=rng.permutation(models["gain"])), n_resamples=1).r_squared
            for _ in range(100)
        ]
    )
    error = drawn.std(axis=0) / 10
    assert (np.abs(drawn.mean(axis=0) - subsets.chance) <= 4 * error + 1e-12).all()
    rows = pd.DataFrame(
        {"lab": list("aabbcc"), "density": [1.0, 2, 4, 3, 5, 9], "gain": [1.0, 1, 1, 1, 2, 3]}
    )
    result = shares.shapley(subsets_of(rows, {"geometry": ["density"]}, n_resamples=999))
    # The third lab is missed with probability (2/3)^3.
    assert result["n_failed"].iloc[0] / 999 == pytest.approx(8 / 27, abs=0.045)


def test_chance_of_a_resample_counts_repeated_rows():
    # Rows repeat in a resample of single ones, of which one column explains a larger share.
    twice = pd.DataFrame({"half": list("abcd") * 2, "x": [1.0, 2, 4, 9] * 2, "gain": range(8)})
    found = subsets_of(twice, {"x": ["x"]}, n_resamples=2000)
    assert found.chance[1] == pytest.approx(1 / 7)
    rng = np.random.default_rng(2)
    noise = rng.standard_normal((4000, 8))
    resample = rng.integers(8, size=(4000, 8))
    x = twice["x"].to_numpy()[resample]
    y = np.take_along_axis(noise, resample, axis=1)
    x, y = (values - values.mean(axis=1, keepdims=True) for values in (x, y))
    varies = (x**2).sum(axis=1) > 0
    explained = (x * y).sum(axis=1)[varies] ** 2 / (x**2).sum(axis=1)[varies]
    simulated = explained.sum() / (y**2).sum(axis=1)[varies].sum()
    assert np.nanmean(found.chance_replicates[:, 1]) == pytest.approx(simulated, abs=0.015)
    assert simulated > 1.3 / 7


def test_differences_and_chosen_blocks_come_from_the_same_resamples(subsets):
    three = subsets_of(blocks=THREE, n_resamples=199)
    pairs = shares.differences(three)
    assert pairs["contrast"].tolist() == ["lab - geometry", "lab - scale", "geometry - scale"]
    lab, geometry, scale = shares.shapley(three)["share"]
    by_hand = [lab - geometry, lab - scale, geometry - scale]
    np.testing.assert_allclose(pairs["estimate"], by_hand, atol=1e-14)
    # Six columns against two, six against one, two against one, of 23 degrees of freedom.
    np.testing.assert_allclose(pairs["null_value"], [4 / 23, 5 / 23, 1 / 23], rtol=1e-12)
    assert (pairs["conf_low"] < pairs["estimate"]).all()
    assert (pairs["estimate"] < pairs["conf_high"]).all()
    chosen = ["scale", "lab", "geometry"]
    alone = subsets_of(blocks={name: BLOCKS[name] for name in chosen})
    found = select_blocks(subsets, chosen)
    assert found.names == alone.names
    np.testing.assert_allclose(found.r_squared, alone.r_squared, atol=1e-13)
    np.testing.assert_allclose(found.replicates, alone.replicates, atol=1e-12)
    np.testing.assert_allclose(found.chance_replicates, alone.chance_replicates, atol=1e-12)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 999), scale=st.sampled_from([1e-6, 1.0, 1e6]))
def test_shares_ignore_order_and_units_and_sum_to_r_squared(seed, scale):
    rng = np.random.default_rng(seed)
    rows = models.assign(gain=rng.normal(size=24))
    changed = rows.assign(gain=5 - scale * rows["gain"], density=rows["density"] * scale).sample(
        frac=1, random_state=seed
    )
    reordered = {"scale": THREE["scale"], "lab": THREE["lab"], "geometry": ["layers", "density"]}
    plain = shares.shapley(subsets_of(rows, THREE, n_resamples=39)).set_index("block")
    other = shares.shapley(subsets_of(changed, reordered, n_resamples=39)).set_index("block")
    np.testing.assert_allclose(plain["share"], other.loc[plain.index, "share"], atol=1e-9)
    assert plain["share"].sum() == pytest.approx(plain["r_squared"].iloc[0], rel=1e-12)
    assert (plain["share"] > -1e-12).all()


def test_dominance_is_stated_only_when_the_resamples_agree():
    known = subsets_with([0, 0.3, 0.2, 0.4])
    sure = shares.dominance(known)
    assert sure["estimate"].tolist() == [1.0, 1.0]
    assert sure["holds"].tolist() == [True, True]
    replicates = known.replicates.copy()
    replicates[:10] = [0, 0.2, 0.3, 0.4]
    unsure = shares.dominance(replace(known, replicates=replicates))
    np.testing.assert_allclose(unsure["probability"], 89 / 99)
    assert unsure["holds"].isna().all()
    # Raw a leads, 0.3 to 0.2; net of 0.25 and 0.05 b leads, 0.15 to 0.05.
    chance = np.array([0, 0.25, 0.05, 0.3])
    known = replace(
        subsets_with([0, 0.3, 0.2, 0.4]), chance=chance, chance_replicates=np.tile(chance, (99, 1))
    )
    assert shares.dominance(known)["estimate"].tolist() == [0.0, 0.0]


def test_designs_without_an_answer_are_refused():
    for blocks, error in (
        ({"a": ["density"], "b": ["density", "layers"]}, ColumnError),
        ({"a": ["gain"]}, ColumnError),
        ({"model": ["model_id"]}, DesignError),  # saturated
        ({"nothing": []}, DesignError),
    ):
        with pytest.raises(error):
            subsets_of(blocks=blocks)
    with pytest.raises(DesignError, match="'density' must vary"):
        subsets_of(models.assign(density=1.0))
    with pytest.raises(DesignError):
        shares.differences(subsets_of(blocks={"a": ["density"]}))


def test_a_lead_must_clear_zero_and_what_chance_gives():
    # Of 39 leads four are below 0.1 and one of these below zero.
    replicates = np.array([-0.1, 0.02, 0.05, 0.09, *np.linspace(0.2, 0.5, 35)])
    for sign in (1, -1):
        assert shares.chance_p(sign * replicates, sign * 0.1) == pytest.approx(2 * 5 / 40)
        assert shares.chance_p(sign * replicates, -sign * 0.1) == pytest.approx(2 * 2 / 40)
    replicates = np.array([0.3] * 30 + [0.0] * 10)
    noise = np.random.default_rng(3).uniform(-1e-15, 1e-15, (20, 40))
    for sign in (1, -1):
        p_values = shares.chance_p(sign * (replicates + noise).T, 0.0)
        np.testing.assert_array_equal(p_values, 2 * 11 / 41)


def alone(columns, response, rows):
    """Return 1 less the residual share of least squares with a constant."""
    outcome = response[rows] - response[rows].mean()
    design = np.column_stack([np.ones(len(rows)), columns[rows]])
    residual = outcome - design @ np.linalg.lstsq(design, outcome)[0]
    return 1 - residual @ residual / (outcome @ outcome)


def test_each_sample_has_the_r_squared_of_its_own_fit():
    rng = np.random.default_rng(3)
    numbers, dummies = rng.normal(size=(20, 2)), np.eye(4)[rng.integers(4, size=20)]
    blocks = [numbers, dummies, numbers @ [[1.0], [2.0]] + dummies[:, :1]]
    subsets = [
        np.column_stack([np.empty((20, 0)), *(blocks[block] for block in chosen)])
        for chosen in ([], [0], [1], [0, 1], [2], [0, 2], [1, 2], [0, 1, 2])
    ]
    response = rng.normal(size=20)
    samples = [rng.integers(20, size=size) for size in rng.integers(12, 20, size=50)]
    found = explained.r_squared(blocks, response, samples)
    expected = [[alone(columns, response, rows) for columns in subsets] for rows in samples]
    assert found == pytest.approx(np.array(expected), abs=1e-12)
    response = np.array([1.0, 2.0, 3.0])
    samples = [np.array([1, 1, 1]), np.array([0, 1, 2])]
    found = explained.r_squared([response[:, None]], response, samples)
    assert np.isnan(found[0]).all()
    assert found[1, 1] == pytest.approx(1)
