"""Whether the seed moves all cells alike, and what it does to the intervals where it does not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from analysis.heritage.study import shares
from analysis.tidy.errors import DesignError

CELLS = 32


def runs(spread: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    """Return two runs of each cell, the seed moving them by a spread of its own."""
    place = np.arange(CELLS)
    cells = pd.DataFrame(
        {"cell": place, "recipe": np.repeat(["opt", "pythia"], CELLS // 2), "n_layers": 12}
    ).assign(d_model=64)
    both = pd.concat([cells, cells], ignore_index=True)
    return both.assign(excess=np.tile(spread, 2) * rng.normal(size=2 * CELLS))


def test_cells_that_the_seed_moves_most_are_found_and_named() -> None:
    spread = np.ones(CELLS)
    spread[[3, 20]] = 9.0
    rng = np.random.default_rng(5)
    uneven = runs(spread, rng)
    found = shares.seeds_apart(uneven, rng=rng)
    apart = uneven.groupby("cell")["excess"].agg(np.ptp)
    assert found.mean_difference == pytest.approx(apart.mean())
    assert sorted(found.noisiest["cell"]) == [3, 20]
    assert found.share == pytest.approx((apart**2)[[3, 20]].sum() / (apart**2).sum())
    assert found.p_value < 0.01
    assert found.n_cells == CELLS
    assert set(found.noisiest["recipe"]) == {"opt", "pythia"}
    even = shares.seeds_apart(runs(np.ones(CELLS), rng), rng=rng)
    assert even.p_value > 0.05
    with pytest.raises(DesignError, match="More than 2 cells must have two runs"):
        shares.seeds_apart(uneven[uneven["cell"] < 2], rng=rng)


def test_unequal_seeds_shorten_the_interval_of_chance_alone() -> None:
    """As in the fleet: 8 recipes in 4 shapes, two cells with two thirds of the variance."""
    rng = np.random.default_rng(6)
    effects = rng.normal(0, 0.6, (8, 1)) + rng.normal(0, 0.1, (1, 4)) + rng.normal(0, 0.2, (8, 4))
    spread = np.full((8, 4), 0.04)
    spread[6:, 1] = 0.19
    squares = [(e**2).mean() for e in _parts(effects)]
    truth = np.array([*squares, (spread**2).mean()]) / (sum(squares) + (spread**2).mean())
    held = []
    for _ in range(150):
        values = effects[:, :, None] + spread[:, :, None] * rng.normal(size=(8, 4, 2))
        found = shares.sources(values, "recipe", shares.GEOMETRY)
        ends = np.array(shares.joint_intervals(found, values.size, 0.95))
        held.append((ends[:, 0] <= truth) & (truth <= ends[:, 1]))
    covered = np.mean(held, axis=0)
    assert (covered[:3] >= 0.98).all()
    assert covered[3] < 0.85


def _parts(effects: np.ndarray) -> list[np.ndarray]:
    of_row = effects.mean(axis=1, keepdims=True) - effects.mean()
    of_column = effects.mean(axis=0, keepdims=True) - effects.mean()
    return [of_row, of_column, effects - effects.mean() - of_row - of_column]
