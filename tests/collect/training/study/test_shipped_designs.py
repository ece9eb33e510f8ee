"""The shipped designs are what the study's registration says of them."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from collect.training.study.design import read_design
from collect.training.study.plan import runs

STUDY = Path(__file__).resolve().parents[4] / "data" / "study"


@pytest.mark.parametrize("path", sorted(STUDY.glob("*.toml")), ids=lambda path: path.stem)
def test_every_design_can_be_planned_and_is_named_as_its_file(path):
    design = read_design(path)
    planned = runs(design)
    assert design.head.name == path.stem
    assert len({run.run_id for run in planned}) == len(planned) > 0
    assert all(run.recipe.schedule.checkpoints[0] == 0 for run in planned)
    assert all(run.recipe.schedule.checkpoints[-1] == run.recipe.schedule.steps for run in planned)


def test_the_screening_is_orthogonal_and_clears_its_main_effects():
    fraction = read_design(STUDY / "ingredients.toml").fraction
    assert fraction is not None
    signs = fraction.columns()
    assert signs.shape == (32, 16)
    assert np.array_equal(signs.T @ signs, 32 * np.eye(16))
    products = [one * other for one, other in itertools.combinations(signs.T, 2)]
    assert not np.any(np.abs(np.array(products) @ signs) == 32)  # resolution IV at least


def test_no_check_of_the_screening_is_one_of_its_own_cells():
    screened, check = (
        read_design(STUDY / f"{name}.toml") for name in ("ingredients", "ingredients_check")
    )
    first = {factor: next(iter(levels)) for factor, levels in screened.factors.items()}
    cells = [dict(cell.levels) for cell in screened.cells()]
    others = [{**first, **cell.levels} for cell in check.cells()]
    assert len(others) == 8
    assert not any(other == cell for other in others for cell in cells)
    assert screened.base["family"] == check.base["family"] == "glm"
