"""What to do about a query that DuckDB refuses: where the name is listed that it does not know."""

from __future__ import annotations

import re

import duckdb

from analysis.store.statement import plain, read_tables

#: What DuckDB says of a column that no table of the statement has.
_NO_COLUMN = re.compile(
    r"\bcolumn .*not (found|exist)|not have a column|No matching columns", re.IGNORECASE
)


def hint(error: duckdb.Error, sql: str, connection: duckdb.DuckDBPyConnection) -> str:
    """Return where the kind of name is listed that a statement has wrong; nothing of other errors.

    Parameters
    ----------
    error
        What the engine said of the statement. It names what comes nearest, where it knows it, and
        the tables that an ambiguous column may be of.
    sql
        The statement, whose kind was checked.
    connection
        Connection whose tables and views are meant.
    """
    said = plain(error)
    if isinstance(error, duckdb.CatalogException):
        if "Function with name" in said:
            return "List functions with: SELECT DISTINCT function_name FROM duckdb_functions()"
        return "List tables and views with: SHOW TABLES" if "Table with name" in said else ""
    if not (isinstance(error, duckdb.BinderException) and _NO_COLUMN.search(said)):
        return ""
    with connection.cursor() as cursor:
        asked = " or ".join(f"DESCRIBE {name}" for name in read_tables(sql, cursor))
    return f"List columns with: {asked}" if asked else ""
