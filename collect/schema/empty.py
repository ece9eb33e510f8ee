"""One empty table of the contract, to try rows in, and whether rows would be taken.

A database of its own takes some ten milliseconds to start, a table in one that runs takes less
than one; a unit writes a dozen tables, and a check of an output reads each of them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from collect.process.interruption import raise_interruption
from collect.schema.contract import ContractError, arrow_schema, table_sql, tables

#: Most files whose rows wait for others of their table: a table in memory costs some KiB by itself.
FILES_TOGETHER = 256


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


def check_rows(table: str, parts: Mapping[str, pa.Table]) -> Iterator[ContractError]:
    """Yield which rows break a key, a check or a type of their table.

    Parameters
    ----------
    table
        Name of a table of ``schema.sql``.
    parts
        Rows, with every column of the table, by what a message calls them. A key may be in two
        parts.
    """
    if _evidently_satisfy(table, list(parts.values())):
        return
    for name, rows in parts.items():
        if len(parts) > 1 and _evidently_satisfy(table, [rows]):
            continue
        with empty_table(table) as connection:
            connection.register("rows", rows)
            try:
                connection.execute(f'INSERT INTO "{table}" BY NAME FROM rows')
            except duckdb.Error as error:
                raise_interruption(error)
                reason = str(error).strip().splitlines()[0]
                yield ContractError(f"Rows of {name} must satisfy schema.sql; found: {reason}")


class Trial:
    """Rows of many files, tried against the contract together, table by table.

    To try those of a small file by themselves costs ten times as much.

    Parameters
    ----------
    n_rows
        How many rows of a table are waited for, unless `FILES_TOGETHER` come first.
    """

    def __init__(self, n_rows: int) -> None:
        self._n_rows = n_rows
        self._n_waiting: Counter[str] = Counter()
        self._waiting: dict[str, dict[str, pa.Table]] = {}

    def add(self, table: str, name: str, rows: pa.Table) -> Iterator[ContractError]:
        """Take rows, and yield what `check_rows` does once there are enough of their table."""
        waiting = self._waiting.setdefault(table, {})
        waiting[name] = rows
        self._n_waiting[table] += len(rows)
        if self._n_waiting[table] >= self._n_rows or len(waiting) >= FILES_TOGETHER:
            yield from self._try_rows(table)

    def rest(self) -> Iterator[ContractError]:
        """Yield what `check_rows` does of all rows that still wait."""
        for table in list(self._waiting):
            yield from self._try_rows(table)

    def _try_rows(self, table: str) -> Iterator[ContractError]:
        del self._n_waiting[table]
        return check_rows(table, self._waiting.pop(table))


def _evidently_satisfy(table: str, parts: Sequence[pa.Table]) -> bool:
    """Return whether rows in the order of their key satisfy their table; False of any others.

    To insert rows costs five times as much, nearly all of it for the index of the key.
    """
    expected, contract = arrow_schema(table), tables()[table]
    if any(sorted(part.column_names) != sorted(expected.names) for part in parts):
        return False
    chosen = [part.select(expected.names) for part in parts]
    if any(part.schema.types != expected.types for part in chosen):
        return False
    plain = [pa.Table.from_arrays(part.columns, names=expected.names) for part in chosen]
    rows = pa.concat_tables(plain)
    try:
        rows.validate(full=True)
    except pa.ArrowInvalid:
        return False
    filled = [column.name for column in contract.columns if not column.nullable]
    if any(rows.column(name).null_count for name in filled):
        return False
    if not all(_ascend(part, contract.key) for part in chosen):
        return False
    checks = " AND ".join(["true", *(check.removeprefix("CHECK") for check in contract.checks)])
    with _engine(os.getpid()).cursor() as connection:
        connection.register("rows", rows)
        broken = f"SELECT count(*) FROM rows WHERE NOT ({checks})"
        return bool(connection.execute(broken).fetchall() == [(0,)])


def _ascend(rows: pa.Table, key: Sequence[str]) -> bool:
    """Return whether each row has a larger key than the row before it, so that none is twice."""
    n_pairs = max(len(rows) - 1, 0)
    larger = pa.chunked_array([pa.repeat(False, n_pairs)])
    for name in reversed(key):
        before, after = rows.column(name).slice(0, n_pairs), rows.column(name).slice(1)
        larger = pc.or_(pc.less(before, after), pc.and_(pc.equal(before, after), larger))
    return bool(pc.all(larger, skip_nulls=False, min_count=0).as_py())


@cache
def _engine(process: int) -> duckdb.DuckDBPyConnection:
    """Return the database of a process; a forked one cannot use its parent's."""
    return duckdb.connect()
