"""The views and macros that derive quantities from the tables: one SQL file a subject."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

#: Subjects in the order in which their files are executed: each uses only views before it.
SUBJECTS = (
    "runs",
    "stream",
    "gain",
    "trajectory",
    "attention",
    "weights",
    "trace",
    "geometry",
    "published",
    "growth",
    "recipe",
    "profile",
    "study",
    "gauge",
    "partner",
    "claim",
)


@cache
def views_sql() -> str:
    """Return the text of ``analysis/store/views/*.sql``, read as data; empty without analysis."""
    folder = files("analysis").joinpath("store", "views")
    if not folder.is_dir():
        return ""
    return "\n".join(
        folder.joinpath(f"{subject}.sql").read_text(encoding="utf-8") for subject in SUBJECTS
    )


def inherited_comments(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return comments of the columns that views take as they are from what they read.

    A column of a view that has none means what the column of its name means in the first table or
    view after FROM or JOIN that has one of that name.

    Parameters
    ----------
    connection
        Database with the tables, the views, and the comments that stand in their SQL.
    """
    columns = connection.execute(
        """
        SELECT table_name, column_name, comment
          FROM duckdb_columns()
         WHERE NOT internal AND database_name = current_database()
         ORDER BY table_oid, column_index
        """
    ).fetchall()
    known = {(table, column): comment for table, column, comment in columns if comment}
    found = {}
    for view, sources in _sources(connection).items():
        for column in [column for table, column, comment in columns if table == view]:
            if (view, column) in known:
                continue
            said = [known[source, column] for source in sources if (source, column) in known]
            if said:
                found[f"{view}.{column}"] = known[view, column] = said[0]
    return found


def _sources(connection: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """Return what each view reads, in the order of its text; views after those that they read."""
    views = connection.execute(
        """
        SELECT view_name, sql
          FROM duckdb_views()
         WHERE NOT internal AND database_name = current_database()
         ORDER BY view_oid
        """
    ).fetchall()
    return {name: re.findall(r"\b(?:FROM|JOIN)\s+\(*(?:\w+\.)*(\w+)", sql) for name, sql in views}
