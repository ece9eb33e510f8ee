"""What a query must name to compare like with like: the rule stands in the comment of a view."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from analysis.store.statement import read_tables
from collect import schema

if TYPE_CHECKING:
    from analysis.store.store import Store

#: How the comment of a table or view ends that a query should narrow to one value of some columns.
_RULE = re.compile(r"Take one ([\w, ]+): (.+)$")
_NAMES = re.compile(r", | and ")
_WORD = re.compile(r"\w+")


def cautions(store: Store, sql: str) -> list[str]:
    """Return a sentence for each table or view that a query reads and may read wrongly.

    That is one that holds no row, and one whose comment ends in "Take one COLUMN, COLUMN and
    COLUMN: why", where the query does not name each of these columns.

    Parameters
    ----------
    store
        Where the query was answered.
    sql
        A statement that it answered.
    """
    _, of_tables = schema.commented(schema.schema_sql())
    _, of_views = schema.commented(schema.views_sql())
    words = {*_WORD.findall(sql.lower())}
    with store._engine.cursor() as cursor:
        names = read_tables(sql, cursor)
        empty = [
            name
            for name in names
            if name in schema.tables() and not cursor.execute(f'FROM "{name}" LIMIT 1').fetchall()
        ]
    found = [f"{name} has no rows in what was opened" for name in empty]
    for name in names:
        rule = _RULE.search({**of_tables, **of_views}.get(name, ""))
        if rule and name not in empty and not words.issuperset(_NAMES.split(rule[1])):
            found.append(f"{name}: take one {rule[1]}; {rule[2].removesuffix('.')}")
    return found
