"""Open what holds the rows: a frame, a Parquet path or glob, or any relation of DuckDB."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import duckdb
import pandas as pd
import pyarrow as pa

from analysis.tidy.errors import ColumnError, QueryError, StoreError
from analysis.tidy.frame import nearest

#: What may hold the rows; a view of a store is ``store.connection.view("head")``. Files behind a
#: server are ``connection.read_parquet("s3://place/*.parquet")`` once the connection knows the
#: file system: DuckDB's own by INSTALL httpfs, or any of fsspec's by ``register_filesystem``.
Rows: TypeAlias = pd.DataFrame | str | Path | duckdb.DuckDBPyRelation

#: DuckDB's names of types that are labels rather than numbers.
LABEL_TYPES = ("varchar", "enum", "boolean", "uuid")

NUMBER_TYPES = (
    *("tinyint", "smallint", "integer", "bigint", "hugeint", "float", "double", "decimal"),
    *("utinyint", "usmallint", "uinteger", "ubigint", "uhugeint"),
)


@dataclass(frozen=True, slots=True)
class Source:
    """Rows that can be queried; no row leaves the database unless a query selects it.

    Attributes
    ----------
    relation
        The rows.
    types
        Type of every column, as DuckDB names it.
    """

    relation: duckdb.DuckDBPyRelation
    types: dict[str, str]

    def query(self, sql: str) -> pa.Table:
        """Return the result of a query on ``observations``.

        Raises
        ------
        QueryError
            If DuckDB refuses it.
        """
        try:
            answer = self.relation.query("observations", sql)
        except duckdb.Error as error:
            sentence = " ".join(str(error).partition("\n\nLINE")[0].split())
            raise QueryError(
                f"DuckDB must be able to compute the formula; it says: {sentence}",
                "Look at the rows the formula reads.",
            ) from error
        if answer is None:
            raise QueryError("A query on the rows must select something; it did not.")
        return answer.to_arrow_table()

    def is_label(self, name: str) -> bool:
        """Tell whether a column holds labels (text, categories, truth values)."""
        return self.types[name] in LABEL_TYPES

    def require(self, names: Iterable[str]) -> None:
        """Raise ColumnError unless every name is a column."""
        for name in names:
            if name not in self.types:
                raise ColumnError(
                    f"The rows must have a column {name!r}; the nearest is "
                    f"{nearest(name, list(self.types))!r}.",
                    f"They have: {', '.join(self.types)}.",
                )

    def require_numbers(self, names: Iterable[str]) -> None:
        """Raise ColumnError unless every column exists and holds numbers or truth values."""
        self.require(wanted := list(names))
        for name in wanted:
            if self.types[name] not in (*NUMBER_TYPES, "boolean"):
                raise ColumnError(
                    f"Column {name!r} must hold numbers; it holds {self.types[name]}.",
                    "Convert it first, or use it as a factor where the formula takes factors.",
                )


def open_source(rows: Rows) -> Source:
    """Return rows ready to be queried.

    Raises
    ------
    StoreError
        If a path cannot be read as Parquet.
    """
    relation = rows if isinstance(rows, duckdb.DuckDBPyRelation) else _own_relation(rows)
    types = {
        str(name): str(kind.id) for name, kind in zip(relation.columns, relation.types, strict=True)
    }
    return Source(relation, types)


def _own_relation(rows: pd.DataFrame | str | Path) -> duckdb.DuckDBPyRelation:
    connection = duckdb.connect()
    if isinstance(rows, pd.DataFrame):
        try:
            return connection.from_df(rows)
        except duckdb.Error as error:
            raise ColumnError(
                "A frame must have columns of numbers or labels; DuckDB says: "
                f"{' '.join(str(error).split())}",
                "Drop or convert the columns that are neither.",
            ) from error
    with suppress(duckdb.CatalogException):
        # Row groups read ahead would double the memory of a fit; on a disk it is no faster.
        connection.execute("SET disable_parquet_prefetching = true")
    try:
        return connection.read_parquet(str(rows))
    except duckdb.Error as error:
        sentence = " ".join(str(error).partition("\n\nLINE")[0].split())
        raise StoreError(
            f"{str(rows)!r} must name Parquet files; DuckDB says: {sentence}",
            "Name one file, or a glob such as data/*/attention/*.parquet.",
        ) from error
