"""Put the rows of several directories into one database that satisfies the contract."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa

from collect.schema.contract import LARGE, ContractError, Table, tables
from collect.schema.files import check_columns, check_units, read_rows, table_files

#: Geometry that two descriptions of one model must agree on.
GEOMETRY = ("n_layers", "d_model", "n_heads", "n_kv_heads", "d_head")


def assemble(
    connection: duckdb.DuckDBPyConnection,
    directories: Sequence[Path],
    *,
    copy: bool,
    named: Callable[[Path], str] = str,
) -> dict[str, list[Path]]:
    """Fill the empty tables of a connection from directories of measurements.

    Parameters
    ----------
    connection
        Database with the tables of ``schema.sql``, empty.
    directories
        Where the files lie. A unit measured in two of them counts once if it is the same run.
    copy
        True to copy the large tables; False to leave them in their Parquet files, behind views
        that carry the same comments. A CSV file is always copied.
    named
        Gives the name by which the connection opens a file that is left where it is.

    Returns
    -------
    Files used, by table.

    Raises
    ------
    ContractError
        If a directory holds no table, a file is damaged, rows break the contract, or two
        directories disagree.
    """
    files = _merged_files(directories)
    for table, paths in files.items():
        for path in paths:
            check_columns(path, table)
        is_text = any(path.suffix == ".csv" for path in paths)
        if table in LARGE and not (copy or is_text):
            _attach(connection, table, [named(path) for path in paths])
        else:
            _insert(connection, table, paths)
    return files


def _merged_files(directories: Sequence[Path]) -> dict[str, list[Path]]:
    merged: dict[str, list[Path]] = {}
    runs: dict[str, tuple[str, Path]] = {}
    for directory in directories:
        check_units(directory)
        found = table_files(directory)
        if not found:
            raise ContractError(
                f"{directory} must hold at least one table of measurements; found none.",
                "Expected <table>.csv, <table>.parquet or <table>/*.parquet in it.",
            )
        repeated = _register_runs(found.get("run", []), runs)
        for table, paths in found.items():
            fresh = [
                path for path in paths if (path.stem not in repeated or path.parent.name != table)
            ]
            merged.setdefault(table, []).extend(fresh)
    return merged


def _register_runs(paths: Sequence[Path], runs: dict[str, tuple[str, Path]]) -> set[str]:
    """Remember the run of each unit; return the stems of units another directory has too."""
    repeated = set()
    for path in paths:
        identity = str(read_rows(path, "run").column("run_id")[0])
        known_identity, known_path = runs.setdefault(path.stem, (identity, path))
        if known_path == path:
            continue
        if known_identity != identity:
            raise ContractError(
                f"A unit must be measured in one way within a store; {path.stem} differs "
                f"between {known_path} and {path}.",
                "Open the directories one at a time.",
            )
        repeated.add(path.stem)
    return repeated


def _attach(connection: duckdb.DuckDBPyConnection, table: str, names: Sequence[str]) -> None:
    """Put a view over some Parquet files in the place of an empty table."""
    listed = ", ".join(quoted(name) for name in names)
    replace_by_view(connection, tables()[table], f"read_parquet([{listed}])")


def replace_by_view(connection: duckdb.DuckDBPyConnection, table: Table, source: str) -> None:
    """Put a view with the table's columns and comments in the place of an empty table.

    Parameters
    ----------
    connection
        Database that has the table.
    table
        What the view is called, and which columns it shows.
    source
        What stands in its FROM.
    """
    names = ", ".join(f'"{column.name}"' for column in table.columns)
    statements = [
        f'DROP TABLE "{table.name}"',
        f'CREATE VIEW "{table.name}" AS SELECT {names} FROM {source}',
        f'COMMENT ON VIEW "{table.name}" IS {quoted(table.meaning)}',
    ]
    for column in table.columns:
        comment = quoted(f"{column.meaning} [{column.unit}]")
        statements.append(f'COMMENT ON COLUMN "{table.name}"."{column.name}" IS {comment}')
    connection.execute(";\n".join(statements))


def _insert(connection: duckdb.DuckDBPyConnection, table: str, paths: Sequence[Path]) -> None:
    """Insert the distinct rows in the order of the key, so that keys and checks are enforced.

    Measured files (Parquet) come before hand-made tables (CSV).
    """
    ordered = sorted(paths, key=lambda path: path.suffix == ".csv")
    rows = pa.concat_tables([read_rows(path, table) for path in ordered])
    if table == "model":
        rows = _one_description_per_model(rows, paths)
    key = ", ".join(tables()[table].key)
    connection.register("incoming", rows)
    try:
        insert = f'INSERT INTO "{table}" SELECT DISTINCT * FROM incoming ORDER BY {key}'
        connection.execute(insert)
    except duckdb.Error as error:
        reason = " ".join(str(error).split())
        shown = ", ".join(str(path) for path in paths[:4]) + (" ..." if len(paths) > 4 else "")
        raise ContractError(
            f"Rows of table {table} must satisfy collect/schema.sql; found: {reason}",
            f"The rows come from {shown}.",
        ) from error
    finally:
        connection.unregister("incoming")


def _one_description_per_model(rows: pa.Table, paths: Sequence[Path]) -> pa.Table:
    """Join descriptions of one model; the first that says something wins (see `_insert`)."""
    models = rows.to_pandas(types_mapper=pd.ArrowDtype)
    disagreeing = [
        model_id
        for model_id, group in models.groupby("model_id")
        if len(group[list(GEOMETRY)].drop_duplicates()) > 1
    ]
    if disagreeing:
        raise ContractError(
            f"Descriptions of one model must agree on its geometry; they differ for {disagreeing}.",
            f"Compare {', '.join(GEOMETRY)} in {', '.join(str(path) for path in paths[:4])}.",
        )
    joined = models.groupby("model_id", sort=False).first().reset_index()
    return pa.Table.from_pandas(joined[rows.column_names], schema=rows.schema, preserve_index=False)


def quoted(text: str) -> str:
    """Return a text as a constant of SQL."""
    return "'" + text.replace("'", "''") + "'"
