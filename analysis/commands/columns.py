"""The verb `columns`: what the columns of a table or view mean, and where to start."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
from collections.abc import Iterable

from analysis.commands.sources import opened
from analysis.commands.tables import show
from analysis.store.hint import relations
from analysis.tidy.defaults import START
from analysis.tidy.errors import QueryError
from collect import schema
from collect.errors import nearest


def columns(options: argparse.Namespace) -> int:
    """Print the columns of one table or view, or the names of all, and return the exit code.

    Raises
    ------
    QueryError
        If no table or view has the name.
    """
    connection = schema.connect(comments=False)
    connection.execute(schema.commented(schema.views_sql())[0])
    schema.comment(connection)
    if options.table is None:
        print(_start(dict(connection.execute(_RELATIONS).fetchall())))
        return 0
    name = options.table.lower()
    if name not in relations() and (options.paper or options.data):
        connection = opened(options, everything=True).connection
    meanings = connection.execute(f"{_RELATIONS} WHERE name = $1", [name]).fetchall()
    if not meanings:
        near = nearest(name, relations(), cutoff=0.4)
        guess = f"The nearest is {near[0]}. " if near else ""
        raise QueryError(
            f"There is no table or view {options.table}.",
            f"{guess}List them with: thermoscope columns",
        )
    rows = [
        (column, kind.lower(), *reversed(schema.unit_apart(text or "")))
        for column, kind, text in connection.execute(_COLUMNS, [name]).fetchall()
    ]
    if options.csv:
        import pandas as pd

        return show(pd.DataFrame(rows, columns=["column", "type", "unit", "meaning"]), as_csv=True)
    print("\n".join([*_wrapped(f"{name}: {meanings[0][1]}", ""), "", *_lines(rows)]))
    return 0


_RELATIONS = """
    SELECT name, meaning
      FROM (SELECT table_name AS name, comment AS meaning FROM duckdb_tables() WHERE NOT internal
             UNION ALL
            SELECT view_name, comment FROM duckdb_views() WHERE NOT internal) AS named
"""
_COLUMNS = """
    SELECT column_name, data_type, comment
      FROM duckdb_columns()
     WHERE table_name = $1
     ORDER BY column_index
"""


def _start(meanings: dict[str, str]) -> str:
    """Return the tables to start with, what a row of each is, and the names of the others."""
    lines = ["Start with these:", ""]
    for name in START:
        first = meanings[name].partition(". ")[0].rstrip(".")
        lines += _wrapped(f"{name:<16} {first}.", " " * 17)
    others = " ".join(name for name in relations() if name not in START)
    printed = "The others; thermoscope columns NAME says what the columns of one mean:"
    return "\n".join([*lines, "", printed, "", *_wrapped(others, "")])


def _lines(rows: Iterable[tuple[str, ...]]) -> Iterable[str]:
    """Yield a column a line: name, type and unit aligned, its meaning wrapped beside them."""
    rows = list(rows)
    widths = [max(len(row[place]) for row in rows) for place in range(3)]
    for *named, meaning in rows:
        before = "  ".join(f"{text:<{width}}" for text, width in zip(named, widths, strict=True))
        yield from _wrapped(f"{before}  {meaning}", " " * (sum(widths) + 6))


def _wrapped(text: str, indent: str) -> list[str]:
    width = shutil.get_terminal_size(fallback=(100, 24)).columns if sys.stdout.isatty() else 100
    return textwrap.wrap(
        text,
        max(width, len(indent) + 20),
        subsequent_indent=indent,
        break_on_hyphens=False,
        drop_whitespace=True,
        break_long_words=False,
    )
