"""The views and macros that derive quantities from the tables: one SQL file a subject.

Those of schema raw show all that was measured or published; those of schema main are the few that
a person asks first, each with one row per unit.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import duckdb

#: Subjects in the order in which their files are executed: each uses only views before it.
SUBJECTS = (
    "runs",
    "stream",
    "gain",
    "layer_scale",
    "trajectory",
    "attention",
    "weights",
    "trace",
    "geometry",
    "published",
    "reported",
    "growth",
    "recipe",
    "profile",
    "study",
    "gauge",
    "partner",
    "claim",
    "coverage",
)

#: Subjects of schema main, in the order in which their tables are listed; each reads raw alone.
FRONT_SUBJECTS = (
    "macro",
    "model",
    "gain",
    "published",
    "block",
    "stream",
    "attention",
    "weight",
    "network",
    "claim",
    "coverage",
)


@cache
def views_sql() -> str:
    """Return the text of ``analysis/store/views/*.sql``, read as data; empty without analysis."""
    return _text("views", SUBJECTS)


@cache
def views_by_subject() -> dict[str, tuple[str, ...]]:
    """Return the names of the views of schema raw by subject; none without analysis."""
    return {subject: tuple(_VIEW.findall(_text("views", [subject]))) for subject in SUBJECTS}


_VIEW = re.compile(r"^CREATE VIEW (\w+)", re.MULTILINE)


@cache
def front_sql() -> str:
    """Return the text of ``analysis/store/front/*.sql``, read as data; empty without analysis."""
    return _text("front", FRONT_SUBJECTS)


def _text(folder: str, subjects: Sequence[str]) -> str:
    place = files("analysis").joinpath("store", folder)
    if not place.is_dir():
        return ""
    return "\n".join(
        place.joinpath(f"{subject}.sql").read_text(encoding="utf-8") for subject in subjects
    )


def inherited_comments(
    connection: duckdb.DuckDBPyConnection, stated: Mapping[str, str]
) -> dict[str, str]:
    """Return comments of the columns of raw views that are named like a column of what they read.

    A column of a view without a comment of its own means what the column of its name means in the
    first table or view after FROM or JOIN that has one of that name: passed on, or summed up as the
    comment of the view says. In schema main every column has a comment of its own.

    Parameters
    ----------
    connection
        Database with the tables and the views.
    stated
        Comments of tables, views and ``table.column``, by what they are on.
    """
    result: dict[str, str] = {}
    for view, sql, columns in connection.execute(
        """
        SELECT view_name, sql, list(column_name ORDER BY column_index)
          FROM duckdb_views() AS v
          JOIN duckdb_columns() AS c
            ON c.database_oid = v.database_oid AND c.table_oid = v.view_oid
         WHERE NOT v.internal AND v.database_name = current_database() AND v.schema_name = 'raw'
         GROUP BY view_oid, view_name, sql
         ORDER BY view_oid
        """
    ).fetchall():
        sources = _SOURCE.findall(sql)
        for column in columns:
            printed = [
                text
                for source in sources
                if (text := stated.get(at := f"{source}.{column}", result.get(at))) is not None
            ]
            if f"{view}.{column}" not in stated and printed:
                result[f"{view}.{column}"] = printed[0]
    return result


#: What stands after FROM or JOIN, by its last name.
_SOURCE = re.compile(r"\b(?:FROM|JOIN)\s+\(*(?:\w+\.)*(\w+)")
