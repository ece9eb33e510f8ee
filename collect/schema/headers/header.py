"""What a Parquet file says of itself before its first row: columns, types, rows, bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from collect.schema.contract import ContractError, arrow_schema
from collect.schema.headers.columns import UNREADABLE, check_names, damaged, opened, typed


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


#: Kinds of types whose values a small table takes in any width.
_KINDS = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_timestamp,
    pa.types.is_date,
    _is_text,
)


def _is_alike(kind: pa.DataType, expected: pa.DataType) -> bool:
    """Return whether values of a type may be read as those of another, whatever their width."""
    is_of_kind = any(is_kind(kind) and is_kind(expected) for is_kind in _KINDS)
    return pa.types.is_null(kind) or is_of_kind or kind == expected


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Columns and types that files share, and which tables they were found to be right for.

    Attributes
    ----------
    columns
        The columns.
    conforming
        Tables whose columns they are, each with whether the types are exactly its types.
    """

    columns: pa.Schema
    conforming: set[tuple[str, bool]] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Header:
    """What a Parquet file says of itself before its first row.

    Of the file's own footer, tens of KiB, nothing else is held: a store may have 10^5 files.

    Attributes
    ----------
    path
        The file.
    layout
        Its columns and their types.
    n_rows
        Number of rows [1].
    metadata
        Key-value metadata as text; what is no text in UTF-8 is left out.
    run_bounds
        Smallest and largest ``run_id`` of each row group, as far as stored.
    rows
        All that it holds, where that was read at once.
    """

    path: Path
    layout: Layout
    n_rows: int
    metadata: dict[str, str]
    run_bounds: frozenset[str]
    rows: pa.Table | None = None

    @property
    def columns(self) -> pa.Schema:
        """Its columns and their types."""
        return self.layout.columns

    def read(self, table: str) -> pa.Table:
        """Return the rows, typed as the contract says.

        Raises
        ------
        ContractError
            If the file is damaged, or its columns are not those of the table.
        """
        self.check_kinds(table)
        try:
            return typed(self.stored(), table)
        except UNREADABLE as error:
            raise damaged(self.path, error) from error

    def stored(self) -> pa.Table:
        """Return the rows with the columns that the file has."""
        if self.rows is not None:
            return self.rows
        with opened(self.path) as file:
            return file.read(use_threads=False)

    def check_types(self, table: str) -> None:
        """Raise ContractError unless the columns have exactly the contract's types."""
        self._check(table, lambda kind, expected: kind == expected, is_exact=True)

    def check_kinds(self, table: str) -> None:
        """Raise ContractError unless the columns have types of the contract's kinds.

        A program that writes text or whole numbers of another width means the same values.
        """
        self._check(table, _is_alike, is_exact=False)

    def _check(
        self, table: str, is_right: Callable[[pa.DataType, pa.DataType], bool], *, is_exact: bool
    ) -> None:
        if (table, is_exact) in self.layout.conforming:
            return
        check_names(self.path, table, self.columns.names)
        known = dict(zip(self.columns.names, self.columns.types, strict=True))
        fields = [field for field in arrow_schema(table) if field.name in known]
        wrong = [
            f"{f.name} ({known[f.name]})" for f in fields if not is_right(known[f.name], f.type)
        ]
        if wrong:
            raise ContractError(
                f"{self.path} must have the types of collect/schema.sql; other types were found "
                f"in {', '.join(wrong)}.",
                "It comes from another version: measure or import again.",
            )
        self.layout.conforming.add((table, is_exact))
