"""The fleet: its band of chance, sizes, shares with a recipe left out, and lengths of training."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.heritage.study import fleet, horizons, ladder, registered
from tests.analysis.heritage.study.simulated import VALUES, filled, packages


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


def test_shares_and_sizes_of_the_fleet_are_those_of_its_runs(simulated_fleet):
    result = fleet.response_shares(simulated_fleet, rng=np.random.default_rng(1))
    assert set(result["response"]) == {"excess", "last_log_gain"}
    expected = registered.fleet_shares(
        simulated_fleet, "equal steps", "excess", np.random.default_rng(1)
    )
    first = result[result["response"] == "excess"]
    assert first["estimate"].tolist() == expected["estimate"].tolist()
    order = fleet.recipe_runs(simulated_fleet)["recipe"].drop_duplicates()
    assert list(order) == sorted(VALUES, key=lambda name: VALUES[name])
    expected = {"smallest": 1, "largest": 1, "n_steps": 10, "n_bytes": 10 * 8 * 192}
    assert fleet.sizes(simulated_fleet).to_dict() == expected


def test_each_share_is_the_registered_one_of_the_recipes_that_are_left(tmp_path):
    runs = packages(np.random.default_rng(5))
    result = fleet.without_each_recipe(filled(tmp_path / "all", runs), "excess", "equal steps")
    remaining = [run for run in runs if run["levels"]["recipe"] != "opt"]
    expected = registered.fleet_shares(
        filled(tmp_path / "kept", remaining), "equal steps", "excess", np.random.default_rng(1)
    )
    whole = expected[(expected["method"] == "F inversion, joint") & (expected["term"] == "recipe")]
    without = result[result["level"] == "opt"]
    for name in ("estimate", "conf_low", "conf_high"):
        assert without[name].item() == pytest.approx(whole[name].item())


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


def test_the_ladder_asks_for_learning_and_for_forgetting():
    rows = []
    for length, moved, reached in (("steps_400", 1.0, False), ("steps_1200", 0.05, True)):
        for seed, value in ((0, 0.0), (1, 0.1)):
            plain = {"sigma": "as said", "excess": value, "seed": seed, "reached": reached}
            rows.append({"length": length, "of_recipe": "opt", **plain})
        half = {"sigma": "half", "excess": 0.05 + moved, "seed": 0, "reached": reached}
        rows.append({"length": length, "of_recipe": "opt", **half})
    result = ladder.lengths(pd.DataFrame(rows).iloc[::-1])
    assert result["term"].tolist() == ["steps_400", "steps_1200"]
    assert result["holds"].tolist() == [False, True]
    assert result["sd"].tolist() == pytest.approx([0.1 / 2**0.5] * 2)
    assert result["estimate"].tolist() == pytest.approx([1.0, 0.05])
    unmoved = ladder.lengths(pd.DataFrame(rows).query("sigma == 'as said'"))
    assert unmoved["estimate"].isna().all()
    assert not unmoved["holds"].any()
