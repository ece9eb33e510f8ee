"""Where the rows of a table lie, and whether a file of them is whole."""

from __future__ import annotations

import difflib
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from collect.schema.contract import MEASURED, ContractError, arrow_schema, tables


def table_files(directory: Path) -> dict[str, list[Path]]:
    """Return the files of each table in a directory, complete units only.

    A table lies in ``<table>.csv``, ``<table>.parquet`` or ``<table>/*.parquet``. A measured
    unit is complete when its ``run`` file exists, since that file is written last; files of
    incomplete units are left out (see `incomplete_units`).
    """
    found: dict[str, list[Path]] = {}
    committed = _stems(directory, "run")
    for table in tables():
        whole = [directory / f"{table}{suffix}" for suffix in (".csv", ".parquet")]
        parts = sorted((directory / table).glob("*.parquet"))
        if table in MEASURED:
            parts = [path for path in parts if path.stem in committed]
        paths = [path for path in whole if path.is_file()] + parts
        if paths:
            found[table] = paths
    return found


def incomplete_units(directory: Path) -> list[str]:
    """Return the file stems of units whose measurement was interrupted, sorted."""
    committed = _stems(directory, "run")
    begun = set().union(*(_stems(directory, table) for table in MEASURED))
    return sorted(begun - committed)


def check_units(directory: Path) -> None:
    """Check that each unit marked as complete still has every file it wrote.

    A run file lists in its metadata (``rows``) the files of its unit, relative to the
    directory, as ``collect run`` writes them.

    Raises
    ------
    ContractError
        If a run file is damaged or a file it lists is missing.
    """
    for path in sorted((directory / "run").glob("*.parquet")):
        try:
            metadata = pq.read_schema(path).metadata or {}
            listed = json.loads(metadata.get(b"rows", b"{}"))
        except (pa.ArrowException, OSError, ValueError) as error:
            raise _damaged(path, error) from error
        missing = [name for name in listed if not (directory / name).is_file()]
        if missing:
            raise ContractError(
                f"A unit marked as complete must have all its files; {path.stem} in {directory} "
                f"lacks {', '.join(missing)}.",
                "Measure it again with the same command: the unit is then measured anew.",
            )


def read_rows(path: Path, table: str) -> pa.Table:
    """Return the rows of one file, typed as the contract says.

    Raises
    ------
    ContractError
        If the file is damaged, or its columns are not those of the table.
    """
    check_columns(path, table)
    expected = arrow_schema(table)
    try:
        rows = _read_csv(path, expected) if path.suffix == ".csv" else pq.ParquetFile(path).read()
        return rows.select(expected.names).cast(expected)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _damaged(path, error) from error


def check_columns(path: Path, table: str) -> None:
    """Raise ContractError unless the file is whole and has exactly the table's columns."""
    expected = arrow_schema(table).names
    found = _header(path)
    missing = [name for name in expected if name not in found]
    unknown = [name for name in found if name not in expected]
    if missing or unknown:
        raise ContractError(
            f"{path} must have exactly the columns of table {table}; "
            f"missing: {', '.join(missing) or 'none'}; unknown: {', '.join(unknown) or 'none'}.",
            _guess(missing, unknown) or "It comes from another version: measure or import again.",
        )


def _guess(missing: list[str], unknown: list[str]) -> str:
    pairs = [(name, difflib.get_close_matches(name, unknown, 1)) for name in missing]
    return "; ".join(f"{near[0]} is probably {name}" for name, near in pairs if near)


def _stems(directory: Path, table: str) -> set[str]:
    return {path.stem for path in (directory / table).glob("*.parquet")}


def _header(path: Path) -> list[str]:
    try:
        if path.suffix == ".csv":
            return list(_read_csv(path, None).column_names)
        return list(pq.read_schema(path).names)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _damaged(path, error) from error


def _read_csv(path: Path, expected: pa.Schema | None) -> pa.Table:
    """Read a CSV: an empty field is NULL, or empty text where the table forbids NULL."""
    rows = pyarrow.csv.read_csv(
        path,
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types={field.name: field.type for field in expected or []},
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
        ),
    )
    for field in expected or []:
        if not field.nullable and pa.types.is_string(field.type):
            place = rows.column_names.index(field.name)
            filled = rows.column(field.name).fill_null("")
            rows = rows.set_column(place, field.name, filled)
    return rows


def _damaged(path: Path, error: Exception) -> ContractError:
    reason = str(error).strip().partition("\n")[0] or type(error).__name__
    return ContractError(
        f"{path} must be a complete file of this project; it cannot be read ({reason}).",
        "Delete it, then measure or import again.",
    )
