"""Fitted values and residuals of every row, by a second pass that can go straight to a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pandas as pd
import pyarrow as pa

from analysis import glossary
from analysis.errors import ColumnError, DesignError
from analysis.mixed.expression import quoted, translate
from analysis.mixed.linear_predictor import fixed_part, random_part
from analysis.mixed.plan import plan
from analysis.mixed.source import Source

if TYPE_CHECKING:
    from analysis.mixed.model import MixedModel

ADDED = ("fitted", "fitted_fixed", "residual")

#: Rows per batch that are read from a relation of another connection.
BATCH = 100_000


def augment(model: MixedModel, path: Path | None) -> pd.DataFrame | None:
    """Return the rows in their order with `fitted`, `fitted_fixed` and `residual` added.

    A fitted value is a map of the row's basis numbers that is the same in all of its cell:
    the cells' maps are joined to the rows. Fitted values contain the offset.

    Parameters
    ----------
    model
        The fit.
    path
        Parquet file to write instead; nothing is returned then.

    Raises
    ------
    DesignError
        If the model was fitted from statistics alone.
    ColumnError
        If the rows already have a column of such a name.
    """
    if model.source is None:
        raise DesignError(
            "Fitted values of rows need the rows; this model was fitted from statistics.",
            "Fit it with the rows at hand.",
        )
    taken = [name for name in ADDED if name in model.source.types]
    if taken:
        raise ColumnError(
            f"The rows must not already have the columns augment adds; they have {taken}.",
            "Rename them before the fit.",
        )
    connection = duckdb.connect()
    observations = connection.from_arrow(model.source.relation.to_arrow_reader(BATCH))
    observations.create_view("observations")
    connection.register("cells", _cell_maps(model))
    augmented = connection.sql(_augmented_sql(model, model.source))
    if path is not None:
        augmented.write_parquet(str(path))
        return None
    frame: pd.DataFrame = augmented.df()
    glossary.checked(frame.columns, also=list(model.source.types))
    return frame


def _cell_maps(model: MixedModel) -> pa.Table:
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
    return pa.table(columns)


def _augmented_sql(model: MixedModel, source: Source) -> str:
    needed = plan(model.formula, source)
    names = model.statistics.basis
    numbers = [
        " * ".join(needed.numbers[name].sql for name in product) or "1.0" for product in names
    ]
    offset = "0.0" if model.formula.offset is None else model.formula.offset.sql
    fixed = " + ".join(f"{number} * fixed{i}" for i, number in enumerate(numbers))
    random = " + ".join(f"{number} * random{i}" for i, number in enumerate(numbers))
    response = model.statistics.responses[model.response]
    matched = " AND ".join(
        f"CAST(o.{quoted(name)} AS VARCHAR) = level{place}"
        for place, name in enumerate(model.statistics.factors)
    )
    return f"""
        SELECT o.* EXCLUDE (row_place_),
               {offset} + ({fixed}) + ({random}) AS fitted,
               {offset} + ({fixed}) AS fitted_fixed,
               {translate(response).sql} - ({offset} + ({fixed}) + ({random})) AS residual
          FROM (SELECT *, row_number() OVER () AS row_place_ FROM observations) AS o
          JOIN cells ON {matched}
         ORDER BY o.row_place_
    """
