"""New rows as points at which a fitted model is asked, and what a row lacks to be one.

Where their levels were fitted, their random effects are by the modes of those levels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.mixed.algebra.design import Block, design_columns, is_factor, matrix_of
from analysis.mixed.frames.grid import codes_of
from analysis.mixed.inference.fitted import Specification
from analysis.mixed.reading.expression import (
    Expression,
    level_label,
    level_places,
    shown,
    translate,
)
from analysis.mixed.reading.plan import factor_column
from analysis.mixed.reading.source import Source, open_source
from analysis.mixed.reading.statistics import Factor, Statistics
from analysis.tidy import glossary
from analysis.tidy.errors import ColumnError
from analysis.tidy.frame import (
    Floats,
    Integers,
    require_columns,
    require_conf_level,
    require_option,
)

#: Whether a prediction is for new levels of every group or for those that were fitted.
GROUPS = ("new", "known")
WORDS = {"new": "Fixed effects", "known": "Fixed effects and conditional modes"}


def predictions(
    model: Specification,
    rows: pd.DataFrame,
    of_whole: Callable[[pd.DataFrame], pd.DataFrame],
    *,
    groups: str,
    conf_level: float,
    reference: str,
) -> pd.DataFrame:
    """Return one row per new row: its prediction, or missing numbers and what it lacks.

    `of_whole` gives the predictions, with a `note`, of rows that lack nothing; the intervals are
    from the reference distribution.
    """
    require_conf_level(conf_level)
    require_option("groups", groups, GROUPS)
    require_columns(rows, ())
    if groups == "known":
        open_source(rows).require(name for term in model.formula.random for name in term.group)
    reasons = lacking(model, rows)
    whole = reasons == ""
    predicted = of_whole(rows[whole])
    placed = predicted.reindex(np.where(whole, np.cumsum(whole) - 1, -1)).set_axis(rows.index)
    return glossary.table(
        placed.drop(columns="note").assign(
            conf_level=conf_level,
            method=f"{WORDS[groups]}; {reference}",
            note=np.where(whole, placed["note"], reasons),
        )
    )


def given_points(model: Specification, rows: pd.DataFrame) -> Statistics:
    """Return a point per new row."""
    source = open_source(rows)
    known = model.statistics.factors
    factors, numbers = {}, {}
    for code in codes_of(model, *(term.left for term in model.formula.random)):
        if is_factor(code, model.statistics):
            name = factor_column(code)
            source.require([name])
            factors[name] = Factor(
                known[name].levels, known_places(rows[name], name, known[name].levels)
            )
        else:
            numbers[code] = values_at(translate(code), source)
    return Statistics.counted(factors, numbers, np.ones(len(rows)))


def lacking(model: Specification, rows: pd.DataFrame) -> NDArray[np.object_]:
    """Return why each new row cannot be predicted, empty where it can, shape (rows,)."""
    source = open_source(rows)
    reasons = np.full(len(rows), "", dtype=object)
    for code in codes_of(model, *(term.left for term in model.formula.random)):
        if is_factor(code, model.statistics):
            name = factor_column(code)
            source.require([name])
            reasons[rows[name].isna().to_numpy()] += f"{name!r} names no level. "
        else:
            unknown = ~np.isfinite(values_at(translate(code), source))
            reasons[unknown] += f"{shown(code)!r} is no finite number. "
    if model.formula.offset is not None:
        unknown = ~np.isfinite(values_at(model.formula.offset, source))
        reasons[unknown] += f"offset({model.formula.offset_text}) is no finite number. "
    notes = [f"No prediction: {each.strip()}" if each else "" for each in reasons]
    return np.array(notes, dtype=object)


def values_at(expression: Expression, source: Source) -> Floats:
    """Return an expression's value in every row."""
    source.require_numbers(expression.columns)
    table = source.query(f"SELECT {expression.sql} AS value FROM observations")
    return np.asarray(table.column("value").to_numpy(), dtype=np.float64)


def known_places(column: pd.Series, name: str, levels: tuple[str, ...]) -> Integers:
    """Return the level of every row, refusing those that were not fitted."""
    places = level_places(column, levels)
    unknown = sorted({level_label(each) for each in column[places < 0]})
    if unknown:
        raise ColumnError(
            f"Column {name!r} must hold levels that were fitted; {unknown} were not.",
            f"Fitted: {', '.join(levels)}.",
        )
    return places


@dataclass(frozen=True, slots=True)
class KnownEffects:
    """Random effects of n rows; a level that was not fitted has none, and its whole variance."""

    part: Floats  #: Sum of the modes' effects, shape (n,).
    variances: Floats  #: Variance of the effects of levels that were not fitted, shape (n,).
    notes: list[str]  #: Per row, the groups whose level was not fitted.
    #: Per group the columns of the effects, zero where the level was not fitted, shape (n, k).
    columns: list[Floats]
    #: Per group the level of every row, the first where it was not fitted, shape (n,).
    levels: list[Integers]
    #: Per group the columns of the effects, zero where the level was fitted, shape (n, k).
    new_columns: list[Floats]


def known_effects(
    model: Specification,
    groups: Iterable[tuple[Block, Floats, Floats]],
    points: Statistics,
    rows: pd.DataFrame | None,
) -> KnownEffects:
    """Return the random effects of new rows.

    Every group has the covariance of its effects and their modes, shape (levels, k); without rows
    all levels are new.
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
