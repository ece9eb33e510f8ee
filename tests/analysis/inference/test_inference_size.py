"""The full table of sizes is printed by ``python -m tests.benchmarks.inference_size``."""

import numpy as np
import pytest

from tests.benchmarks import inference_size


@pytest.mark.slow
def test_models_taken_as_independent_reject_too_often_when_labs_are_alike():
    # What the table is for: the same t test, its size right and then far from right.
    shares = {}
    for world, deviation in inference_size.WORLDS.items():
        result = inference_size.p_values(deviation, 100, 2)
        assert all(0 <= p <= 1 for values in result.values() for p in values)
        shares[world] = np.mean(np.array(result["t test"]) <= 0.05)
    # Three Monte-Carlo standard errors at a nominal 0.05 are 0.065.
    assert shares["independent"] < 0.115 < shares["labs alike"]
