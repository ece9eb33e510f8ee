"""The 2x2 table: two groups in rows, two outcomes in columns, counted or given."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.tidy.errors import ColumnError, DesignError
from analysis.tidy.frame import level_codes, numbers, require_columns

#: Whole numbers beyond this are not exact in double precision.
MOST_UNITS = 2**53


def two_by_two(frame: pd.DataFrame, row: str | None, column: str | None) -> pd.DataFrame:
    """Return the 2x2 counts, given as such or counted from one row per unit.

    Parameters
    ----------
    frame
        Either the counts, two rows by two columns, or, with `row` and `column`, one row per
        independent unit.
    row, column
        Columns with two levels each. Levels stand in category order, else sorted.

    Returns
    -------
    Two rows by two columns of whole numbers; index and columns name the levels.

    Raises
    ------
    ColumnError
        If a named column is absent or has missing values, or a count is not a whole number.
    DesignError
        If the table is not 2x2 or a margin is zero.
    """
    if (row is None) != (column is None):
        raise ColumnError(
            f"Both `row` and `column` must be named, or neither; found {row!r} and {column!r}.",
            "Without them the frame itself is the 2x2 table.",
        )
    require_columns(frame, ())
    if row is None or column is None:
        counts = frame
    else:
        row_codes, row_levels = level_codes(frame, row)
        column_codes, column_levels = level_codes(frame, column)
        cells = np.zeros((len(row_levels), len(column_levels)), dtype=np.int64)
        np.add.at(cells, (row_codes, column_codes), 1)
        counts = pd.DataFrame(cells, index=row_levels, columns=column_levels)
    if counts.shape != (2, 2):
        raise DesignError(
            f"The test needs a 2x2 table; found {counts.shape[0]}x{counts.shape[1]}.",
            "Combine or filter levels so that each variable has two.",
        )
    return _whole(counts)


def odds_contrast(counts: pd.DataFrame) -> str:
    """Return which odds the odds ratio of a table divides by which.

    Examples
    --------
    >>> odds_contrast(pd.DataFrame([[3, 1], [1, 3]], index=["a", "b"], columns=["yes", "no"]))
    'odds of yes over no: a / b'
    """
    rows, columns = counts.index, counts.columns
    return f"odds of {columns[0]} over {columns[1]}: {rows[0]} / {rows[1]}"


def _whole(counts: pd.DataFrame) -> pd.DataFrame:
    by_position = counts.set_axis(["first", "second"], axis="columns")
    values = np.column_stack([numbers(by_position, name) for name in by_position.columns])
    if (values < 0).any() or (values != np.rint(values)).any():
        raise ColumnError(
            f"Counts must be whole numbers, 0 or more; found {values.tolist()}.",
            "Give the numbers of units, not shares.",
        )
    if values.sum() > MOST_UNITS:
        raise ColumnError(
            f"Counts must add up to at most {MOST_UNITS}; found {values.tolist()}.",
            "Give the numbers of units.",
        )
    if not (values.sum(axis=0).all() and values.sum(axis=1).all()):
        raise DesignError(
            f"Every row and column of the table must hold a unit; found {values.tolist()}.",
            "With an empty margin only one table is possible and nothing can be tested.",
        )
    return pd.DataFrame(values.astype(np.int64), index=counts.index, columns=counts.columns)
