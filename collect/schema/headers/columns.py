"""Columns of a file against those of its table, and what is said of a file that is damaged."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from collect.errors import nearest
from collect.process.interruption import raise_interruption
from collect.schema.contract import ContractError, arrow_schema, table_of
from collect.schema.counting import repeated

#: What reading a damaged file raises; names in its footer may be no text (ValueError).
UNREADABLE = (pa.ArrowException, OSError, ValueError, OverflowError)

#: Names of columns that a message lists, and characters of each: both are free in a file.
_MOST_NAMES, _LONGEST_NAME = 40, 80


def opened(path: Path) -> pq.ParquetFile:
    """Open a Parquet file; one that is not on this machine by ranges of its bytes."""
    by_range = getattr(path, "by_range", None)
    return pq.ParquetFile(path if by_range is None else by_range(), pre_buffer=False)


def check_names(
    path: Path, table: str, actual: Sequence[str], left_out: Collection[str] = ()
) -> None:
    """Raise ContractError unless a file has each required column of a table, and each once.

    A column that may be NULL may be missing: an earlier version did not write it. So may those that
    a table made by hand may leave out. One that the table does not have is of a later version,
    unless it is a missing one misspelt.
    """
    required, names = table_of(table).required, table_of(table).names
    missing = [name for name in names if name not in actual]
    unknown = [name for name in actual if name not in names]
    lacking = [name for name in missing if name in required and name not in left_out]
    guess = _guess(missing, unknown)
    twice = repeated(actual)
    if lacking or guess:
        raise ContractError(
            f"{path} must have the columns of table {table}; "
            f"missing: {listed(lacking or missing)}; unknown: {listed(unknown)}.",
            guess or _remedy(path, "It comes from another version: measure or import again."),
        )
    if twice:
        raise ContractError(
            f"{path} must have each column of table {table} once; found twice or more: "
            f"{listed(twice)}.",
            "Leave one of each, or measure or import again.",
        )


def listed(names: Sequence[str]) -> str:
    """Return names that a stranger's file may have: a few, shortened, in characters that print."""
    shown = [name if name.isprintable() else ascii(name)[1:-1] for name in names[:_MOST_NAMES]]
    cut = [name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..." for name in shown]
    others = len(names) - len(cut)
    return ", ".join([*cut, *([f"{others} others"] if others else [])]) or "none"


def completed(rows: pa.Table, table: str) -> pa.Table:
    """Return rows with the columns of a table, NULL in those that an earlier version lacks."""
    expected, actual = arrow_schema(table), rows.column_names
    if actual == expected.names:
        return rows
    columns = [
        rows.column(field.name)
        if field.name in actual
        else pa.chunked_array([pa.nulls(len(rows), field.type)])
        for field in expected
    ]
    return pa.Table.from_arrays(columns, names=expected.names)


def typed(rows: pa.Table, table: str) -> pa.Table:
    """Return rows with the columns and types of a table."""
    expected = arrow_schema(table)
    rows = completed(rows, table)
    if rows.schema.types == expected.types:  # a cast costs more than the reading
        return pa.Table.from_arrays(rows.columns, schema=expected)
    return rows.cast(expected)


def _guess(missing: list[str], unknown: list[str]) -> str:
    pairs = [(name, nearest(name, unknown, cutoff=0.6)) for name in missing]
    return " ".join(f"{near[0]} is probably {name}." for name, near in pairs if near)


def damaged(path: Path, error: Exception) -> ContractError:
    """Return the refusal of a file that cannot be read; raise what is no fault of the file."""
    raise_interruption(error)
    reason = str(error).strip().partition("\n")[0].removesuffix(".") or type(error).__name__
    return ContractError(
        f"{path} must be a complete file of this project; it cannot be read ({reason}).",
        _remedy(path, "Delete it, then measure or import again."),
    )


def _remedy(path: Path, of_made: str) -> str:
    """Return what to do about a file: one that a person may have written is to be corrected."""
    is_written = path.suffix == ".csv"
    return "Correct it there; data/README.md lists its columns." if is_written else of_made
