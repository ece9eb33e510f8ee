"""What of a store is made when it is first asked for: its large tables, its views, its comments.

To make a view costs what it costs to plan its query. A query needs a few of them; all together cost
as much as the rest of opening, and a comment on each as much again.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import duckdb

from analysis.store.statement import plain
from analysis.tidy.errors import StoreError
from collect import schema
from collect.schema import raise_interruption

#: What a query holds that may list tables and views, take the name of one, or show comments.
_OF_CATALOGUE = re.compile(
    r"duckdb_|pg_|information_schema|comment|sqlite_|pragma|histogram"
    r"|\b(?:show|desc|describe|summarize)\b",
    re.IGNORECASE,
)
_OF_COMMENTS = re.compile(r"duckdb_|pg_|information_schema|comment", re.IGNORECASE)

#: Files of a table from which on their rows are held, and rows that are held at most: some 100 MB.
_MANY_FILES, _MOST_ROWS = 64, 1_000_000

_CREATED = re.compile(r"^CREATE (?:VIEW|MACRO) ([\w.]+)", re.MULTILINE)
_NAME = re.compile(r"\w+(?:\.\w+)*")
_MAIN = f"{schema.FRONT}."


@cache
def _statements() -> dict[str, str]:
    """Return the statement that creates each view and macro, those it reads first.

    By its name, that of one in schema main with the schema.
    """
    sql = f"{schema.commented(schema.views_sql())[0]}\n{schema.commented(schema.front_sql())[0]}"
    starts = [match.start() for match in _CREATED.finditer(sql)]
    ends = [*starts[1:], len(sql)]
    texts = [sql[start:end] for start, end in zip(starts, ends, strict=True)]
    return {_CREATED.findall(text)[0]: text for text in texts}


@cache
def _read_by(name: str) -> frozenset[str]:
    """Return every view, macro and table that a view or macro reads, also through others.

    A name without a schema is in raw of raw alone, and in main of a macro alone.
    """
    bare = _macros() if name.startswith(_MAIN) else _macros() | _raw_names()
    statement = _statements().get(name, "").partition("\nCOMMENT ON ")[0]  # which names others too
    direct = _names_in(statement, bare) - {name}
    return frozenset(direct.union(*(_read_by(each) for each in direct)))


@cache
def _raw_names() -> frozenset[str]:
    return frozenset({*schema.tables(), *(it for it in _statements() if not it.startswith(_MAIN))})


@cache
def _main_names() -> frozenset[str]:
    return frozenset(name for name in _statements() if name.startswith(_MAIN))


@cache
def _macros() -> frozenset[str]:
    return frozenset(it for it in _main_names() if _statements()[it].startswith("CREATE MACRO"))


def _names_in(sql: str, bare: Set[str]) -> set[str]:
    """Return the views, macros and tables that a text may name, ``bare`` without a schema too."""
    result = set()
    for first, *others in (word.split(".") for word in _NAME.findall(sql.lower())):
        if first == schema.RAW and others:
            result.add(others[0])
        elif first == schema.FRONT and others:
            result.add(f"{_MAIN}{others[0]}")
        else:
            result |= bare & {first, *others, *(f"{_MAIN}{it}" for it in (first, *others))}
    return result & (_raw_names() | _main_names())


@dataclass(slots=True, eq=False)
class Deferred:
    """What is not yet made in a database.

    Attributes
    ----------
    connection
        The database, with every table of the contract; those of ``files`` are empty.
    files
        Files that are to be shown as tables, by table.
    named
        Gives the name by which the connection opens a file.
    columns
        Gives the columns of a file.
    n_rows
        Gives the number of rows of a file.
    made
        Views and macros that are made, and tables whose files are shown.
    """

    connection: duckdb.DuckDBPyConnection
    files: Mapping[str, Sequence[Path]]
    named: Callable[[Path], str]
    columns: Callable[[Path], Sequence[str]]
    n_rows: Callable[[Path], int]
    made: set[str] = field(default_factory=set)
    _is_commented: bool = False
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def is_made(self) -> bool:
        """Whether every view is made and every file shown."""
        return self.made >= self._everything

    @property
    def _everything(self) -> set[str]:
        return _statements().keys() | self.files.keys()

    def make_for(self, sql: str) -> None:
        """Make what a query may read; its text tells, for who reads a view names it."""
        if _OF_COMMENTS.search(sql):
            self._comment()
        elif _OF_CATALOGUE.search(sql):
            self.make()
        else:
            named = _names_in(sql, _raw_names() | _main_names())
            self._make(named.union(*map(_read_by, named)))

    def make(self) -> None:
        """Make every view and show every file, unless that was done.

        Raises
        ------
        StoreError
            If a file is no longer there; nothing is made then.
        """
        self._make(self._everything)

    def _make(self, wanted: Set[str]) -> None:
        with self._lock:
            missing = (wanted & self._everything) - self.made
            if not missing:
                return
            try:
                with self._in_raw() as connection, schema.transaction(connection):
                    # Views on empty tables are planned without a look into any file.
                    for view, statement in _statements().items():
                        if view in missing:
                            connection.execute(statement)
                    for table in missing & self.files.keys():
                        names = {self.named(at): self.columns(at) for at in self.files[table]}
                        schema.attach(connection, table, names, copy=self._is_scattered(table))
            except duckdb.Error as error:
                raise_interruption(error)
                raise StoreError(
                    f"The files of a store must stay where they were opened; {plain(error)}.",
                    "Open it again.",
                ) from error
            self.made |= missing

    def _is_scattered(self, table: str) -> bool:
        """Return whether to open a table's files takes longer than to read its rows.

        A view names a table several times, and opens each of its files as often. What lies at an
        address is fetched only as far as it is asked for.
        """
        files = self.files[table]
        is_scattered = len(files) >= _MANY_FILES and all(isinstance(it, Path) for it in files)
        return is_scattered and sum(map(self.n_rows, files)) <= _MOST_ROWS

    def _comment(self) -> None:
        with self._lock:
            self.make()
            if not self._is_commented:
                with self._in_raw() as connection:
                    schema.comment(connection)
                self._is_commented = True

    def _in_raw(self) -> duckdb.DuckDBPyConnection:
        """Return a cursor that looks names up in raw first, as the SQL of its views has them."""
        cursor = self.connection.cursor()
        cursor.execute(schema.lookup(schema.RAW, schema.FRONT))
        return cursor
