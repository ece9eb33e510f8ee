"""The slope on depth, split into depth's own part and that of the learning rate."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from analysis.heritage.study import slope
from analysis.tidy.errors import DesignError


def test_the_slope_is_split_into_depths_part_and_the_rates() -> None:
    runs = pd.DataFrame(
        [
            {"n_layers": n, "learning_rate": rate, "decay_turns": turns}
            for n in (3, 6, 12)
            for rate in (5e-4, 4e-3)
            for turns in (0.1, 4.0)
        ]
    )
    logs = np.log(runs)
    noise = np.random.default_rng(8).normal(0, 1e-6, len(runs))
    runs["y"] = 1 - 0.05 * logs["n_layers"] + 0.1 * logs["learning_rate"] + noise
    found = slope.slopes(runs, "y").set_index("term")["estimate"]
    assert found["depth's own part"] == pytest.approx(-0.05, abs=1e-4)
    assert found["rate's part"] == pytest.approx(-0.12, abs=1e-4)
    assert found["slope a suite would show"] == pytest.approx(-0.17, abs=1e-4)
    with pytest.raises(DesignError, match="vary apart"):
        slope.slopes(runs[runs["decay_turns"] == 0.1], "y")
    with pytest.raises(DesignError, match="vary apart"):
        slope.slopes(runs.iloc[[0, 1, 2, 4]], "y")  # four runs leave no error
    # A slope and its negative are as sure.
    p_values = [slope.slopes(runs.assign(y=sign * noise), "y")["p_value"] for sign in (1, -1)]
    assert p_values[0].to_numpy() == pytest.approx(p_values[1].to_numpy())
