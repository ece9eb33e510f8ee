"""Successes and trials per cell: all that a binary response tells of the odds.

Rows that agree in every factor and every number of a model have one probability. Their
likelihood depends on them through how many there are and how many succeeded (McCullagh and
Nelder 1989, Generalized Linear Models, section 4.2), so that one GROUP BY collects it.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from analysis.mixed.reading.collect import factor_of, require_levels
from analysis.mixed.reading.expression import Expression, quoted
from analysis.mixed.reading.formula import MixedFormula
from analysis.mixed.reading.plan import plan
from analysis.mixed.reading.source import DECIDE, Source
from analysis.mixed.reading.statistics import Statistics
from analysis.tidy.errors import ColumnError, DesignError
from analysis.tidy.frame import LARGEST, Floats


def count_trials(formula: MixedFormula, source: Source) -> Statistics:
    """Return the cells of a binary response; their products are trials and successes.

    One cell per combination of factor levels and numbers. Every number is constant in its cell; the
    offset, where there is one, is among them under `offset_name`.
    """
    needed = plan(formula, source)
    numbers = dict(needed.numbers)
    if formula.offset is not None:
        numbers[offset_name(formula.offset)] = formula.offset
    cells = source.query(_trials_sql(needed.factors, numbers, formula.response))
    trials = cells.column("trials").to_numpy()
    successes = cells.column("successes").to_numpy()
    _require_binary(cells, trials, successes, formula.response.text)
    keys = {name: cells.column(f"k{place}") for place, name in enumerate(needed.factors)}
    for name, column in keys.items():
        require_levels(column, name, trials)
    constants = {
        name: _finite(cells.column(f"number{place}"), name, trials)
        for place, name in enumerate(numbers)
    }
    factors = {name: factor_of(column) for name, column in keys.items()}
    return Statistics.counted(
        factors,
        constants,
        trials,
        successes,
        response=formula.response.text,
        offset=formula.offset_text,
    )


def offset_name(offset: Expression) -> str:
    """Return the name of the offset among the numbers of a cell."""
    return f"offset({offset.text})"


def _trials_sql(
    factors: tuple[str, ...], numbers: dict[str, Expression], response: Expression
) -> str:
    keys = [f"{quoted(name)} AS k{place}" for place, name in enumerate(factors)]
    keys += [f"{number.sql} AS number{place}" for place, number in enumerate(numbers.values())]
    return f"""
        SELECT {", ".join(keys)},
               CAST(count(*) AS DOUBLE) AS trials,
               CAST(count(*) FILTER (WHERE {response.sql} = 1) AS DOUBLE) AS successes,
               count(*) FILTER (WHERE ({response.sql} IN (0, 1)) IS NOT TRUE) AS others
          FROM observations
         GROUP BY ALL
         ORDER BY ALL
    """


def _require_binary(cells: pa.Table, trials: Floats, successes: Floats, response: str) -> None:
    if len(trials) == 0:
        raise DesignError(
            "A mixed model needs rows; the selection is empty.", "Check the filter that made it."
        )
    others = int(cells.column("others").to_numpy().sum())
    if others:
        raise ColumnError(
            f"{response!r} must be 0 or 1 in every row; rows where it is neither: "
            f"{others} of {int(trials.sum())}.",
            "Write the sign of a number as a comparison, such as (log_gain > 0) ~ ...",
        )
    if successes.sum() in (0, trials.sum()):
        raise DesignError(
            f"{response!r} must hold both outcomes; all {int(trials.sum())} rows have the same.",
            "There is nothing to explain.",
        )


def _finite(column: pa.ChunkedArray, name: str, trials: Floats) -> Floats:
    values: Floats = column.to_numpy().astype(np.float64)
    unusable = ~np.isfinite(values)
    if unusable.any():
        raise ColumnError(
            f"{name!r} must be a finite number in every row; rows where it is not: "
            f"{int(trials[unusable].sum())} of {int(trials.sum())}.",
            DECIDE,
        )
    largest = float(np.abs(values).max(initial=0.0))
    if largest > LARGEST:
        raise ColumnError(
            f"{name!r} must be at most {LARGEST:g} in size; it reaches {largest:g}.",
            "Change the unit, or take logarithms.",
        )
    return values
