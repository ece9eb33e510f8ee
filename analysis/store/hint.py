"""What to do about a query that DuckDB refuses: where the name is listed that it does not know."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import duckdb

from analysis.store.contents import columns_by_table
from analysis.store.statement import plain, read_tables
from collect import schema
from collect.errors import nearest

#: What DuckDB says of a table that there is not, and what it guesses of any database.
_NO_TABLE = re.compile(r"(Table with name (\S+) does not exist!).*")

#: What DuckDB says of a column that no table of the statement has.
_NO_COLUMN = re.compile(
    r"\bcolumn .*not (found|exist)|not have a column|No matching columns", re.IGNORECASE
)

#: The name of such a column, where the engine says it.
_COLUMN = re.compile(r'(?:Referenced column|a column named) "(\w+)"')

#: What rows are about stands in a table of its own; and what it is joined on.
_KEYS = {
    "model": ["model_id"],
    "raw.run": ["run_id", "model_id"],
    "raw.prompt": ["prompt_id"],
}

_VIEW = re.compile(r"^CREATE VIEW ([\w.]+)", re.MULTILINE)


def problem(error: duckdb.Error) -> str:
    """Return what the engine said of a statement; of an unknown table without its guess."""
    return _NO_TABLE.sub(r"\1", plain(error))


def hint(error: duckdb.Error, sql: str, opened: Callable[[], duckdb.DuckDBPyConnection]) -> str:
    """Return where the kind of name is listed that a statement has wrong; nothing of other errors.

    Parameters
    ----------
    error
        What the engine said of the statement. It names what comes nearest, where it knows it, and
        the tables that an ambiguous column may be of.
    sql
        The statement, whose kind was checked.
    opened
        Gives a cursor whose tables and views are meant.
    """
    message = plain(error)
    if isinstance(error, duckdb.CatalogException):
        if "Function with name" in message:
            return "List functions with: SELECT DISTINCT function_name FROM duckdb_functions()"
        missing = _NO_TABLE.search(message)
        return _suggest_table(missing[2]) if missing else ""
    if not (isinstance(error, duckdb.BinderException) and _NO_COLUMN.search(message)):
        return ""
    with opened() as cursor:
        names = read_tables(sql, cursor)
        missing = _COLUMN.search(message)
        joined = _suggest_join(missing[1].lower(), names, cursor) if missing else ""
    asked = " or ".join(f"DESCRIBE {name}" for name in names)
    return joined or (f"List columns with: {asked}" if asked else "")


def _suggest_join(column: str, names: list[str], cursor: duckdb.DuckDBPyConnection) -> str:
    """Return how to join the table that has a column to what was read; nothing where none has."""
    known = columns_by_table(cursor)
    for table, keys in _KEYS.items():
        are_read = any({*keys} <= known.get(name, set()) for name in names)
        if table not in names and column in known.get(table, ()) and are_read:
            return f"{column} is in {table}: add JOIN {table} USING ({', '.join(keys)})"
    return ""


def _suggest_table(name: str) -> str:
    """Return the table or view whose name is like one, and where all are listed."""
    return f"{nearest_table(name)}List tables and views with: SHOW ALL TABLES"


def nearest_table(name: str) -> str:
    """Return in words the table or view whose name is most like one; nothing if none is like it.

    Parameters
    ----------
    name
        What was given.

    Examples
    --------
    >>> nearest_table("modell"), nearest_table("nosuch")
    ('The nearest is model. ', '')
    """
    near = nearest(name.removeprefix(f"{schema.RAW}."), [*front(), *relations()])
    return f"The nearest is {near[0]}. " if near else ""


@cache
def front() -> list[str]:
    """Return the names of the tables of schema main, in their order."""
    return [name.removeprefix(f"{schema.FRONT}.") for name in _VIEW.findall(schema.front_sql())]


@cache
def relations() -> list[str]:
    """Return the names of the tables and views of schema raw, tables first."""
    return [*schema.tables(), *_VIEW.findall(schema.views_sql())]
