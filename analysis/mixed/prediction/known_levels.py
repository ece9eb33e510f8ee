"""The random effects of new rows whose levels were fitted, by the modes of those levels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.mixed.algebra.design import Block, design_columns, matrix_of
from analysis.mixed.algebra.specification import Specification
from analysis.mixed.reading.statistics import Statistics, level_places
from analysis.tidy.frame import Floats, Integers


@dataclass(frozen=True, slots=True)
class KnownEffects:
    """The random effects of n rows; a level that was not fitted has none, and its whole variance.

    Attributes
    ----------
    part
        Sum of the modes' effects, shape (n,).
    variances
        Variance of the effects of levels that were not fitted, shape (n,).
    notes
        Per row, the groups whose level was not fitted.
    columns
        Per group the columns of the effects, zero where the level was not fitted, shape (n, k).
    levels
        Per group the level of every row, the first where it was not fitted, shape (n,).
    new_columns
        Per group the columns of the effects, zero where the level was fitted, shape (n, k).
    """

    part: Floats
    variances: Floats
    notes: list[str]
    columns: list[Floats]
    levels: list[Integers]
    new_columns: list[Floats]


def known_effects(
    model: Specification,
    groups: Iterable[tuple[Block, Floats, Floats]],
    points: Statistics,
    rows: pd.DataFrame | None,
) -> KnownEffects:
    """Return the random effects of new rows.

    Parameters
    ----------
    model
        The fit.
    groups
        Every group with the covariance of its effects and their modes, shape (levels, k).
    points
        The rows' factors and numbers.
    rows
        The rows, for the levels of the groups; None for levels that are all new.
    """
    n = len(points.counts)
    known = KnownEffects(np.zeros(n), np.zeros(n), [""] * n, [], [], [])
    for block, covariance, modes in groups:
        columns = effects_at(model, block, points)
        level = np.full(n, -1) if rows is None else _levels_at(model, block, rows)
        new = level < 0
        known.part[:] += np.where(new, 0.0, np.einsum("nk,nk->n", columns, modes[level]))
        known.variances[:] += np.where(new, quadratic(columns, covariance), 0.0)
        for row in np.flatnonzero(new) if rows is not None else ():
            note = f"{known.notes[row]} A level of {block.group} was not fitted."
            known.notes[row] = note.strip()
        known.columns.append(np.where(new[:, None], 0.0, columns))
        known.levels.append(np.where(new, 0, level))
        known.new_columns.append(np.where(new[:, None], columns, 0.0))
    return known


def effects_at(model: Specification, block: Block, points: Statistics) -> Floats:
    """Return the columns of a group's effects at every point, shape (n, k)."""
    return matrix_of(
        column
        for term in model.formula.random
        if term.group_name == block.group
        for column in design_columns(term.left, points, model.contrasts)[0]
    )


def _levels_at(model: Specification, block: Block, rows: pd.DataFrame) -> Integers:
    """Return the level of every row in a group, -1 where it was not fitted."""
    names = block.group.split(":")
    factors = [model.statistics.factors[name] for name in names]
    cells = np.unique(block.codes, return_index=True)[1]
    fitted = zip(*(factor.codes[cells] for factor in factors), strict=True)
    position = {places: level for level, places in enumerate(fitted)}
    asked = (
        level_places(rows[name], factor.levels) for name, factor in zip(names, factors, strict=True)
    )
    places = [position.get(places, -1) for places in zip(*asked, strict=True)]
    return np.array(places, dtype=np.intp)


def quadratic(columns: Floats, covariance: Floats) -> Floats:
    """Return the variance of every row's sum of effects, shape (n,)."""
    return np.asarray(np.einsum("ni,ij,nj->n", columns, covariance, columns), dtype=np.float64)
