"""The unit that is exchanged is the caller's choice; the smallest p is always in the frame."""

from __future__ import annotations

from math import comb
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.inference.resampling import permutation
from analysis.tidy.errors import DesignError

models = pd.read_csv(Path(__file__).parents[3] / "r" / "models.csv")

#: Two models by six prompts, three of which are long; the response is the number of the cell.
prompts = pd.DataFrame(
    {
        "model_id": np.repeat(["m01", "m02"], 6),
        "prompt_id": np.tile([f"S:{number:02d}" for number in range(6)], 2),
        "kind": np.tile(["long", "long", "long", "short", "short", "short"], 2),
        "gain": np.arange(12.0),
    }
)


def heritage_difference(rows: pd.DataFrame) -> float:
    return float(rows.groupby("heritage")["gain"].mean().diff().iloc[-1])


def kind_difference(rows: pd.DataFrame) -> float:
    means = rows.groupby("kind")["gain"].mean()
    return float(means["short"] - means["long"])


@pytest.mark.parametrize("unit", ["lab", "suite", "model_id"])
def test_labels_can_be_exchanged_between_labs_suites_or_models(unit: str) -> None:
    row = permutation.permutation_test(
        models,
        heritage_difference,
        label="heritage",
        unit=unit,
        rng=np.random.default_rng(1),
        n_permutations=99,
    ).iloc[0]
    units = models.drop_duplicates(unit)
    ways = comb(len(units), int(units["heritage"].sum()))
    assert row["n_groups"] == len(units)
    assert row["n_permutations"] == (ways if ways <= permutation.MOST_ENUMERATED else 99)
    least = 1 / ways if ways <= permutation.MOST_ENUMERATED else 1 / 100
    assert row["p_value"] >= row["smallest_p"] >= least


def test_labels_can_be_exchanged_between_prompts() -> None:
    row = permutation.permutation_test(
        prompts, kind_difference, label="kind", unit="prompt_id"
    ).iloc[0]
    # The three last of six prompts stand against the three first: the most extreme of 20, twice.
    assert row["estimate"] == 3
    assert row["n_permutations"] == 20
    assert row["p_value"] == row["smallest_p"] == 2 / 20


def test_a_larger_unit_allows_fewer_assignments_and_a_larger_smallest_p() -> None:
    def smallest(unit: str) -> float:
        rows = models.groupby("lab").head(2)
        result = permutation.permutation_test(
            rows, heritage_difference, label="heritage", unit=unit
        )
        return float(result["smallest_p"].iloc[0])

    assert smallest("lab") >= 1 / 35
    assert smallest("model_id") < smallest("lab")


def test_a_unit_within_which_the_label_varies_is_refused() -> None:
    with pytest.raises(DesignError, match="must be constant within each 'model_id'"):
        permutation.permutation_test(prompts, kind_difference, label="kind", unit="model_id")
