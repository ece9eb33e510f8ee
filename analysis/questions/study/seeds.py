"""Whether the seed moves all cells of a study alike, as the intervals of its shares suppose.

Where it moves a few cells most, the shares of the factors keep their intervals, which are
conservative; that of chance is too short, for its degrees of freedom are fewer than counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats

#: How many of the cells that the seed moves most are named.
NAMED = 2

#: Draws from the distribution of cells that the seed moves alike.
DRAWS = 9999


@dataclass(frozen=True, slots=True)
class Seeds:
    """What the seed does to cells of two runs each.

    Attributes
    ----------
    mean_difference
        Between the two runs of a cell, on average over cells [unit of the response].
    n_cells
        How many cells have two runs.
    noisiest
        A run of each of the `NAMED` cells that the seed moves most.
    share
        Of the variance between seeds, what these cells hold.
    p_value
        Chance that it is as unevenly spread over cells, by the sum of their squared shares, if the
        seed moves all alike and normally.
    """

    mean_difference: float
    n_cells: int
    noisiest: pd.DataFrame
    share: float
    p_value: float


def seeds_apart(runs: pd.DataFrame, response: str = "excess", *, rng: np.random.Generator) -> Seeds:
    """Return how far runs of a cell lie apart, and whether that is alike in all cells.

    Parameters
    ----------
    runs
        One row per run: `cell` and the response.
    response
        Column of it.
    rng
        Draws the cells that are moved alike.

    Raises
    ------
    DesignError
        If no more than `NAMED` cells have two runs, or no two runs differ.
    """
    known = runs.dropna(subset=[response])
    grouped = known.groupby("cell")[response]
    apart = grouped.max()[grouped.size() == 2] - grouped.min()[grouped.size() == 2]
    if len(apart) <= NAMED or not apart.any():
        raise DesignError(
            f"More than {NAMED} cells must have two runs that differ; found {len(apart)} cells.",
            "Train the cells with another seed.",
        )
    shares = _shares(apart.to_numpy(dtype=float))
    drawn = _shares(rng.normal(size=(DRAWS, len(apart))))
    as_uneven = int(((drawn**2).sum(axis=1) >= (shares**2).sum()).sum())
    largest = apart.sort_values(ascending=False, kind="stable").index[:NAMED]
    return Seeds(
        float(apart.mean()),
        len(apart),
        known[known["cell"].isin(list(largest))].drop_duplicates("cell"),
        float(np.sort(shares)[-NAMED:].sum()),
        (1 + as_uneven) / (1 + DRAWS),
    )


def _shares(differences: Floats) -> Floats:
    """Return the share of each cell in the sum of the squared differences."""
    squares = differences**2
    return np.asarray(squares / squares.sum(axis=-1, keepdims=True))
