"""Open what holds the rows: a frame, arrays, Arrow, Parquet files, or any relation of DuckDB."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa

from analysis.mixed.reading.expression import level_label, quoted
from analysis.tidy.errors import ColumnError, QueryError, StoreError
from analysis.tidy.frame import nearest
from analysis.tidy.progress import raise_interruption

#: Names of columns in a formula: words outside text that no bracket follows, and ``Q("a name")``.
NAME = re.compile(r"(?<![\w.])[^\W\d]\w*(?!\w*\s*\()")
TEXT = re.compile(r"""("[^"]*"|'[^']*')""")
QUOTED = re.compile(r"""Q\(\s*(?:"([^"]*)"|'([^']*)')\s*\)""")

#: What to do about a value that a fit cannot take.
DECIDE = (
    'Decide what they mean; missing="drop" of a fit leaves out rows in which a value is missing, '
    "an infinite one must go before it."
)

#: Setting of DuckDB: bytes freed at once from which on its allocator gives them back.
FLUSH = "allocator_bulk_deallocation_flush_threshold"

#: DuckDB's names of types that are labels rather than numbers.
LABEL_TYPES = ("varchar", "enum", "boolean", "uuid")

NUMBER_TYPES = (
    *("tinyint", "smallint", "integer", "bigint", "hugeint", "float", "double", "decimal"),
    *("utinyint", "usmallint", "uinteger", "ubigint", "uhugeint"),
)


@dataclass(frozen=True, slots=True)
class Source:
    """Rows that can be queried; no row leaves the database unless a query selects it."""

    relation: duckdb.DuckDBPyRelation  #: The rows.
    types: dict[str, str]  #: Type of every column, as DuckDB names it.
    note: str = ""  #: What was done to the rows, empty for nothing.
    index: pd.Index | None = None  #: Labels of the rows, where they are those of a frame.
    #: Columns as the caller named them, where the rows came in memory: DuckDB, which ignores case,
    #: renames the second of two that differ in case alone.
    names: tuple[Any, ...] = ()
    #: Columns in which values of two types, such as 1 and "1", are one level as text.
    merged: Mapping[str, str] = field(default_factory=dict)
    is_own: bool = False  #: Whether the database was opened for the rows.

    def query(self, sql: str) -> pa.Table:
        """Return the result of a query on ``observations``."""
        try:
            answer = self.relation.query("observations", sql)
            if answer is not None:
                return answer.to_arrow_table()  # the engine computes it here
        except duckdb.Error as error:
            raise QueryError(
                f"DuckDB must be able to compute the formula; it says: {_sentence(error)}",
                "Look at the rows the formula reads.",
            ) from error
        raise QueryError("A query on the rows must select something; it did not.")

    def release(self) -> None:
        """Give back what queries took: the allocators of DuckDB and Arrow keep what was freed."""
        if self.is_own:
            with suppress(duckdb.CatalogException):
                for sql in (f"SET {FLUSH} = '0B'", f"RESET {FLUSH}"):  # the first one flushes
                    self.relation.query("observations", sql)
        pa.default_memory_pool().release_unused()

    def require(self, names: Iterable[str]) -> None:
        """Raise ColumnError unless every name is a column, and one that can be told from others."""
        for name in names:
            self._require_apart(name)
            if name in self.merged:
                raise ColumnError(
                    f"Column {name!r} must hold labels of one type; {self.merged[name]} in it "
                    "would be one level.",
                    f"Convert it first, such as frame[{name!r}].map(repr).",
                )
            if name not in self.types:
                raise ColumnError(
                    f"The rows must have a column {name!r}; the nearest is "
                    f"{nearest(name, list(self.types))!r}.",
                    f"They have: {', '.join(self.types)}.",
                )

    def _require_apart(self, name: str) -> None:
        """Raise ColumnError if the rows have a column and another shares or hides its name."""
        alike = [str(each) for each in self.names if str(each).lower() == name.lower()]
        if alike.count(name) > 1:
            raise ColumnError(
                f"Column {name!r} must occur once; it occurs {alike.count(name)} times.",
                "Rename or drop the duplicates.",
            )
        if name in alike and name not in self.types:
            raise ColumnError(
                "Columns must differ in more than case, which DuckDB ignores; the rows have "
                f"{' and '.join(map(repr, alike))}.",
                f"Rename {name!r}.",
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


#: What may hold the rows; a view of a store is ``store.connection.view("head")``. Files behind a
#: server are ``connection.read_parquet("s3://place/*.parquet")`` once the connection knows the
#: file system: DuckDB's own by INSTALL httpfs, or any of fsspec's by ``register_filesystem``.
#: The `source` of a fit holds the rows that it used.
Rows: TypeAlias = (
    pd.DataFrame
    | pa.Table
    | pa.RecordBatch
    | Mapping[str, Any]
    | str
    | Path
    | duckdb.DuckDBPyRelation
    | Source
)


#: Weights: an expression over columns, or one number per row of rows in memory.
Weights: TypeAlias = str | Sequence[float] | np.ndarray[Any, Any] | pd.Series


def add_weights(rows: Rows, weights: Weights | None) -> tuple[Rows, str | None]:
    """Return rows that hold the weights, and the expression that reads them.

    A series has the index of the frame, as a column that was taken from it.
    """
    if weights is None or isinstance(weights, str):
        return rows, weights
    table = table_of(rows)
    if table is None:
        raise ColumnError(
            "Weights must be an expression over columns where the rows lie in files or a database.",
            "Rows there have no order that numbers could follow.",
        )
    values = np.asarray(weights)
    if values.shape != (len(table),) or values.dtype.kind not in "biuf":
        raise ColumnError(
            f"Weights must be one number for each of the {len(table)} rows; found shape "
            f"{values.shape} of {values.dtype}.",
            "Give an array of the rows' length, or the name of a column.",
        )
    is_frame = isinstance(table, pd.DataFrame)
    if isinstance(weights, pd.Series) and is_frame and not weights.index.equals(table.index):
        raise ColumnError(
            "Weights in a series must have the index of the rows; theirs differs.",
            "Give weights.to_numpy() if they follow the order of the rows.",
        )
    columns = table.columns if isinstance(table, pd.DataFrame) else table.column_names
    taken = {str(name).lower() for name in columns}
    name = next(each for each in ("weights", "weights_", "weights__") if each not in taken)
    if isinstance(table, pd.DataFrame):
        return table.assign(**{name: values}), name
    return table.append_column(name, pa.array(values)), name


def open_source(rows: Rows) -> Source:
    """Return rows ready to be queried; those of another fit are so already."""
    if isinstance(rows, Source):
        return rows
    table = table_of(rows)
    relation = rows if isinstance(rows, duckdb.DuckDBPyRelation) else _own_relation(rows, table)
    is_own = relation is not rows
    types = {
        str(name): str(kind.id) for name, kind in zip(relation.columns, relation.types, strict=True)
    }
    if isinstance(table, pd.DataFrame):
        merged = _merge_labels(table)
        names = tuple(table.columns)
        return Source(relation, types, "", table.index, names, merged, is_own)
    names = () if table is None else tuple(table.column_names)
    return Source(relation, types, names=names, is_own=is_own)


def drop_missing(source: Source, texts: Iterable[str], names: Iterable[str] = ()) -> Source:
    """Return the rows in which no column that is named has a missing value, with a note."""
    texts = list(texts)
    named = {*names, *(name for text in texts for name in NAME.findall(TEXT.sub("", text)))}
    named |= {name for text in texts for pair in QUOTED.findall(text) for name in pair}
    read = [name for name in source.types if name in named]
    conditions = [f"{quoted(name)} IS NOT NULL" for name in read]
    floats = [name for name in read if source.types[name] in ("float", "double")]
    conditions += [f"NOT isnan({quoted(name)})" for name in floats]
    if not conditions:
        return source
    whole = " AND ".join(conditions)
    remaining = replace(source, relation=source.relation.filter(whole))
    counts = [
        int(each.query("SELECT count(*) AS n FROM observations").column("n")[0].as_py())
        for each in (source, remaining)
    ]
    if counts[0] == counts[1]:
        return source
    labels = source.index
    if labels is not None:
        is_whole = source.query(f"SELECT {whole} AS whole FROM observations").column("whole")
        labels = labels[is_whole.to_numpy()]
    return replace(
        remaining,
        index=labels,
        note=f"{counts[0] - counts[1]} of {counts[0]} rows were dropped: a value of "
        f"{', '.join(read)} is missing.",
    )


def table_of(rows: Rows) -> pa.Table | pd.DataFrame | None:
    """Return rows in memory as a frame or an Arrow table, None when they lie elsewhere."""
    if isinstance(rows, str | Path | duckdb.DuckDBPyRelation | Source):
        return None
    if isinstance(rows, pd.DataFrame):
        return _label_text(rows)
    try:
        return pd.DataFrame(rows) if isinstance(rows, Mapping) else pa.table(rows)
    except (TypeError, ValueError) as error:
        raise ColumnError(
            f"Rows must be columns of one length, each with a name; found {type(rows).__name__}.",
            "Give a frame, a mapping of columns, an Arrow table, or a path of Parquet files.",
        ) from error


def _merge_labels(frame: pd.DataFrame) -> dict[str, str]:
    """Return columns of objects in which values of two types read alike, and two such values."""
    merged: dict[str, str] = {}
    for name, column in frame.items():
        if column.dtype == object and len({type(each) for each in column.dropna()}) > 1:
            seen: dict[str, object] = {}
            for value in column.dropna():
                is_truth = isinstance(value, bool | np.bool_)
                for text in (str(value), *([str(int(value))] if is_truth else [])):
                    known = seen.setdefault(text, value)
                    if type(known) is not type(value):
                        merged.setdefault(str(name), f"{known!r} and {value!r}")
    return merged


def _label_text(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose categories are text: DuckDB reads those of numbers as numbers."""
    labelled = {
        place: column.cat.rename_categories(level_label)
        for place, (_, column) in enumerate(frame.items())
        if isinstance(column.dtype, pd.CategoricalDtype)
        and column.cat.categories.dtype.kind in "iuf"
    }
    if not labelled:
        return frame
    columns = [labelled.get(place, column) for place, (_, column) in enumerate(frame.items())]
    return pd.concat(columns, axis=1)


@cache
def _database(process: int) -> duckdb.DuckDBPyConnection:
    """Return the database through which a process reads rows in memory; it holds none of them.

    To open one costs more than to read a small frame. A forked process cannot use its parent's.
    """
    return duckdb.connect()


def _own_relation(rows: Rows, table: pa.Table | pd.DataFrame | None) -> duckdb.DuckDBPyRelation:
    if table is not None:
        connection = _database(os.getpid()).cursor()
        try:
            if isinstance(table, pa.Table):
                return connection.from_arrow(table)
            return connection.from_df(table)
        except duckdb.Error as error:
            raise ColumnError(
                f"A frame must have columns of numbers or labels; DuckDB says: {_sentence(error)}",
                "Drop or convert the columns that are neither.",
            ) from error
    connection = duckdb.connect()
    with suppress(duckdb.CatalogException):
        # Row groups read ahead would double the memory of a fit; on a disk it is no faster.
        connection.execute("SET disable_parquet_prefetching = true")
    try:
        return connection.read_parquet(str(rows))
    except duckdb.Error as error:
        raise StoreError(
            f"{str(rows)!r} must name Parquet files; DuckDB says: {_sentence(error)}",
            "Name one file, or a glob such as data/*/attention/*.parquet.",
        ) from error


def _sentence(error: duckdb.Error) -> str:
    """Return what DuckDB says; raise KeyboardInterrupt where it wraps a request to end."""
    raise_interruption(error)
    return " ".join(str(error).partition("\n\nLINE")[0].split())
