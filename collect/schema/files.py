"""Where the rows of a table lie, and whether a file of them is whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.csv

from collect.schema.contract import MEASURED, arrow_schema, tables
from collect.schema.headers import (
    UNREADABLE,
    Headers,
    check_names,
    completed,
    damaged,
    is_pack,
    packed_units,
)

#: Directory of the files of units that are being written, out of the way of globs over tables.
UNFINISHED = ".unfinished"

#: Endings of a table that lies in one file.
_WHOLE = (".csv", ".parquet")

#: Empty text, made of its buffers: Arrow imports pandas to make it of a str, for .3 s.
_EMPTY = pa.StringArray.from_buffers(1, pa.py_buffer(bytes(8)), pa.py_buffer(b""))[0]


def table_files(directory: Path) -> dict[str, list[Path]]:
    """Return the files of each table in a directory, complete units only.

    A table lies in ``<table>.csv``, ``<table>.parquet`` or ``<table>/*.parquet``. A measured
    unit is complete when its ``run`` file exists, since that file is written last; files of
    incomplete units are left out (see `incomplete_units`), and so are those of units that a pack
    holds (see `collect.schema.headers`).

    Raises
    ------
    ContractError
        If the run file of a pack is damaged.
    """
    by_table: dict[str, list[Path]] = {}
    committed, packed = _complete(directory)
    counting = committed - packed
    for table in tables():
        whole = [directory / f"{table}{suffix}" for suffix in _WHOLE]
        parts = sorted((directory / table).glob("*.parquet"))
        if table in MEASURED or table == "run":
            parts = [path for path in parts if path.stem in counting]
        paths = [path for path in whole if path.is_file()] + parts
        if paths:
            by_table[table] = paths
    return by_table


def stored_twice(
    directory: Path, files: Mapping[str, Sequence[Path]] | None = None
) -> dict[str, list[Path]]:
    """Return the places of each table that a directory holds in more than one form.

    Parameters
    ----------
    directory
        Where to look.
    files
        What `table_files` gave for it, where that is known.
    """
    by_table: dict[str, list[Path]] = {}
    for table, paths in (files or table_files(directory)).items():
        whole = {directory / f"{table}{suffix}" for suffix in _WHOLE}
        places = sorted(whole.intersection(paths))
        if len(places) < len(paths):
            places = sorted([*places, directory / table])
        if len(places) > 1:
            by_table[table] = places
    return by_table


def incomplete_units(directory: Path) -> list[str]:
    """Return the file stems of units whose measurement was interrupted, sorted.

    A pack that was not finished is none: its units are there as they were.

    Raises
    ------
    ContractError
        If the run file of a pack is damaged.
    """
    committed, packed = _complete(directory)
    begun = {path.name for path in (directory / UNFINISHED).glob("*")}
    begun |= {p.stem for table in MEASURED for p in (directory / table).glob("*.parquet")}
    return sorted(stem for stem in begun - committed - packed if not is_pack(stem))


def read_rows(path: Path, table: str, headers: Headers | None = None) -> pa.Table:
    """Return the rows of one file, typed as the contract says.

    Raises
    ------
    ContractError
        If the file is damaged, lacks a column that may not be NULL, or has one of another type.
    """
    if path.suffix != ".csv":
        known = headers or Headers()
        known.note_columns(path, table, known.of(path).columns.names)
        return known.run(path) if table == "run" else known.of(path).read(table)
    expected = arrow_schema(table)
    try:
        with path.open("rb") as file:
            rows = _read_csv(file, expected)
        names = rows.column_names  # decoded only when they are asked for
    except UNREADABLE as error:
        raise damaged(path, error) from error
    check_names(path, table, names)
    if headers is not None:
        headers.note_columns(path, table, names)
    try:
        return _filled(completed(rows, table), expected).cast(expected)
    except UNREADABLE as error:
        raise damaged(path, error) from error


def _complete(directory: Path) -> tuple[set[str], set[str]]:
    """Return the stems of the run files of a directory, and of the units that packs hold."""
    run_files = list((directory / "run").glob("*.parquet"))
    return {path.stem for path in run_files}, packed_units(run_files)


def _read_csv(file: BinaryIO, expected: pa.Schema) -> pa.Table:
    return pyarrow.csv.read_csv(
        file,
        read_options=pyarrow.csv.ReadOptions(use_threads=False),
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types={field.name: field.type for field in expected},
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
        ),
    )


def _filled(rows: pa.Table, expected: pa.Schema) -> pa.Table:
    """Put empty text in the place of an empty field where the table forbids NULL."""
    for field in expected:
        if not field.nullable and pa.types.is_string(field.type):
            place = rows.column_names.index(field.name)
            filled = rows.column(field.name).fill_null(_EMPTY)
            rows = rows.set_column(place, field.name, filled)
    return rows
