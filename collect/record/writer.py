"""Rows to Parquet: validated against the contract, written atomically.

A file is complete or absent: rows go to a temporary file in the same directory, which is
flushed to disk and then renamed. Killing the process leaves at most a ``.tmp`` file that
no reader looks at and the next write of the same file removes.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import socket
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from collect import schema
from collect.errors import InputError, OutputError
from collect.record import placement
from collect.schema.packs import is_pack

ROW_GROUP_ROWS = 122_880

#: Longest name of a unit [bytes]: file systems take 255, of which a temporary file needs some more.
STEM_BYTES = 200


def file_stem(
    model_id: str, prompt_set: str | None = None, revision_name: str | None = None
) -> str:
    """Return the file name, without suffix, of one unit of measurement.

    Raises
    ------
    InputError
        If no file can have that name.

    Examples
    --------
    >>> file_stem("EleutherAI/pythia-70m", "B_pythia_sweep")
    'EleutherAI--pythia-70m@B_pythia_sweep'
    >>> file_stem("EleutherAI/pythia-70m", None, "step1000")
    'EleutherAI--pythia-70m~step1000'
    """
    stem = model_id.replace("/", "--")
    if revision_name is not None:
        stem = f"{stem}~{revision_name.replace('/', '--')}"
    if prompt_set is not None:
        stem = f"{stem}@{prompt_set}"
    _refuse_impossible(stem)
    return stem


def _refuse_impossible(stem: str) -> None:
    try:
        n_bytes = len(stem.encode("utf-8"))
    except UnicodeEncodeError:
        n_bytes = 0
    is_printable = not any(ord(sign) < 32 or ord(sign) == 127 or sign == "\\" for sign in stem)
    if is_pack(stem):
        raise InputError(
            f"The names of a model and a revision must not make that of packed units; {stem} is "
            "such a name.",
            "Rename the checkpoint's directory.",
        )
    if not 0 < n_bytes <= STEM_BYTES or not is_printable:
        raise InputError(
            f"The names of a model and a prompt set must make a file name: at most {STEM_BYTES} "
            f"bytes of UTF-8 without control characters; found {stem[:60]!a} "
            f"({len(stem)} characters).",
            "Rename the checkpoint's directory or the prompt file.",
        )


#: Writes a file at a path.
Write = Callable[[Path], None]


def write_table(
    table: str, rows: pd.DataFrame, path: Path, *, metadata: Mapping[str, str] | None = None
) -> int:
    """Write rows of one table to a Parquet file, sorted by the table's key, atomically.

    Parameters
    ----------
    table
        Name of a table of ``schema.sql``.
    rows
        One row per row of the table. Columns the table lacks are an error; columns that
        are missing become NULL where the table allows it.
    path
        File to create or replace. Its directory is created.
    metadata
        Provenance to keep in the file's key-value metadata.

    Returns
    -------
    Number of rows written.

    Raises
    ------
    InputError
        If the rows break the contract: unknown column, NULL, key or check.
    OutputError
        If the file cannot be written.
    """
    arrow = _with_metadata(conforming(table, rows), metadata or {})
    write_atomically(path, partial(write_parquet, table, arrow))
    return int(arrow.num_rows)


def write_tables(
    frames: Mapping[str, pd.DataFrame], place: Callable[[str], Path]
) -> dict[str, int]:
    """Write rows of several tables as `write_table` does those of one, all files or none.

    Parameters
    ----------
    frames
        Rows by table, in the order in which their files appear.
    place
        Gives the file of a table.

    Returns
    -------
    Number of rows written, by table.

    Raises
    ------
    InputError
        If rows break the contract.
    OutputError
        If a file cannot be written; all stay as they were.
    """
    arrows = {table: _with_metadata(conforming(table, rows), {}) for table, rows in frames.items()}
    write_together({place(table): partial(write_parquet, table, arrows[table]) for table in arrows})
    return {table: int(arrow.num_rows) for table, arrow in arrows.items()}


def _with_metadata(arrow: pa.Table, metadata: Mapping[str, str]) -> pa.Table:
    return arrow.replace_schema_metadata({**(arrow.schema.metadata or {}), **metadata})


def conforming(table: str, rows: pd.DataFrame) -> pa.Table:
    """Return the rows as an Arrow table that satisfies the contract, sorted by key.

    Raises
    ------
    InputError
        If a column is unknown, or a type, NULL, key or check is violated.
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
                f"Rows of table {table} must satisfy schema.sql; found: {_first_line(error)}"
            ) from error
        return connection.sql(f'FROM "{table}" ORDER BY {key}').to_arrow_table().cast(expected)


def write_atomically(path: Path, write: Write) -> None:
    """Call ``write(temporary_path)``, flush the file to disk and rename it to ``path``.

    Raises
    ------
    OutputError
        If the directory or file cannot be written; nothing is left behind.
    """
    write_together({path: write})


def write_together(writes: Mapping[Path, Write]) -> None:
    """Write several files as `write_atomically` does one, and rename none before all are there.

    They are renamed in their order. Where one cannot be written all stay as they were; a process
    that is killed between two renames leaves some new and some old.

    Raises
    ------
    OutputError
        If a directory or file cannot be written; nothing is left behind.
    """
    prepared = {path: temporary_beside(path) for path in writes}
    path = next(iter(writes))
    try:
        for path, temporary in prepared.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            remove_of_dead_processes(path)
            writes[path](temporary)
            with temporary.open("rb+") as handle:
                os.fsync(handle.fileno())
            if path.is_dir() and not path.is_symlink():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with placement.uninterrupted():
            for path, temporary in prepared.items():
                temporary.replace(path)
    except OSError as error:
        raise OutputError(
            f"The output file {path} must be writable; {error.strerror or error}.",
            "Choose another --out, or free the space.",
        ) from error
    finally:
        for temporary in prepared.values():
            temporary.unlink(missing_ok=True) if temporary.parent.is_dir() else None


def write_text(path: Path, text: str) -> None:
    """Write a text file, complete or not at all.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    write_atomically(path, text_writing(text))


def text_writing(text: str) -> Write:
    """Return what writes a text file."""

    def write(path: Path) -> None:
        path.write_text(text, encoding="utf-8")

    return write


def temporary_beside(path: Path) -> Path:
    """Return the place beside a path at which this process prepares what will lie there."""
    return path.with_name(f".{path.name}.{_machine()}{os.getpid():010d}.tmp")


def _machine() -> int:
    """Return a number for this machine, to tell its processes from those of others."""
    return zlib.crc32(socket.gethostname().encode()) + 1


def remove_of_dead_processes(path: Path) -> None:
    """Remove what processes of this machine had prepared for a path when they were killed."""
    name = re.compile(rf"\.{re.escape(path.name)}\.(\d*?)(\d{{1,10}})\.tmp(?:\.wal)?")
    for beside in path.parent.iterdir():
        found = name.fullmatch(beside.name)
        if found and found[1] in ("", str(_machine())) and not _is_alive(int(found[2])):
            remove(beside)


def remove(path: Path) -> None:
    """Remove a file, a link or a directory with all it holds, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # another user's
    return True


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


def _first_line(error: duckdb.Error) -> str:
    return str(error).strip().splitlines()[0]
