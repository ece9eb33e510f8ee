"""One empty table of the contract, to try rows in.

A database of its own takes some ten milliseconds to start, a table in one that runs takes less
than one; a unit writes a dozen tables, and a check of an output reads each of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import duckdb

from collect.schema.contract import table_sql


@contextmanager
def empty_table(table: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Lend a connection on which one table of ``schema.sql`` is there and empty.

    The table is temporary: no other connection sees it, and it ends with the loan.

    Parameters
    ----------
    table
        Name of a table of ``schema.sql``.
    """
    with _engine(os.getpid()).cursor() as connection:
        connection.execute(table_sql(table).replace("CREATE TABLE", "CREATE TEMP TABLE", 1))
        yield connection


@cache
def _engine(process: int) -> duckdb.DuckDBPyConnection:
    """Return the database of a process; a forked one cannot use its parent's."""
    return duckdb.connect()
