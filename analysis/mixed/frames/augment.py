"""Fitted values and residuals of every row, by a second pass, and responses drawn anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa

from analysis.mixed.algebra.deviance import relative_factors
from analysis.mixed.inference.fitted import Fitted
from analysis.mixed.inference.r_squared import fixed_part, random_part
from analysis.mixed.reading.expression import quoted, translate
from analysis.mixed.reading.plan import plan
from analysis.mixed.reading.source import LABEL_TYPES, NUMBER_TYPES, Source
from analysis.tidy import glossary
from analysis.tidy.errors import ColumnError, DesignError
from analysis.tidy.frame import Floats, require_count

#: What is added to every row, from columns that are joined to it.
EXPRESSIONS = {
    "fitted": "offset_ + fixed_ + random_",
    "fitted_fixed": "offset_ + fixed_",
    "residual": "response_ - (offset_ + fixed_ + random_)",
}
ADDED = tuple(EXPRESSIONS)

#: DuckDB's names of dates and times that it writes as Python does.
DATE_TYPES = ("date", "timestamp", "timestamp_s", "timestamp_ms")

#: Rows per batch that are read from a relation of another connection.
BATCH = 100_000


def augment(model: Fitted) -> pd.DataFrame:
    """Return the rows in their order with `fitted`, `fitted_fixed` and `residual` added.

    Rows that had no index are counted from zero.
    """
    source = _require_rows(model)
    columns = list(source.types)
    frame = fitted_rows(model, [*columns, *ADDED])
    glossary.checked(frame.columns, also=columns)
    if source.names:
        frame = frame.set_axis([*source.names, *ADDED], axis="columns")
    return frame if source.index is None else frame.set_axis(source.index)


def fitted_rows(model: Fitted, columns: Sequence[str]) -> pd.DataFrame:
    """Return columns of the rows, and of what the model says of each, in the order of the rows.

    A fitted value is a map of the row's basis numbers that is the same in all of its cell: the
    cells' maps are joined to the rows. Fitted values contain the offset.

    Beside the rows' own columns there are `fitted`, `fitted_fixed`, `residual`, `cell_` (its cell),
    `basis0_`, ... (its basis numbers), `weight_` and `row_place_`, counted from one. A column of
    the rows that is called like one of them is refused: a query would read the rows' own.
    """
    source, cells = _require_rows(model), _cell_maps(model)
    numbers, sums = _row_parts(model, source), _fitted_parts(model)
    taken = [
        name
        for name in source.types
        if name.lower() in [*numbers, *cells.column_names, *sums, *EXPRESSIONS]
    ]
    if taken:
        raise ColumnError(
            f"The rows must not already have the columns augment adds; they have {taken}.",
            "Rename them before the fit.",
        )
    connection = duckdb.connect()
    reader = source.relation.to_arrow_reader(BATCH)
    connection.from_arrow(reader).create_view("observations")
    connection.register("cells", cells)
    matched = " AND ".join(
        f"{_label_sql(name, source)} = level{place}"
        for place, name in enumerate(model.statistics.factors)
    )
    frame: pd.DataFrame = connection.sql(
        f"""
        SELECT {", ".join(map(quoted, columns))}
          FROM (SELECT *, {_name(EXPRESSIONS)}
                  FROM (SELECT o.*, cell_, {_name(sums)}
                          FROM (SELECT *, {_name(numbers)} FROM observations) AS o
                          JOIN cells ON {matched}))
         ORDER BY row_place_
        """
    ).df()
    return frame


def _require_rows(model: Fitted) -> Source:
    """Return the rows of a model, which one from statistics alone does not have."""
    if model.source is None:
        raise DesignError(
            "Fitted values of rows need the rows; this model was fitted from statistics.",
            "Fit it with the rows at hand.",
        )
    return model.source


def _cell_maps(model: Fitted) -> pa.Table:
    """Return one row per cell: its levels, and what every basis number is multiplied by."""
    fixed = fixed_part(model.design.fixed, model.coefficients, model.statistics)
    random = random_part(model)
    columns: dict[str, object] = {
        f"level{place}": pa.DictionaryArray.from_arrays(
            factor.codes.astype("int32"), list(factor.levels)
        ).cast(pa.string())
        for place, factor in enumerate(model.statistics.factors.values())
    }
    columns |= {f"fixed{place}": values for place, values in enumerate(fixed)}
    columns |= {f"random{place}": values for place, values in enumerate(random)}
    columns["cell_"] = np.arange(len(model.statistics.counts))
    return pa.table(columns)


def _row_parts(model: Fitted, source: Source) -> dict[str, str]:
    """Return what is computed from a row alone, by the name of its column."""
    needed = plan(model.formula, source)
    numbers = {
        f"basis{place}_": " * ".join(needed.numbers[name].sql for name in product)
        or "CAST(1 AS DOUBLE)"
        for place, product in enumerate(model.statistics.basis)
    }
    return numbers | {
        "offset_": "0.0" if model.formula.offset is None else model.formula.offset.sql,
        "response_": translate(model.statistics.response).sql,
        "weight_": "1.0" if model.weights is None else translate(model.weights).sql,
        "row_place_": "row_number() OVER ()",
    }


def _fitted_parts(model: Fitted) -> dict[str, str]:
    """Return the parts of a fitted value: the row's numbers times the factors of its cell."""
    places = range(len(model.statistics.basis))
    return {
        f"{part}_": " + ".join(f"basis{place}_ * {part}{place}" for place in places)
        for part in ("fixed", "random")
    }


def _name(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{sql} AS {name}" for name, sql in columns.items())


def _label_sql(name: str, source: Source) -> str:
    """Return the level of a row as text, as `level_label` writes it."""
    kind = source.types[name]
    if kind in ("float", "double"):
        return f"CAST(CAST(o.{quoted(name)} AS DOUBLE) + 0 AS VARCHAR)"
    if kind not in (*LABEL_TYPES, *NUMBER_TYPES, *DATE_TYPES):
        raise ColumnError(
            f"Column {name!r} must hold text, numbers or dates for its levels to be found again "
            f"in the rows; it holds {kind}.",
            "Make it text before the fit.",
        )
    return f"CAST(o.{quoted(name)} AS VARCHAR)"


def simulated_rows(model: Fitted, n_simulations: int, rng: np.random.Generator) -> Floats:
    """Return responses drawn under a fit, random effects and errors anew, shape (rows, draws)."""
    require_count("n_simulations", n_simulations)
    basis = [f"basis{place}_" for place in range(len(model.statistics.basis))]
    chosen = fitted_rows(model, ["cell_", "fitted_fixed", "weight_", *basis])
    numbers, cells = chosen[basis].to_numpy().T, chosen["cell_"].to_numpy()
    sigma = np.sqrt(model.solution.variance / chosen["weight_"].to_numpy())
    drawn = np.empty((len(chosen), n_simulations))
    for place in range(n_simulations):
        effects = (numbers * _drawn_effects(model, rng)[:, cells]).sum(axis=0)
        drawn[:, place] = effects + sigma * rng.standard_normal(len(chosen))
    return np.asarray(chosen["fitted_fixed"].to_numpy()[:, None] + drawn)


def _drawn_effects(model: Fitted, rng: np.random.Generator) -> Floats:
    """Return the random part with effects drawn anew, shape (basis, cells)."""
    result = np.zeros((len(model.statistics.basis), len(model.statistics.counts)))
    sigma = np.sqrt(model.solution.variance)
    factors = relative_factors(model.design.blocks, model.solution.theta)
    for block, factor in zip(model.design.blocks, factors, strict=True):
        effects = sigma * rng.standard_normal((len(block.levels), block.width)) @ factor.T
        for place, column in enumerate(block.columns):
            result[column.basis] += effects[block.codes, place] * column.coefficient
    return result
