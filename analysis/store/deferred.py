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

_CREATED = re.compile(r"^CREATE (?:VIEW|MACRO) (\w+)", re.MULTILINE)
_WORD = re.compile(r"\w+")


@cache
def _statements() -> dict[str, str]:
    """Return the statement that creates each view and macro, those it reads first."""
    sql, _ = schema.commented(schema.views_sql())
    starts = [match.start() for match in _CREATED.finditer(sql)]
    ends = [*starts[1:], len(sql)]
    texts = [sql[start:end] for start, end in zip(starts, ends, strict=True)]
    return {_CREATED.findall(text)[0]: text for text in texts}


@cache
def _read_by(name: str) -> frozenset[str]:
    """Return every view, macro and table that a view or macro reads, also through others."""
    named = {*_WORD.findall(_statements().get(name, "").lower())} - {name}
    direct = named & (_statements().keys() | schema.tables().keys())
    return frozenset(direct.union(*(_read_by(each) for each in direct)))


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
    made
        Views and macros that are made, and tables whose files are shown.
    """

    connection: duckdb.DuckDBPyConnection
    files: Mapping[str, Sequence[Path]]
    named: Callable[[Path], str]
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
            named = self._everything.intersection(_WORD.findall(sql.lower()))
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
                with schema.transaction(self.connection):
                    # Views on empty tables are planned without a look into any file.
                    for view, statement in _statements().items():
                        if view in missing:
                            self.connection.execute(statement)
                    for table in missing & self.files.keys():
                        names = [self.named(path) for path in self.files[table]]
                        schema.attach(self.connection, table, names)
            except duckdb.Error as error:
                raise_interruption(error)
                raise StoreError(
                    f"The files of a store must stay where they were opened; {plain(error)}.",
                    "Open it again.",
                ) from error
            self.made |= missing

    def _comment(self) -> None:
        with self._lock:
            self.make()
            if not self._is_commented:
                schema.comment(self.connection)
                self._is_commented = True
