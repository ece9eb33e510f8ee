"""Shares of R squared of subsets of blocks: commonality and dominance."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.inference.partition import commonality, dominance, partition
from analysis.inference.partition.subsets import Subsets, all_subsets, among
from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError, DesignError

R = Path(__file__).parents[3] / "r"

#: lm() eliminates by Householder rotations, ours projects on singular vectors.
AGREEMENT = 1e-11

BLOCKS = {
    "lab": ["lab"],
    "suite": ["suite"],
    "geometry": ["density", "layers"],
    "scale": ["log_parameters"],
}

models = pd.read_csv(R / "models.csv")
answers = pd.read_csv(R / "subsets.csv")


def subsets_of(
    rows: pd.DataFrame = models, blocks: partition.Blocks = BLOCKS, n_resamples: int = 99
) -> Subsets:
    return all_subsets(
        rows,
        response="gain",
        blocks=blocks,
        cluster="lab" if "lab" in rows else None,
        n_resamples=n_resamples,
        rng=np.random.default_rng(1),
    )


def subsets_with(values: list[float]) -> Subsets:
    """Subsets of two or three blocks with given R squared and no noise."""
    found = np.array(values)
    return Subsets(
        names=tuple("abc"[: int(np.log2(len(found)))]),
        r_squared=found,
        chance=np.zeros(len(found)),
        replicates=np.tile(found, (99, 1)),
        chance_replicates=np.zeros((99, len(found))),
        n_obs=20,
        n_groups=5,
    )


@pytest.fixture(scope="module")
def subsets() -> Subsets:
    return subsets_of()


def oracle(kind: str) -> pd.DataFrame:
    return answers[answers["kind"] == kind].reset_index(drop=True)


def test_components_agree_with_lm_on_every_subset(subsets: Subsets) -> None:
    found = commonality.components(subsets).set_index("block")["share"]
    expected = oracle("component").set_index("block")["share"]
    assert set(found.index) == set(expected.index)
    np.testing.assert_allclose(found[expected.index], expected, atol=AGREEMENT)


def test_conditional_and_general_dominance_agree_with_lm(subsets: Subsets) -> None:
    found = dominance.conditional(subsets)
    expected = oracle("conditional")
    assert found["block"].tolist() == expected["block"].tolist()
    assert found["size"].tolist() == expected["size"].tolist()
    np.testing.assert_allclose(found["share"], expected["share"], atol=AGREEMENT)
    general = dominance.general(subsets).set_index("block")["share"]
    expected = oracle("general").set_index("block")["share"]
    np.testing.assert_allclose(general[expected.index], expected, atol=AGREEMENT)


def test_complete_dominance_agrees_with_lm(subsets: Subsets) -> None:
    found = dominance.pairs(subsets, net_of_chance=False)
    complete = found[found["term"] == "complete"]
    expected = oracle("complete")
    assert complete["contrast"].tolist() == expected["block"].tolist()
    assert complete["estimate"].tolist() == expected["share"].tolist()
    assert set(expected["share"]) == {0.0, 0.5, 1.0}


def test_blocks_that_differ_by_their_rounding_alone_do_not_dominate() -> None:
    found = dominance.pairs(subsets_with([0, 0.3, 0.1 + 0.2, 0.4]), net_of_chance=False)
    assert found["estimate"].tolist() == [0.5] * 3
    assert set(found["note"]) == {"Neither dominates."}


def test_components_of_two_blocks_by_hand() -> None:
    # R squared: none 0, a 0.3, b 0.2, both 0.4. Only a: 0.2, only b: 0.1, both: 0.1.
    found = commonality.components(subsets_with([0, 0.3, 0.2, 0.4])).set_index("block")["share"]
    np.testing.assert_allclose(found[["a", "b", "a + b"]], [0.2, 0.1, 0.1], atol=1e-15)


def test_unique_and_common_of_two_blocks_by_hand() -> None:
    found = commonality.unique_and_common(subsets_with([0, 0.3, 0.2, 0.4]))
    shares = found.set_index(["block", "term"])["share"]
    expected = {("a", "unique"): 0.2, ("a", "common"): 0.1, ("a", "alone"): 0.3}
    for key, share in expected.items():
        assert shares[key] == pytest.approx(share, abs=1e-15)


def test_a_suppressor_has_a_negative_common_share() -> None:
    # b explains nothing alone, but clears noise from a.
    found = commonality.unique_and_common(subsets_with([0, 0.3, 0.0, 0.5]))
    assert found.set_index(["block", "term"])["share"]["b", "common"] == pytest.approx(-0.2)


@settings(max_examples=40, deadline=None)
@given(values=st.lists(st.floats(0, 1), min_size=7, max_size=7))
def test_components_of_a_block_sum_to_what_it_explains_alone(values: list[float]) -> None:
    drawn = subsets_with([0.0, *values])
    found = commonality.components(drawn)
    assert found["share"].sum() == pytest.approx(drawn.r_squared[-1], abs=1e-12)
    for position, name in enumerate(drawn.names):
        holding = found[found["block"].str.contains(name)]["share"].sum()
        assert holding == pytest.approx(drawn.r_squared[1 << position], abs=1e-12)


def test_a_block_nested_in_another_explains_nothing_uniquely(subsets: Subsets) -> None:
    shares = commonality.unique_and_common(subsets).set_index(["block", "term"])["share"]
    assert shares["lab", "unique"] == pytest.approx(0, abs=1e-12)
    assert shares["suite", "unique"] > 0.01


def test_general_dominance_is_the_shapley_share(subsets: Subsets) -> None:
    expected = partition.shapley(
        models,
        response="gain",
        blocks=BLOCKS,
        cluster="lab",
        n_resamples=99,
        rng=np.random.default_rng(1),
    )
    found = dominance.general(subsets)
    for column in ("share", "conf_low", "conf_high", "chance_share", "r_squared"):
        np.testing.assert_allclose(found[column], expected[column], atol=1e-10)


def test_conditional_shares_average_to_the_general_share(subsets: Subsets) -> None:
    mean = dominance.conditional(subsets).groupby("block", sort=False)["share"].mean()
    np.testing.assert_allclose(mean, dominance.general(subsets)["share"], atol=1e-14)


def test_chance_shares_are_those_of_a_shuffled_response(subsets: Subsets) -> None:
    rng = np.random.default_rng(3)
    drawn = np.array(
        [
            subsets_of(models.assign(gain=rng.permutation(models["gain"])), n_resamples=1).r_squared
            for _ in range(100)
        ]
    )
    error = drawn.std(axis=0) / np.sqrt(100)
    assert (np.abs(drawn.mean(axis=0) - subsets.chance) <= 4 * error + 1e-12).all()


def test_chance_of_a_resample_is_the_mean_over_fresh_noise() -> None:
    # Repeated rows leave fewer independent ones, of which one column explains a larger share.
    twice = pd.DataFrame({"half": list("abcd") * 2, "x": [1.0, 2, 4, 9] * 2, "gain": range(8)})
    found = all_subsets(
        twice, response="gain", blocks={"x": ["x"]}, n_resamples=2000, rng=np.random.default_rng(1)
    )
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


def test_dominance_is_stated_only_when_the_resamples_agree() -> None:
    known = subsets_with([0, 0.3, 0.2, 0.4])
    sure = dominance.pairs(known)
    assert sure["estimate"].tolist() == [1.0, 1.0, 1.0]
    assert sure["holds"].tolist() == [True, True, True]
    replicates = known.replicates.copy()
    replicates[:10] = [0, 0.2, 0.3, 0.4]
    unsure = dominance.pairs(replace(known, replicates=replicates))
    np.testing.assert_allclose(unsure["probability"], 89 / 99)
    assert unsure["holds"].isna().all()
    assert unsure["note"].str.contains("no ranking").all()


def test_what_noise_would_explain_is_subtracted_before_comparing() -> None:
    # Raw a leads, 0.3 to 0.2; net of 0.25 and 0.05 b leads, 0.15 to 0.05.
    chance = np.array([0, 0.25, 0.05, 0.3])
    known = replace(
        subsets_with([0, 0.3, 0.2, 0.4]), chance=chance, chance_replicates=np.tile(chance, (99, 1))
    )
    assert dominance.pairs(known)["estimate"].tolist() == [0.0, 0.0, 0.0]
    assert dominance.pairs(known, net_of_chance=False)["estimate"].tolist() == [1.0, 1.0, 1.0]


def test_complete_implies_conditional_implies_general(subsets: Subsets) -> None:
    wide = dominance.pairs(subsets).pivot_table(
        "estimate", index="contrast", columns="term", aggfunc="first"
    )
    for stronger, weaker in (("complete", "conditional"), ("conditional", "general")):
        decided = wide[wide[stronger] != 0.5]
        assert (decided[stronger] == decided[weaker]).all()


def test_noise_is_not_ranked_by_its_number_of_columns() -> None:
    rng = np.random.default_rng(6)
    rows = models.assign(gain=rng.standard_normal(24))
    blocks = {"suite": ["suite"], "scale": ["log_parameters"]}
    found = subsets_of(rows, blocks)
    assert found.r_squared[1] > found.r_squared[2]
    raw, net = dominance.pairs(found, net_of_chance=False), dominance.pairs(found)
    assert raw["estimate"].tolist() == [1.0, 1.0, 1.0]
    assert not net["holds"].eq(True).any()


def test_some_blocks_of_many_are_the_blocks_alone(subsets: Subsets) -> None:
    chosen = ["scale", "lab", "geometry"]
    alone = subsets_of(blocks={name: BLOCKS[name] for name in chosen})
    found = among(subsets, chosen)
    assert found.names == alone.names
    np.testing.assert_allclose(found.r_squared, alone.r_squared, atol=1e-13)
    np.testing.assert_allclose(found.replicates, alone.replicates, atol=1e-12)
    np.testing.assert_allclose(found.chance_replicates, alone.chance_replicates, atol=1e-12)


def test_an_unknown_block_is_refused(subsets: Subsets) -> None:
    with pytest.raises(DesignError, match=r"Blocks must be among .*found \['depth'\]"):
        among(subsets, ["depth"])


def test_one_block_dominates_nothing() -> None:
    with pytest.raises(DesignError, match="Dominance compares at least two blocks; found 1"):
        dominance.pairs(subsets_with([0, 0.3]))


def test_a_text_is_no_answer_to_whether_chance_is_taken_off(subsets: Subsets) -> None:
    with pytest.raises(AnalysisError, match="`net_of_chance` must be True or False; found 'no'"):
        dominance.pairs(subsets, net_of_chance="no")  # type: ignore[arg-type]


def test_the_same_seed_gives_the_same_frame() -> None:
    first, second = (commonality.components(subsets_of()) for _ in range(2))
    pd.testing.assert_frame_equal(first, second)
    glossary.checked(first.columns)
