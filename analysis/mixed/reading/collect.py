"""Collect sufficient statistics: one look at the ranges, one GROUP BY.

Variables are shifted inside the query, and summed as integers in fixed point: the same bits
come out in any order, on any number of threads (each term is rounded at 2^-61 of the largest,
finer than the sum itself can be held). Ranges of columns are read from the summary of a
Parquet file, not from its rows; the middle of a range serves as the shift unless the sums show
that the mean is far from it, then they are made again about the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from analysis.mixed.reading.bases import expand_bases
from analysis.mixed.reading.expression import level_label, quoted
from analysis.mixed.reading.plan import Plan, plan
from analysis.mixed.reading.source import (
    DECIDE,
    Rows,
    Source,
    open_source,
)
from analysis.mixed.reading.statistics import Factor, Statistics
from analysis.tidy.errors import ColumnError, DesignError
from analysis.tidy.frame import LARGEST, Floats

#: Rows looked at to guess which predictors are constant within a cell; the guess is verified.
PROBED = 4096

#: Two raised to this is the largest term of an exact sum: room for 2^65 rows in 128 bits.
EXACT_BITS = 61

#: A scale of more bits than this could overflow a double.
LARGEST_SCALE = 900

#: No logarithm of a double is larger.
LARGEST_LOG = 1024.0

#: Bytes of sums from which on the memory that reading took is given back: an evaluation needs it.
MUCH = 1_000_000

#: Sums about a shift this many standard deviations off the mean are made again: a sum of squares
#: loses a digit there.
FAR = 3.0


@dataclass(frozen=True, slots=True)
class _Variable:
    """A number per row, with what a first look at the rows says of it."""

    sql: str
    shift: float
    low: float
    high: float

    @property
    def bound(self) -> float:
        """Largest absolute value about the shift."""
        return max(self.high - self.shift, self.shift - self.low)


@dataclass(frozen=True, slots=True)
class _Look:
    """What a first look at the rows says: variables, basis first, and the weight."""

    basis: tuple[tuple[str, ...], ...]
    variables: list[_Variable]
    weight: _Variable | None


def collect(
    needed: Plan,
    source: Source,
    *,
    constant: tuple[str, ...] | None = None,
) -> Statistics:
    """Return the statistics of a plan: one look at the ranges, one GROUP BY.

    No product is summed of predictors that are constant within every cell. None guesses them from
    the first rows and verifies the guess.
    """
    guessed = _probably_constant(needed, source) if constant is None else set(constant)
    while True:
        look = _first_look(needed, source, _basis(needed, guessed))
        cells = source.query(_cells_sql(needed, look, sorted(guessed)))
        wrong = _not_constant(cells, sorted(guessed), strict=constant is not None)
        if not wrong:
            break
        guessed -= wrong
    statistics = _statistics(needed, cells, look, sorted(guessed))
    centred = _centre(look, statistics)
    if centred != look:
        cells = source.query(_cells_sql(needed, centred, sorted(guessed)))
        statistics = _statistics(needed, cells, centred, sorted(guessed))
    many = cells.nbytes > MUCH
    del cells
    if many:
        source.release()
    return statistics


def _basis(needed: Plan, constant: set[str]) -> tuple[tuple[str, ...], ...]:
    products = {tuple(name for name in names if name not in constant) for names in needed.products}
    return tuple(sorted(products, key=lambda names: (len(names), names)))


def _probably_constant(needed: Plan, source: Source) -> set[str]:
    """Return predictors that do not vary within any cell of the first rows."""
    names = list(needed.numbers)
    if not names:
        return set()
    keys = _keys_sql(needed)
    ranges = ", ".join(
        f"max({needed.numbers[name].sql}) > min({needed.numbers[name].sql}) AS v{place}"
        for place, name in enumerate(names)
    )
    table = source.query(
        f"""
        SELECT {", ".join(f"bool_or(v{place})" for place in range(len(names)))},
               sum(n) > count(*) + 10
          FROM (SELECT {keys}{ranges}, count(*) AS n
                  FROM (FROM observations LIMIT {PROBED})
                 GROUP BY ALL)
        """
    )
    row = [column[0].as_py() for column in table.columns]
    return {name for name, varies in zip(names, row[:-1], strict=True) if row[-1] and not varies}


def _first_look(needed: Plan, source: Source, basis: tuple[tuple[str, ...], ...]) -> _Look:
    """Return the variables with shift and bound, and the weight; refuse unusable values."""
    expressions = [
        " * ".join(needed.numbers[name].sql for name in names) or "CAST(1 AS DOUBLE)"
        for names in basis[1:]
    ]
    expressions.append(needed.response.sql)
    labels = [" times ".join(names) for names in basis[1:]]
    labels.append(needed.response.text)
    if needed.weights is not None:
        expressions.append(needed.weights.sql)
        labels.append(needed.weights.text)
    aggregates = ", ".join(f"count({sql}), min({sql}), max({sql})" for sql in expressions)
    table = source.query(f"SELECT count(*), {aggregates} FROM observations")
    n_rows, *values = [column[0].as_py() for column in table.columns]
    if n_rows == 0:
        raise DesignError(
            "A mixed model needs rows; the selection is empty.", "Check the filter that made it."
        )
    variables = [_Variable("CAST(1 AS DOUBLE)", 0.0, 1.0, 1.0)]
    for place, (sql, label) in enumerate(zip(expressions, labels, strict=True)):
        present, low, high = values[3 * place : 3 * place + 3]
        if present < n_rows or not np.isfinite([low, high]).all():
            _refuse_values(source, sql, label, n_rows)
        if max(high, -low) > LARGEST:
            raise ColumnError(
                f"{label!r} must be at most {LARGEST:g} in size, so that its powers can be added "
                f"up; it reaches {max(high, -low):g}.",
                "Change the unit, or take logarithms.",
            )
        variables.append(_Variable(sql, low / 2 + high / 2 if low < high else low, low, high))
    if needed.weights is None:
        return _Look(basis, variables, None)
    if variables[-1].low <= 0:
        raise ColumnError(
            f"Weights {needed.weights.text!r} must be positive; the smallest is "
            f"{variables[-1].low!r}.",
            "Drop rows that count for nothing before the fit.",
        )
    return _Look(basis, variables[:-1], variables[-1])


def _refuse_values(source: Source, sql: str, label: str, n_rows: int) -> None:
    usable = f"coalesce(isfinite({sql}), false)"
    table = source.query(f"SELECT count(*) FILTER (WHERE NOT {usable}) FROM observations")
    raise ColumnError(
        f"{label!r} must be a finite number in every row; rows where it is not: "
        f"{table.columns[0][0].as_py()} of {n_rows}.",
        DECIDE,
    )


def _centre(look: _Look, statistics: Statistics) -> _Look:
    """Return the look with shifts that are far from the mean put there."""
    size = float(statistics.product(0, 0).sum())
    variables = list(look.variables)
    for place, variable in enumerate(look.variables[1:], start=1):
        offset = float(statistics.product(0, place).sum()) / size
        variance = float(statistics.product(place, place).sum()) / size - offset**2
        if offset**2 > FAR**2 * variance:
            variables[place] = replace(variable, shift=variable.shift + offset)
    return replace(look, variables=variables)


def _cells_sql(needed: Plan, look: _Look, constant: list[str]) -> str:
    variables, weight = look.variables, look.weight
    keys = "".join(f"k{place}, " for place in range(len(needed.factors)))
    columns = [f"{each.sql} - ({each.shift!r}) AS v{i}" for i, each in enumerate(variables)]
    columns += [f"{needed.numbers[name].sql} AS c{i}" for i, name in enumerate(constant)]
    columns.append(f"{'CAST(1 AS DOUBLE)' if weight is None else weight.sql} AS w")
    largest_weight = 1.0 if weight is None else weight.high
    sums = []
    for place, (i, j) in enumerate(_pairs(len(variables))):
        bound = largest_weight * variables[i].bound * variables[j].bound
        factors = [f"v{each}" for each in (i, j) if each] + (["w"] if weight else [])
        sums.append(f"{_sum(' * '.join(factors), bound)} AS s{place}")
    sums += [f"min(c{i}) AS low{i}, max(c{i}) AS high{i}" for i in range(len(constant))]
    if constant:
        total = " + ".join(f"c{i}" for i in range(len(constant)))
        sums.append(f"count({total}) = count(*) AS whole")
    if weight is not None:
        sums.append(f"{_sum('ln(w)', LARGEST_LOG)} AS logs")
    places = ", ".join(str(place + 1) for place in range(len(needed.factors)))
    return f"""
        SELECT {keys}CAST(count(*) AS DOUBLE) AS n, {", ".join(sums)}
          FROM (SELECT {_keys_sql(needed)}{", ".join(columns)} FROM observations)
         GROUP BY {places}
         ORDER BY {places}
    """


def _keys_sql(needed: Plan) -> str:
    """Return the factors under names of our own: a column may be called like a sum."""
    return "".join(f"{quoted(name)} AS k{place}, " for place, name in enumerate(needed.factors))


def _pairs(n_variables: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(n_variables) for j in range(i, n_variables)]


def _sum(sql: str, bound: float) -> str:
    if not sql:
        return "CAST(count(*) AS DOUBLE)"
    if bound == 0:
        return f"sum({sql})"
    scale = 2.0 ** min(EXACT_BITS - int(np.frexp(bound)[1]), LARGEST_SCALE)
    return f"CAST(sum(CAST({sql} * {float(scale)!r} AS BIGINT)) AS DOUBLE) / {float(scale)!r}"


def _not_constant(cells: pa.Table, constant: list[str], *, strict: bool) -> set[str]:
    """Return predictors that were taken as constant within cells and are not."""
    if constant and not cells.column("whole").to_numpy().all():
        return set(constant)  # a value is missing: a look at each of them will name it
    wrong = set()
    for place, name in enumerate(constant):
        low = cells.column(f"low{place}").to_numpy()
        high = cells.column(f"high{place}").to_numpy()
        if not (np.isfinite(low).all() and np.array_equal(low, high)):
            wrong.add(name)
    if wrong and strict:
        raise DesignError(
            f"{sorted(wrong)} must be constant within every cell, as stated; they vary.",
            "Leave them out of `constant`.",
        )
    return wrong


def _statistics(needed: Plan, cells: pa.Table, look: _Look, constant: list[str]) -> Statistics:
    basis, variables = look.basis, look.variables
    pairs = _pairs(len(variables))
    counts = cells.column("n").to_numpy()
    constants = {name: cells.column(f"low{i}").to_numpy() for i, name in enumerate(constant)}
    weighted = needed.weights is not None
    keys = {name: cells.column(f"k{place}") for place, name in enumerate(needed.factors)}
    for name, column in keys.items():
        require_levels(column, name, counts)
    return Statistics(
        factors={name: factor_of(column) for name, column in keys.items()},
        constants=constants,
        basis=basis,
        response=needed.response.text,
        offset=needed.offset,
        shift=np.array([each.shift for each in variables]),
        pairs={pair: place for place, pair in enumerate(pairs)},
        sums=np.array([cells.column(f"s{place}").to_numpy() for place in range(len(pairs))]),
        counts=counts,
        log_weights=cells.column("logs").to_numpy() if weighted else np.zeros(len(counts)),
        weighted=weighted,
        bases=needed.bases,
    )


def require_levels(column: pa.ChunkedArray, name: str, counts: Floats) -> None:
    """Raise ColumnError unless every cell has a level of the column."""
    missing = column.is_null(nan_is_null=True).to_numpy()
    if missing.any():
        without = counts[missing].sum()
        raise ColumnError(
            f"Column {name!r} must name a level in every row; rows without: "
            f"{int(without)} of {int(counts.sum())}.",
            DECIDE,
        )


def factor_of(column: pa.ChunkedArray) -> Factor:
    """Return the factor of a column: category order where there is one, else sorted."""
    encoded = column.combine_chunks()
    ordered = pa.types.is_dictionary(encoded.type)
    if not ordered:
        encoded = encoded.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    values = encoded.dictionary.to_pylist()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    present = np.unique(codes)
    ranked = present if ordered else np.array(sorted(present, key=lambda code: values[code]))
    position = np.zeros(len(values), dtype=np.intp)
    position[ranked] = np.arange(len(ranked))
    return Factor(tuple(level_label(values[code]) for code in ranked), position[codes])


def collect_statistics(
    formula: str,
    rows: Rows,
    *,
    weights: str | None = None,
    units: Sequence[str] = (),
    constant: Sequence[str] | None = None,
    bases_of: Statistics | None = None,
) -> Statistics:
    """Return the statistics that a formula needs, to be merged or fitted elsewhere.

    Parameters are those of `fit`; `constant` names the predictors that are constant within
    every cell, which places that want to merge must agree on. So must they on the constants of
    ``scale``, ``poly``, ``bs`` and ``ns``: those of `bases_of` are used where it has them.

    Examples
    --------
    >>> from statsmodels.datasets import grunfeld
    >>> from analysis import mixed
    >>> rows = grunfeld.load_pandas().data
    >>> formula = "invest ~ value + (1 | firm)"
    >>> sums = mixed.collect_statistics(formula, rows)
    >>> mixed.fit_statistics(formula, sums).glance()["criterion"].round(3).item()
    2596.401
    """
    source = open_source(rows)
    parsed = expand_bases(formula, source, bases_of.bases if bases_of else None)
    needed = plan(parsed, source, weights=weights, units=several(units))
    stated = None if constant is None else several(constant)
    return collect(needed, source, constant=stated)


def several(given: str | Sequence[str]) -> tuple[str, ...]:
    """Return names, of which one may be given alone."""
    return (given,) if isinstance(given, str) else tuple(given)
