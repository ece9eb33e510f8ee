"""Refuse numbers that a correctly run decoder cannot produce."""

from __future__ import annotations

import numpy as np
import pandas as pd
from pandas.api.types import is_float_dtype

from collect.errors import ConformanceError

#: How far a row of an attention map may be from summing to 1, by number format: each entry
#: is rounded to the format, so the error grows with its epsilon.
ROW_SUM_TOLERANCE = {"float32": 1e-4, "bfloat16": 3e-2, "float16": 4e-3}


def check_attention(attention: pd.DataFrame, dtype: str) -> None:
    """Raise ConformanceError unless every map is causal and its rows sum to 1.

    Parameters
    ----------
    attention
        One row per (prompt_id, layer, head); the columns of table ``attention`` and
        ``row_error``.
    dtype
        Number format of the forward pass.
    """
    tolerance = ROW_SUM_TOLERANCE[dtype]
    _check(
        attention,
        ~(attention["row_error"] <= tolerance),
        f"Rows of an attention map must sum to 1 within {tolerance:g}",
        "row_error",
    )
    _check(
        attention,
        ~(attention["above_diagonal"] == 0),
        "A causal attention map must be zero above the diagonal",
        "above_diagonal",
    )


def check_finite(table: str, rows: pd.DataFrame) -> None:
    """Raise ConformanceError unless every number of a table is finite."""
    for name in (name for name in rows.columns if is_float_dtype(rows[name])):
        _check(
            rows,
            ~np.isfinite(rows[name]),
            f"Every {name} of table {table} must be a finite number",
            name,
        )


def _check(rows: pd.DataFrame, is_wrong: pd.Series, rule: str, column: str) -> None:
    if not is_wrong.any():
        return
    first = rows[is_wrong].iloc[0]
    place = ", ".join(f"{name} {first[name]}" for name in _PLACE if name in rows.columns)
    raise ConformanceError(
        f"{rule}; {int(is_wrong.sum())} of {len(rows)} rows do not, the first at {place}: "
        f"{column} = {first[column]}.",
        "No numbers of this unit were kept. A half-precision format may have overflowed: try "
        "--dtype float32. Otherwise the weights or the adapter are wrong.",
    )


_PLACE = ("prompt_id", "layer", "head", "site", "position", "matrix")
