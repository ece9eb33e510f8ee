"""What a query must take one of, lest a mean count a unit twice: a rule in a table's comment.

The parsed tree of DuckDB is asked (``json_serialize_sql``): an aggregate over rows of a table that
repeat a unit is noted unless each column that repeats it is grouped by, filtered or joined on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from analysis.store.statement import parsed, read_tables
from collect import schema

if TYPE_CHECKING:
    import duckdb

    from analysis.store.store import Store

#: How the comment of a table or view ends of which a query should take one value of some columns.
RULE = re.compile(r"Take one ([\w, ]+): (.+)$")
_NAMES = re.compile(r", | and ")

#: Aggregates that another copy of a row does not change: extremes, and any one of the values.
_UNMOVED = frozenset(
    {"any_value", "arg_max", "arg_min", "bool_and", "bool_or", "first", "last", "list"}
    | {"array_agg", "max", "max_by", "min", "min_by", "string_agg", "group_concat"}
)

#: Columns that repeat what a row is about, by their table; of those joined by *or* one is enough.
Open = dict[str, frozenset[str]]


def rules(names: Iterable[str]) -> dict[str, tuple[frozenset[str], str]]:
    """Return columns and rule of each of some tables whose comment ends in "Take one ..."."""
    comments = {
        **schema.commented(schema.schema_sql())[1],
        **schema.commented(schema.views_sql())[1],
    }
    result = {name: match for name in names if (match := RULE.search(comments.get(name, "")))}
    return {
        name: (frozenset(_NAMES.split(match[1])), f"{match[1]}; {match[2].removesuffix('.')}")
        for name, match in result.items()
    }


def cautions(store: Store, sql: str) -> list[str]:
    """Return a sentence for each table that a query reads and that has no row or repeats a unit.

    Parameters
    ----------
    store
        Where the query was answered.
    sql
        A statement that it answered.
    """
    with store._engine.cursor() as cursor:
        names = read_tables(sql, cursor)
        empty = [
            name
            for name in names
            if name in schema.tables() and not cursor.execute(f'FROM "{name}" LIMIT 1').fetchall()
        ]
        known = rules({*names} - {*empty}) if names else {}
        read = {name: columns for name, (columns, _) in known.items()}
        noted = _Reading(read, _aggregates(cursor)).noted_in(parsed(sql, cursor)) if read else []
    return [
        *(f"{name} has no rows in what was opened" for name in empty),
        *(f"{name}: take one {known[name][1]}" for name in noted),
    ]


def _aggregates(cursor: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """Return the names of the aggregates that count a row that is there twice as two."""
    rows = cursor.execute(
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'aggregate'"
    ).fetchall()
    return frozenset(name for (name,) in rows) - _UNMOVED


class _Reading:
    """A parsed query read from the inside out, for tables that repeat what a row is about."""

    def __init__(self, known: Open, aggregates: frozenset[str]) -> None:
        self._known, self._aggregates = known, aggregates
        self._noted: set[str] = set()

    def noted_in(self, tree: Any) -> list[str]:
        """Return the tables whose repeated rows are aggregated."""
        self._of_query(tree["statements"][0]["node"], {})
        return sorted(self._noted)

    def _of_query(self, node: Any, outer: Mapping[str, Open]) -> Open:
        """Return what still repeats in the rows of a query; ``outer`` are those of WITH."""
        named = dict(outer)
        for entry in (node.get("cte_map") or {}).get("map") or []:
            value = entry["value"]
            inner = value.get("query_node") or value["query"]["node"]
            named[entry["key"].lower()] = self._of_query(inner, named)
        if node["type"] == "SELECT_NODE":
            return self._of_select(node, named)
        sides = [*(node.get("children") or []), node.get("left"), node.get("right")]
        return _joined(self._of_query(side, named) for side in sides if side)

    def _of_select(self, node: Any, named: Mapping[str, Open]) -> Open:
        chosen, groups = node["select_list"], node.get("group_expressions") or []
        for inner in (each for each in _within(node) if each is not node):
            if inner.get("class") == "SUBQUERY":
                self._of_query(inner["subquery"]["node"], named)
        joins, left = self._of_source(node["from_table"], named)
        counts = [each for each in _within([chosen, node.get("having")]) if self._counts(each)]
        taken = [node.get("where_clause"), node.get("qualify"), joins]
        taken += [_meant(each, chosen) for each in groups]
        taken += [each.get("filter") for each in counts]
        is_grouped = bool(groups) or node.get("aggregate_handling") == "FORCE_AGGREGATES"
        if is_grouped and not groups:  # GROUP BY ALL
            taken += [each for each in chosen if not any(map(self._counts, _within(each)))]
        left = _without(left, _columns(taken))
        is_size = (
            not is_grouped
            and not node.get("where_clause")
            and all(each["function_name"] == "count_star" for each in counts)
        )
        if counts and not is_size:
            self._noted.update(left)
        modifiers = {each["type"] for each in node.get("modifiers") or []}
        is_one = counts or is_grouped or node.get("qualify") or "DISTINCT_MODIFIER" in modifiers
        return {} if is_one else _renamed(left, chosen)

    def _of_source(self, source: Any, named: Mapping[str, Open]) -> tuple[list[Any], Open]:
        """Return what the tables after FROM are joined on, and what repeats in their rows."""
        if source["type"] == "JOIN":
            sides = [self._of_source(source[side], named) for side in ("left", "right")]
            made = {"using": source.get("using_columns"), "on": source.get("condition")}
            return [made, *(joins for joins, _ in sides)], _joined(left for _, left in sides)
        if source["type"] == "SUBQUERY":
            return [], self._of_query(source["subquery"]["node"], named)
        name = str(source.get("table_name", "")).lower()
        if name in named:
            return [], named[name]
        return [], {name: self._known[name]} if name in self._known else {}

    def _counts(self, node: Mapping[str, Any]) -> bool:
        is_call = node.get("class") == "FUNCTION" and not node.get("distinct")
        return is_call and str(node["function_name"]).lower() in self._aggregates


def _joined(sides: Iterable[Open]) -> Open:
    return {name: columns for side in sides for name, columns in side.items()}


def _without(left: Open, taken: set[str]) -> Open:
    rest = {
        name: frozenset(each for each in columns if taken.isdisjoint(each.split(" or ")))
        for name, columns in left.items()
    }
    return {name: columns for name, columns in rest.items() if columns}


def _renamed(left: Open, chosen: Sequence[Any]) -> Open:
    """Return what repeats under the names that a query gives on."""
    given = {
        each["column_names"][-1].lower(): each["alias"].lower()
        for each in chosen
        if each.get("class") == "COLUMN_REF" and each.get("alias")
    }
    return {
        name: frozenset(
            " or ".join(given.get(word, word) for word in each.split(" or ")) for each in columns
        )
        for name, columns in left.items()
    }


def _within(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of a tree that belongs to no query within it."""
    if isinstance(tree, dict):
        yield tree
        parts = [part for name, part in tree.items() if name not in ("subquery", "cte_map")]
    else:
        parts = tree if isinstance(tree, list) else []
    for part in parts:
        yield from _within(part)


def _columns(tree: Any) -> set[str]:
    """Return the last name of each column that stands in a tree, and the columns of USING."""
    result = {name for node in _within(tree) for name in node.get("using") or []}
    named = [node["column_names"] for node in _within(tree) if node.get("class") == "COLUMN_REF"]
    return {name.lower() for name in [*result, *(path[-1] for path in named)]}


def _meant(group: Any, chosen: Sequence[Any]) -> Any:
    """Return what a GROUP BY names: a column, an expression, or what is chosen at a place."""
    if group.get("class") == "CONSTANT":
        return chosen[int(group["literal"]["text"]) - 1]
    return group
