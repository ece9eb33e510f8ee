"""The share of the recipe with each recipe left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from analysis.heritage.study import fleet, registered
from tests.analysis.heritage.study.simulated import RECIPES, filled, packages


def _recipe(run: dict[str, object]) -> str:
    levels = run["levels"]
    assert isinstance(levels, dict)
    return str(levels["recipe"])


def test_a_share_that_one_recipe_makes_is_gone_without_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    runs = [
        {**run, "excess": 5.0 * (_recipe(run) == "bloom") + rng.normal(0, 0.1)}
        for run in packages(rng)
    ]
    found = fleet.without_each_recipe(filled(tmp_path, runs), "excess", "equal steps")
    assert sorted(found["level"]) == sorted(RECIPES)
    least = found.iloc[0]
    assert least["level"] == "bloom"
    assert least["estimate"] < 0.5
    assert not least["holds"]
    assert found["holds"].iloc[1:].all()
    assert (found["n_groups"] == len(RECIPES) - 1).all()


def test_each_share_is_the_registered_one_of_the_recipes_that_are_left(tmp_path: Path) -> None:
    runs = packages(np.random.default_rng(5))
    found = fleet.without_each_recipe(filled(tmp_path / "all", runs), "excess", "equal steps")
    kept = [run for run in runs if _recipe(run) != "opt"]
    expected = registered.fleet_shares(
        filled(tmp_path / "kept", kept), "equal steps", "excess", np.random.default_rng(1)
    )
    whole = expected[(expected["method"] == "F inversion, joint") & (expected["term"] == "recipe")]
    without = found[found["level"] == "opt"]
    for name in ("estimate", "conf_low", "conf_high"):
        assert without[name].item() == pytest.approx(whole[name].item())
