"""New rows as points at which a fitted model is asked, and what a row lacks to be one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.mixed.algebra.design import is_factor
from analysis.mixed.algebra.specification import Specification
from analysis.mixed.frames.grid import codes_of, points_at
from analysis.mixed.reading.expression import Expression, shown, translate
from analysis.mixed.reading.plan import factor_column
from analysis.mixed.reading.source import Source, open_source
from analysis.mixed.reading.statistics import Factor, Statistics, level_label, level_places
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

    Parameters
    ----------
    model
        The fit.
    rows
        The new rows.
    of_whole
        The predictions, with a `note`, of rows that lack nothing.
    groups
        ``new`` or ``known``.
    conf_level
        Nominal coverage of the intervals.
    reference
        The distribution that the intervals are from.
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
    return points_at(factors, numbers, len(rows))


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
