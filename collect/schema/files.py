"""Where the rows of a table lie, and whether a file of them is whole."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from collect.schema.contract import MEASURED, ContractError, arrow_schema, tables
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

#: What stands for nothing in columns that are never NULL and that a table made by hand may leave
#: out; columns that may be NULL may be left out as well.
LEFT_OUT: dict[str, dict[str, str]] = {
    "claim": {"place": ""},
    "model": {"family": ""},
    "published_figure": {"prompt_set": "none", "dtype": "", "path": "", "caveats": ""},
    "published_profile": {"prompt_set": "none", "dtype": "", "caveats": ""},
    "published_value": {"caveats": ""},
    "verdict": {"stated_by": "author"},
}

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
        return known.of(path).read(table)
    expected = arrow_schema(table)
    try:
        with path.open("rb") as file:
            rows = pyarrow.csv.read_csv(
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
        names = rows.column_names  # decoded only when they are asked for
    except pa.ArrowInvalid as error:
        raise _no_value(path, error) or damaged(path, error) from error
    except UNREADABLE as error:
        raise damaged(path, error) from error
    left_out = LEFT_OUT.get(table, {})
    check_names(path, table, names, left_out)
    if headers is not None:
        headers.note_columns(path, table, names)
    absent = {name: value for name, value in left_out.items() if name not in names}
    rows = _fill(completed(rows, table), expected, absent)
    _require_filled(path, rows, expected)
    try:
        return rows.cast(expected)
    except UNREADABLE as error:
        raise damaged(path, error) from error


def _complete(directory: Path) -> tuple[set[str], set[str]]:
    """Return the stems of the run files of a directory, and of the units that packs hold."""
    run_files = list((directory / "run").glob("*.parquet"))
    return {path.stem for path in run_files}, packed_units(run_files)


def _require_filled(path: Path, rows: pa.Table, expected: pa.Schema) -> None:
    """Refuse an empty field where the table needs a value; name its row and column."""
    for field in expected:
        empty = rows.column(field.name).is_null()
        if not field.nullable and pc.any(empty).as_py():
            row = empty.to_pylist().index(True) + 1
            raise ContractError(
                f"Every row of {path} must have {field.name}; row {row} has none.",
                "Fill it in, or leave the row out.",
            )


#: What Arrow says of a field that is no value of its column's type.
_NOT_OF_TYPE = re.compile(
    r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (\w+): invalid value '(.*)'"
)


def _no_value(path: Path, error: pa.ArrowInvalid) -> ContractError | None:
    """Return the refusal of a field that is no number or truth value, by its row and column."""
    match = _NOT_OF_TYPE.search(str(error))
    if match is None:
        return None
    with path.open(encoding="utf-8", newline="") as file:
        header = next(csv.reader(file), [])
    place = int(match[1])
    name = header[place] if place < len(header) else f"number {place + 1}"
    row = f"row {int(match[2]) - 1}" if match[2] else "a row"
    return ContractError(
        f"Column {name} of {path} must hold values of type {match[3]}; {row} has "
        f"the invalid value {match[4][:40]!r}.",
        "Correct it there; leave the field empty where there is none.",
    )


def _fill(rows: pa.Table, expected: pa.Schema, left_out: Mapping[str, str]) -> pa.Table:
    """Put what stands for nothing in the place of a missing text where the table forbids NULL."""
    for field in expected:
        if not field.nullable and pa.types.is_string(field.type):
            value = left_out.get(field.name, "")
            place = rows.column_names.index(field.name)
            scalar = pa.scalar(value, field.type) if value else _EMPTY
            rows = rows.set_column(place, field.name, rows.column(field.name).fill_null(scalar))
    return rows
