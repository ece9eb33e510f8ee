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

_HINT = "Build one with: thermoscope collect database"


def attach(connection: duckdb.DuckDBPyConnection, path: Path, name: str) -> None:
    """Show the contract's tables of a database file, and nothing else that lies in it.

    Its views and macros are not looked at: the store makes its own. ``name`` is that by which
    the engine opens the file.
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
        attached = schema.described(connection, _ATTACHED)
    except duckdb.Error as error:
        raise_interruption(error)
        raise StoreError(f"{path} must be a DuckDB database; {plain(error)}", _HINT) from error
    for of, table in schema.tables().items():
        _check_table(path, table, attached.get(of))
        schema.replace_by_view(connection, table, f'{_ATTACHED}.raw."{of}"')
    schema.check_networks(connection)


def _check_table(path: Path, table: schema.Table, actual: schema.Table | None) -> None:
    """Refuse a database that lacks a table, or has it with other columns, keys or checks."""
    if actual is None:
        raise StoreError(
            f"{path} must hold every table of collect/schema.sql; it lacks {table.name}.", _HINT
        )
    if actual.contract != table.contract:
        raise StoreError(
            f"Table {table.name} of {path} must be as collect/schema.sql says; its columns, key "
            "or checks are others.",
            _HINT,
        )
