"""The rows of Parquet files as they were given to a writer, and whether two are the same."""

from __future__ import annotations

import base64
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq


def rows_of(path: Path) -> pa.Table:
    """Return all rows of a file."""
    with pq.ParquetFile(path) as file:
        return file.read(use_threads=False)


def file_of(path: Path) -> tuple[pa.Schema, dict[str, str]]:
    """Return columns and key-value metadata of a file as they were given to its writer."""
    stored = dict(pq.read_metadata(path).metadata or {})
    given = stored.pop(b"ARROW:schema", None)
    if given is None:
        schema, metadata = pq.read_schema(path), stored
    else:
        schema = pa.ipc.read_schema(pa.BufferReader(base64.b64decode(given)))
        metadata = schema.metadata or {}  # in the order in which they were given
    return schema.remove_metadata(), {n.decode(): v.decode() for n, v in metadata.items()}


def typed(rows: pa.Table, columns: pa.Schema) -> pa.Table:
    """Return rows with the contract's columns, NULL where an earlier version wrote none."""
    for field in columns:
        if field.name not in rows.column_names:
            rows = rows.append_column(field.name, pa.nulls(len(rows), field.type))
    return rows.select(columns.names).cast(columns)


def is_same(one: pa.Table, other: pa.Table) -> bool:
    """Return whether two tables hold the same rows, bit by bit: NaN is equal to itself."""
    return one.schema.equals(other.schema) and all(
        _bits(a).equals(_bits(b)) for a, b in zip(one.columns, other.columns, strict=True)
    )


def _bits(column: pa.ChunkedArray) -> pa.ChunkedArray:
    whole = {pa.float64(): pa.int64(), pa.float32(): pa.int32()}
    if column.type not in whole:
        return column
    # A NULL's own bits are whatever they are.
    known = pc.fill_null(column, 0.0)
    viewed = [chunk.view(whole[column.type]) for chunk in known.chunks]
    missing = pc.is_null(column)
    return pc.if_else(missing, None, pa.chunked_array(viewed, whole[column.type]))
