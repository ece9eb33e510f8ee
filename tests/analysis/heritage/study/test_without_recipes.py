"""The share of the recipe with each recipe left out."""

import numpy as np
import pytest

from analysis.heritage.study import fleet, registered
from tests.analysis.heritage.study.simulated import filled, packages


def _recipe(run):
    levels = run["levels"]
    assert isinstance(levels, dict)
    return str(levels["recipe"])


def test_each_share_is_the_registered_one_of_the_recipes_that_are_left(tmp_path):
    runs = packages(np.random.default_rng(5))
    result = fleet.without_each_recipe(filled(tmp_path / "all", runs), "excess", "equal steps")
    remaining = [run for run in runs if _recipe(run) != "opt"]
    expected = registered.fleet_shares(
        filled(tmp_path / "kept", remaining), "equal steps", "excess", np.random.default_rng(1)
    )
    whole = expected[(expected["method"] == "F inversion, joint") & (expected["term"] == "recipe")]
    without = result[result["level"] == "opt"]
    for name in ("estimate", "conf_low", "conf_high"):
        assert without[name].item() == pytest.approx(whole[name].item())
