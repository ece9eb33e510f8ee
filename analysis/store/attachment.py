"""A DuckDB file of measurements, attached to a store."""

from __future__ import annotations

from pathlib import Path

import duckdb

from analysis.store.statement import plain
from analysis.tidy.errors import StoreError
from collect import schema
from collect.schema import raise_interruption

#: Name under which a database file is attached.
_ATTACHED = "database_file"

_HINT = "Build one with: thermoscope database"


def attach(connection: duckdb.DuckDBPyConnection, path: Path, name: str) -> tuple[str, ...]:
    """Show the contract's tables of a database file, and nothing else that lies in it.

    Its views and macros are not looked at: the store makes its own. A column that an earlier
    version did not write is NULL. Databases of earlier versions have their tables in schema main.

    Parameters
    ----------
    connection
        Database with every table of the contract, empty.
    path
        The file.
    name
        By what the engine opens it.

    Returns
    -------
    A sentence on each column that is left out, as this version does not know it.
    """
    if path.with_name(f"{path.name}.wal").exists():
        raise StoreError(
            f"{path} must be complete by itself; changes to it lie in {path.name}.wal.",
            "Open it once with the program that wrote it and close it, or build it again.",
        )
    connection.execute("SET autoload_known_extensions = false")
    if not path.stat().st_size:  # the engine takes an empty file for a database to be made
        raise StoreError(f"{path} must be a DuckDB database; the file is empty.", _HINT)
    try:
        connection.execute(f"ATTACH {schema.quoted(name)} AS {_ATTACHED} (READ_ONLY)")
        place, attached = schema.RAW, schema.described(connection, _ATTACHED)
        if not attached:
            place = schema.FRONT
            attached = schema.described(connection, _ATTACHED, place=place)
    except duckdb.Error as error:
        raise_interruption(error)
        raise StoreError(f"{path} must be a DuckDB database; {plain(error)}", _HINT) from error
    notes = []
    if place == schema.FRONT and not {"run", "model"} <= attached.keys():
        raise StoreError(
            f"{path} must hold every table of collect/schema.sql; it lacks run or model.", _HINT
        )
    for of, table in schema.tables().items():
        if place == schema.FRONT and of not in attached:
            notes.append(f"Table {of} is empty: {path} is of an earlier version, without it.")
            continue
        actual = _check(path, table, attached.get(of))
        shown = schema.typed_columns(table, actual.names)
        schema.replace_by_view(
            connection, table, f'(SELECT {shown} FROM {_ATTACHED}.{place}."{of}")'
        )
        if {*table.checks} - {*actual.checks}:
            _check_rows(connection, path, table)
        notes += [
            f"Column {name} of table {of} is of another version and left out; it is in {path}."
            for name in actual.names
            if name not in table.names
        ]
    schema.check_networks(connection)
    return tuple(notes)


def _check(path: Path, table: schema.Table, actual: schema.Table | None) -> schema.Table:
    """Refuse a database that lacks a table, or has it with other types, key or checks."""
    if actual is None:
        raise StoreError(
            f"{path} must hold every table of collect/schema.sql; it lacks {table.name}.", _HINT
        )
    lacking = sorted(table.required - {*actual.names})
    if lacking:
        raise _other(path, table, f"it lacks {', '.join(lacking)}")
    there = {column.name: (column.sql_type, column.nullable) for column in actual.columns}
    types = [
        column.name
        for column in table.columns
        if there.get(column.name, ...) not in (..., (column.sql_type, column.nullable))
    ]
    if types:
        raise _other(path, table, f"other types are in {', '.join(types)}")
    if actual.key != table.key:
        raise _other(path, table, "its key is another")
    return actual


def _check_rows(connection: duckdb.DuckDBPyConnection, path: Path, table: schema.Table) -> None:
    """Refuse rows that break a check, of a database that was made with fewer or other ones."""
    for check in table.checks:
        broken = f'SELECT count(*) FROM "{table.name}" WHERE NOT ({check.removeprefix("CHECK")})'
        if connection.execute(broken).fetchall() != [(0,)]:
            raise _other(path, table, f"rows break {check}")


def _other(path: Path, table: schema.Table, how: str) -> StoreError:
    return StoreError(
        f"Table {table.name} of {path} must be as collect/schema.sql says; {how}.", _HINT
    )
