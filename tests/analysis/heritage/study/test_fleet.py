"""The fleet: its band of chance, its sizes and its shares."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.heritage.study import fleet, registered
from tests.analysis.heritage.study.simulated import VALUES


def test_chance_is_the_spread_within_cells_and_shapes_count_once_half_are_complete():
    runs = pd.DataFrame(
        [
            {"cell": f"{recipe}/{shape}", "recipe": recipe, "geometry": shape, "excess": value}
            for recipe, shape, *values in (
                ("a", "l3d64", 1.0, 1.2), ("a", "l12d64", 1.0, 1.0), ("b", "l3d64", 3.0, 3.2),
                ("b", "l3d128", 3.0),
            )
            for value in values
        ]
    )  # fmt: skip
    band = fleet.band_of_chance(runs)
    assert (band.df, band.sd) == (3, pytest.approx(np.sqrt(0.04 / 3)))
    assert band.middle == pytest.approx((1.05 + 9.2 / 3) / 2)
    assert band.high - band.middle == pytest.approx(stats.t.ppf(0.975, 3) * band.sd)


def test_shares_of_the_fleet_are_the_registered_ones_once_all_shapes_are_there(simulated_fleet):
    result = fleet.response_shares(simulated_fleet, rng=np.random.default_rng(1))
    assert set(result["response"]) == {"excess", "last_log_gain"}
    expected = registered.fleet_shares(
        simulated_fleet, "equal steps", "excess", np.random.default_rng(1)
    )
    first = result[result["response"] == "excess"]
    assert first["estimate"].tolist() == expected["estimate"].tolist()
    order = fleet.recipe_runs(simulated_fleet)["recipe"].drop_duplicates()
    assert list(order) == sorted(VALUES, key=lambda name: VALUES[name])


def test_the_fleet_is_as_large_as_its_runs(simulated_fleet):
    expected = {"smallest": 1, "largest": 1, "n_steps": 10, "n_bytes": 10 * 8 * 192}
    assert fleet.sizes(simulated_fleet).to_dict() == expected
