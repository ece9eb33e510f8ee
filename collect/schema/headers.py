"""Headers of Parquet files, each read once: columns, types, rows, bounds, metadata."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from collect.schema.contract import ADDED, ContractError, arrow_schema

#: What reading a damaged file raises.
UNREADABLE = (pa.ArrowException, OSError, ValueError, OverflowError)


#: Tables of a few rows a file, which every reader of the header wants: one opening is enough.
_READ_WHOLE = ("run", "model", "conformance", "not_measured", "prompt")


@dataclass(frozen=True, slots=True)
class Header:
    """What a Parquet file says of itself before its first row.

    Attributes
    ----------
    path
        The file.
    columns
        Its columns and their types.
    footer
        Its own description: row groups, statistics, key-value metadata.
    rows
        All that it holds, where that was read at once.
    """

    path: Path
    columns: pa.Schema
    footer: pq.FileMetaData
    rows: pa.Table | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows [1]."""
        return int(self.footer.num_rows)

    @property
    def metadata(self) -> dict[str, str]:
        """Key-value metadata as text; what is no text in UTF-8 is left out."""
        found = {}
        for name, value in (self.footer.metadata or {}).items():
            try:
                found[name.decode()] = value.decode()
            except UnicodeDecodeError:
                continue
        return found

    def bounds(self, column: str) -> set[str]:
        """Return the smallest and largest text of a column in each row group, as far as stored."""
        if column not in self.columns.names:
            return set()
        place = self.columns.names.index(column)
        found = set()
        for group in range(self.footer.num_row_groups):
            statistics = self.footer.row_group(group).column(place).statistics
            if statistics is not None and statistics.has_min_max:
                found |= {str(statistics.min), str(statistics.max)}
        return found

    def read(self, table: str) -> pa.Table:
        """Return the rows, typed as the contract says.

        Raises
        ------
        ContractError
            If the file is damaged, or its columns are not those of the table.
        """
        check_names(self.path, table, self.columns.names)
        expected = arrow_schema(table)
        try:
            rows = completed(self._rows(), table).select(expected.names)
            if rows.schema.types == expected.types:  # a cast costs more than the reading
                return pa.Table.from_arrays(rows.columns, schema=expected)
            return rows.cast(expected)
        except UNREADABLE as error:
            raise damaged(self.path, error) from error

    def _rows(self) -> pa.Table:
        if self.rows is not None:
            return self.rows
        with opened(self.path, footer=self.footer) as file:
            return file.read(use_threads=False)

    def check_types(self, table: str) -> None:
        """Raise ContractError unless the columns have exactly the contract's types."""
        check_names(self.path, table, self.columns.names)
        wrong = [f.name for f in arrow_schema(table) if self.columns.field(f.name).type != f.type]
        if wrong:
            found = ", ".join(f"{name} ({self.columns.field(name).type})" for name in wrong)
            raise ContractError(
                f"{self.path} must have the types of collect/schema.sql; other types were found "
                f"in {found}.",
                "It comes from another version: measure or import again.",
            )


class Headers:
    """The headers of some files, each read when it is first asked for."""

    def __init__(self) -> None:
        self._known: dict[Path, Header] = {}
        self._runs: dict[Path, pa.Table] = {}

    def run(self, path: Path) -> pa.Table:
        """Return the rows of a run file, read once as well: they are asked for twice.

        Raises
        ------
        ContractError
            If the file is damaged, or its columns are not those of table ``run``.
        """
        if path not in self._runs:
            self._runs[path] = self.of(path).read("run")
        return self._runs[path]

    def of(self, path: Path) -> Header:
        """Return the header of a file.

        Raises
        ------
        ContractError
            If the file is damaged.
        """
        if path not in self._known:
            try:
                with opened(path) as file:
                    is_small = path.parent.name in _READ_WHOLE
                    rows = file.read(use_threads=False) if is_small else None
                    self._known[path] = Header(path, file.schema_arrow, file.metadata, rows)
            except UNREADABLE as error:
                raise damaged(path, error) from error
        return self._known[path]


def opened(path: Path, footer: pq.FileMetaData | None = None) -> pq.ParquetFile:
    """Open a Parquet file; one that is not on this machine by ranges of its bytes.

    Parameters
    ----------
    path
        The file.
    footer
        Its own description, where that was read before.
    """
    by_range = getattr(path, "by_range", None)
    source = path if by_range is None else by_range()
    return pq.ParquetFile(source, metadata=footer, pre_buffer=False)


def check_names(path: Path, table: str, found: Sequence[str]) -> None:
    """Raise ContractError unless a file has each column of a table once, and no other.

    Columns that earlier versions did not write may be missing.
    """
    expected = arrow_schema(table).names
    missing = [n for n in expected if n not in found and n not in ADDED.get(table, ())]
    unknown = [name for name in found if name not in expected]
    repeated = sorted({name for name in found if list(found).count(name) > 1})
    if missing or unknown:
        raise ContractError(
            f"{path} must have exactly the columns of table {table}; "
            f"missing: {', '.join(missing) or 'none'}; unknown: {', '.join(unknown) or 'none'}.",
            _guess(missing, unknown)
            or _remedy(path, "It comes from another version: measure or import again."),
        )
    if repeated:
        raise ContractError(
            f"{path} must have each column of table {table} once; found twice or more: "
            f"{', '.join(repeated)}.",
            "Leave one of each, or measure or import again.",
        )


def completed(rows: pa.Table, table: str) -> pa.Table:
    """Return rows with NULL in the columns of a table that earlier versions did not write."""
    for name in ADDED.get(table, ()):
        if name not in rows.column_names:
            kind = arrow_schema(table).field(name).type
            rows = rows.append_column(name, pa.nulls(len(rows), kind))
    return rows


def _guess(missing: list[str], unknown: list[str]) -> str:
    pairs = [(name, difflib.get_close_matches(name, unknown, 1)) for name in missing]
    return "; ".join(f"{near[0]} is probably {name}" for name, near in pairs if near)


def damaged(path: Path, error: Exception) -> ContractError:
    """Return the refusal of a file that cannot be read."""
    reason = str(error).strip().partition("\n")[0].removesuffix(".") or type(error).__name__
    return ContractError(
        f"{path} must be a complete file of this project; it cannot be read ({reason}).",
        _remedy(path, "Delete it, then measure or import again."),
    )


def _remedy(path: Path, of_made: str) -> str:
    """Return what to do about a file: one that a person may have written is to be corrected."""
    is_written = path.suffix == ".csv"
    return "Correct it there; data/README.md lists its columns." if is_written else of_made
