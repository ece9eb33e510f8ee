"""The full table of sizes is printed by ``python -m tests.benchmarks.inference_size``."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.inference.association import regression
from tests.benchmarks import inference_size

N = 100

rows = inference_size.models()


def deviations(rejected: list[bool], expected: float) -> float:
    """Return how many Monte-Carlo standard errors a share lies above what is expected."""
    return float(
        (np.mean(rejected) - expected) / np.sqrt(expected * (1 - expected) / len(rejected))
    )


@pytest.mark.slow
def test_the_permutation_of_labs_rejects_as_often_as_its_assignments_allow() -> None:
    # Labels drawn anew: one of 35 assignments is the most extreme, so p <= .05 once in 35.
    rng = np.random.default_rng(1)
    rejected = []
    for _ in range(N):
        marked = rng.permutation(inference_size.HERITAGE)
        drawn = rows.assign(
            heritage=marked[rows["lab"].str[3:].astype(int)],
            y=inference_size.response(rows, 0.3, rng),
        )
        p_value = inference_size.permuted(drawn, "lab")["p_value"].iloc[0]
        rejected.append(p_value <= 0.05)
    assert abs(deviations(rejected, 1 / 35)) < 3


@pytest.mark.slow
def test_cr2_keeps_its_size_for_a_predictor_that_varies_within_labs() -> None:
    rng = np.random.default_rng(2)
    rejected = []
    for _ in range(N):
        drawn = rows.assign(y=inference_size.response(rows, 0.3, rng))
        tidy = regression.fit(drawn, "y ~ density", cluster="lab").tidy().set_index("term")
        rejected.append(tidy.loc["density", "p_value"] <= 0.05)
    assert deviations(rejected, 0.05) < 3


@pytest.mark.slow
def test_models_taken_as_independent_reject_too_often_when_labs_are_alike() -> None:
    # What the table is for: the same t test, its size right and then far from right.
    sizes = {}
    for world, lab_deviation in inference_size.WORLDS.items():
        rng = np.random.default_rng(3)
        sizes[world] = [
            inference_size.t_test(rows.assign(y=inference_size.response(rows, lab_deviation, rng)))
            <= 0.05
            for _ in range(100)
        ]
    assert abs(deviations(sizes["independent"], 0.05)) < 3
    assert deviations(sizes["labs alike"], 0.05) > 3
