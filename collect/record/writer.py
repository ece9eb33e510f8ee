"""Rows to Parquet, as the contract has them, sorted, in files complete or absent; and tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from collect import schema
from collect.errors import InputError, first_line
from collect.record.atomic.files import write_atomically, write_together

if TYPE_CHECKING:
    import torch

ROW_GROUP_ROWS = 122_880


def write_table(
    table: str, rows: pd.DataFrame, path: Path, *, metadata: Mapping[str, str] | None = None
) -> int:
    """Write rows of one table to a Parquet file, sorted by the table's key, atomically.

    Returns
    -------
    Number of rows written.
    """
    arrow = _add_metadata(conforming(table, rows), metadata or {})
    write_atomically(path, partial(write_parquet, table, arrow))
    return int(arrow.num_rows)


def write_tables(
    frames: Mapping[str, pd.DataFrame], place: Callable[[str], Path]
) -> dict[str, int]:
    """Write rows of several tables as `write_table` does those of one, all files or none.

    Returns
    -------
    Number of rows written, by table.
    """
    arrows = {table: _add_metadata(conforming(table, rows), {}) for table, rows in frames.items()}
    write_together({place(table): partial(write_parquet, table, arrows[table]) for table in arrows})
    return {table: int(arrow.num_rows) for table, arrow in arrows.items()}


def _add_metadata(arrow: pa.Table, metadata: Mapping[str, str]) -> pa.Table:
    return arrow.replace_schema_metadata({**(arrow.schema.metadata or {}), **metadata})


def conforming(table: str, rows: pd.DataFrame) -> pa.Table:
    """Return the rows as an Arrow table that satisfies the contract, sorted by key.

    NaN of numpy becomes NULL.
    """
    expected = schema.arrow_schema(table)
    unknown = sorted(set(rows.columns) - set(expected.names))
    if unknown:
        raise InputError(
            f"Table {table} must have only the columns of schema.sql; found {unknown} besides.",
            f"Its columns are {expected.names}.",
        )
    names = ", ".join(f'"{name}"' for name in rows.columns)
    key = ", ".join(schema.tables()[table].key)
    with schema.empty_table(table) as connection:
        connection.register("rows", pa.Table.from_pandas(rows, preserve_index=False))
        try:
            connection.execute(f'INSERT INTO "{table}" ({names}) SELECT {names} FROM rows')  # noqa: S608
        except duckdb.Error as error:
            schema.raise_interruption(error)
            raise InputError(
                f"Rows of table {table} must satisfy schema.sql; found: {first_line(error)}"
            ) from error
        return connection.sql(f'FROM "{table}" ORDER BY {key}').to_arrow_table().cast(expected)


def write_parquet(table: str, arrow: pa.Table, path: Path) -> None:
    """Write the file of a unit from rows that are sorted and satisfy the contract."""
    key = schema.tables()[table].key
    pq.write_table(arrow, path, row_group_size=ROW_GROUP_ROWS, **layout(arrow.schema, key))


def layout(columns: pa.Schema, order: Sequence[str]) -> dict[str, Any]:
    """Return how rows are laid out in a Parquet file: compression, encodings, order of the rows."""
    names = list(columns.names)
    floats = [field.name for field in columns if pa.types.is_floating(field.type)]
    return {
        "compression": "zstd",
        "compression_level": 9,
        "sorting_columns": [pq.SortingColumn(names.index(name)) for name in order],
        "use_dictionary": [name for name in names if name not in floats],
        "column_encoding": dict.fromkeys(floats, "BYTE_STREAM_SPLIT"),
        "write_page_index": True,
    }


def write_tensors(tensors: Mapping[str, torch.Tensor], path: Path) -> None:
    """Write tensors to a safetensors file that those may read who may read other new files.

    The library makes a file of its own that nobody but its owner can read.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    path.touch()
    permissions = path.stat().st_mode & 0o777
    try:
        save_file(dict(tensors), path)
        path.chmod(permissions)
    except SafetensorError as error:
        raise OSError(str(error)) from error
