"""What a Parquet file says of itself before its first row: columns, types, rows, bounds."""

from __future__ import annotations

from collections.abc import Sequence
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
        if (table, True) not in self.layout.conforming:
            check_names(self.path, table, self.columns.names)
            known = dict(zip(self.columns.names, self.columns.types, strict=True))
            fields = arrow_schema(table)
            self._refuse_types([f for f in fields if known.get(f.name, f.type) != f.type])
            self.layout.conforming.add((table, True))

    def check_kinds(self, table: str) -> None:
        """Raise ContractError unless the columns have types of the contract's kinds."""
        if (table, False) not in self.layout.conforming:
            check_names(self.path, table, self.columns.names)
            self._refuse_types([f for f in arrow_schema(table) if not self._is_alike(f)])
            self.layout.conforming.add((table, False))

    def _is_alike(self, field: pa.Field) -> bool:
        """Return whether a column's values may be read as those of a field, whatever their width.

        A program that writes text or whole numbers of another width means the same values.
        """
        if field.name not in self.columns.names:
            return True
        kind = self.columns.field(field.name).type
        is_empty = pa.types.is_null(kind)
        return (
            is_empty
            or any(is_kind(kind) and is_kind(field.type) for is_kind in _KINDS)
            or (kind == field.type)
        )

    def _refuse_types(self, fields: Sequence[pa.Field]) -> None:
        """Raise ContractError if there are columns of other types than the contract's."""
        wrong = [field.name for field in fields]
        if wrong:
            others = ", ".join(f"{name} ({self.columns.field(name).type})" for name in wrong)
            raise ContractError(
                f"{self.path} must have the types of collect/schema.sql; other types were found "
                f"in {others}.",
                "It comes from another version: measure or import again.",
            )
