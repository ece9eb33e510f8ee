"""Large tables left in their Parquet files: views in the place of tables, and their keys."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import duckdb

from collect.measures.declaration import quoted
from collect.process.interruption import raise_interruption
from collect.schema.contract import LARGE, ContractError, Table, tables
from collect.schema.sources import Sources


def left_in_files(sources: Sources) -> dict[str, list[Path]]:
    """Return the files of the large tables, which need not be copied; a CSV file must be."""
    return {
        table: paths
        for table, paths in sources.files.items()
        if table in LARGE and not any(path.suffix == ".csv" for path in paths)
    }


def attach(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    names: Mapping[str, Sequence[str]],
    *,
    copy: bool = False,
) -> None:
    """Put a view over some Parquet files in the place of an empty table; see `comment`.

    A column that a file lacks is NULL. A query opens every file of a view as often as it names it.

    Parameters
    ----------
    connection
        Database that has the table.
    table
        Which.
    names
        Columns of each file, by the name that the connection opens it by.
    copy
        True to read the files now, once, and hold their rows.
    """
    source = _parquet(tables()[table], names)
    if copy:
        connection.execute(f'DROP TABLE "{table}"; CREATE TABLE "{table}" AS FROM {source}')
    else:
        replace_by_view(connection, tables()[table], source)


def _parquet(table: Table, names: Mapping[str, Sequence[str]]) -> str:
    """Return the files of a table as what stands in FROM, with every column of the contract."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, columns in names.items():
        alike.setdefault(tuple(columns), []).append(name)
    parts = []
    for columns, places in alike.items():
        shown = typed_columns(table, columns)
        parts.append(f"SELECT {shown} FROM read_parquet([{', '.join(map(quoted, places))}])")
    return f"({' UNION ALL '.join(parts)})"


def typed_columns(table: Table, known: Collection[str]) -> str:
    """Return the columns of a table as what stands after SELECT, NULL where they are not known."""
    return ", ".join(
        f'"{column.name}"'
        if column.name in known
        else f'CAST(NULL AS {column.sql_type}) AS "{column.name}"'
        for column in table.columns
    )


def check_keys(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    names: Mapping[str, Sequence[str]],
    paths: Sequence[Path],
) -> None:
    """Refuse a large table whose keys repeat, where no run file vouches for its rows.

    Parameters
    ----------
    connection
        Database that can open the files.
    table
        Which.
    names
        Columns of each of the table's files, by the name that the connection opens it by.
    paths
        Those files.

    Raises
    ------
    ContractError
        If one does, or the rows cannot be read.
    """
    key = ", ".join(f'"{name}"' for name in tables()[table].key)
    hint = f"The rows come from {display(paths)}."
    try:
        repeat = connection.execute(
            f"SELECT {key}, count(*) FROM {_parquet(tables()[table], names)} "
            f"GROUP BY {key} HAVING count(*) > 1 LIMIT 1"
        ).fetchone()
    except duckdb.Error as error:
        raise_interruption(error)
        reason = " ".join(str(error).split())
        raise ContractError(
            f"The keys of table {table} must be readable; {reason}", hint
        ) from error
    if repeat is not None:
        raise ContractError(
            f"Each key of table {table} must occur once; {repeat[:-1]} occurs {repeat[-1]} times.",
            hint,
        )


def replace_by_view(connection: duckdb.DuckDBPyConnection, table: Table, source: str) -> None:
    """Put a view with the table's columns in the place of an empty table; see `comment`.

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
    connection.execute(
        f'DROP TABLE "{table.name}"; CREATE VIEW "{table.name}" AS SELECT {names} FROM {source}'
    )


def display(paths: Sequence[Path]) -> str:
    """Return some files for people, the first of many."""
    return ", ".join(str(path) for path in paths[:4]) + (" ..." if len(paths) > 4 else "")
