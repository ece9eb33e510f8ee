"""What of a store is made when it is first asked for: its large tables, its views, its comments.

To make a view costs what it costs to plan its query, and most views stand on others; all of them
together cost more than the rest of opening, and a comment on each as much again.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
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
    """

    connection: duckdb.DuckDBPyConnection
    files: Mapping[str, Sequence[Path]]
    named: Callable[[Path], str]
    is_made: bool = False
    _is_commented: bool = False
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def make_for(self, sql: str) -> None:
        """Make what a query may read; its text tells, for who reads a view names it."""
        if not self._is_commented and _OF_COMMENTS.search(sql):
            self._comment()
        elif not self.is_made and (_OF_CATALOGUE.search(sql) or self._names(sql)):
            self.make()

    def make(self) -> None:
        """Make every view and show every file, unless that was done.

        Raises
        ------
        StoreError
            If a file is no longer there; nothing is made then.
        """
        with self._lock:
            if self.is_made:
                return
            views, _ = schema.commented(schema.views_sql())
            try:
                with schema.transaction(self.connection):
                    # Views on empty tables are planned without a look into any file.
                    self.connection.execute(views)
                    for table, paths in self.files.items():
                        schema.attach(self.connection, table, [self.named(path) for path in paths])
            except duckdb.Error as error:
                raise_interruption(error)
                raise StoreError(
                    f"The files of a store must stay where they were opened; {plain(error)}.",
                    "Open it again.",
                ) from error
            self.is_made = True

    def _comment(self) -> None:
        with self._lock:
            self.make()
            if not self._is_commented:
                schema.comment(self.connection)
                self._is_commented = True

    def _names(self, sql: str) -> bool:
        known = {*self.files, *_CREATED.findall(schema.views_sql())}
        return not known.isdisjoint(_WORD.findall(sql.lower()))
