"""Where along its training a run is read, counted by hand."""

import pandas as pd
import pytest

from analysis.heritage.study import horizons


@pytest.fixture(scope="module")
def run():
    """Return three checkpoints, whose held-out loss falls by two from one to the next."""
    response = [0.0, 1.0, 3.0]
    return pd.DataFrame({"loss": [5.0, 3.0, 1.0], **dict.fromkeys(horizons.RESPONSES, response)})


@pytest.mark.parametrize(
    ("goal", "value"), [(5.0, 0.0), (4.5, 0.25), (3.0, 1.0), (1.5, 2.5), (1.0, 3.0)]
)
def test_at_equal_loss_a_response_lies_between_the_checkpoints_around_it(run, goal, value):
    expected = dict.fromkeys(horizons.RESPONSES, value)
    assert horizons.at_loss(run, goal) == {**expected, "loss": goal, "reached": True}


@pytest.mark.parametrize(("goal", "is_reached"), [(1.0, True), (0.9, False)])
def test_at_equal_steps_the_last_checkpoint_counts(run, goal, is_reached):
    result = horizons.at_last(run, goal)
    assert {result[name] for name in horizons.RESPONSES} == {3.0}
    assert (result["loss"], result["reached"]) == (1.0, is_reached)
