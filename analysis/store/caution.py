"""What a query must take one of, lest a mean count a unit twice: a rule in a table's comment.

The parsed tree of DuckDB is asked (``json_serialize_sql``): an aggregate over rows of a table that
repeat a unit is noted unless each column that repeats it is grouped by, filtered or joined on. So
are prompts that count once for each of several runs of a model, and, where the data say so, an
aggregate over several definitions of gain and a NOT IN whose list holds a NULL (`contents`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from analysis.store import contents
from analysis.store.hint import front
from analysis.store.statement import columns_of, parsed, place_of, read_tables, within
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
    raw = f"{schema.RAW}."
    result = {
        name: match
        for name in names
        if name.startswith(raw) and (match := RULE.search(comments.get(name.removeprefix(raw), "")))
    }
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
    with store.cursor() as cursor:
        names = read_tables(sql, cursor)
        if not names:
            return []
        empty = [
            name
            for name in names
            if _is_table(name) and not cursor.execute(f"FROM {name} LIMIT 1").fetchall()
        ]
        known = rules({*names} - {*empty})
        read = {name: columns for name, (columns, _) in known.items()}
        tree, aggregates = parsed(sql, cursor), _aggregates(cursor)
        noted = _Reading(read, aggregates).noted_in(tree)
        return [
            *(f"{name} has no rows in what was opened" for name in empty),
            *(f"{name}: take one {known[name][1]}" for name in noted),
            *_of_the_rows(cursor, names, tree, aggregates),
        ]


def _of_the_rows(
    cursor: duckdb.DuckDBPyConnection, names: list[str], tree: Any, aggregates: frozenset[str]
) -> Iterator[str]:
    """Yield what the rows say of a query: prompts counted again, mixed gains, NULL, names."""
    again = contents.measured_again(cursor, tree)
    runs = dict.fromkeys(contents.of_runs(cursor, names, tree), frozenset({contents.TELLS_RUNS}))
    if again and (counted := _Reading(runs, aggregates, takes_joined_run=False).noted_in(tree)):
        of_whom = again[0] if len(again) == 1 else f"{again[0]} and {len(again) - 1} more"
        yield (
            f"{', '.join(counted)}: runs of {of_whom} on the same prompts are taken together; JOIN "
            "primary_run USING (run_id, model_id) takes one, GROUP BY run_id keeps them apart"
        )
    gains = {name: frozenset({"metric"}) for name in names if name in contents.ONE_GAIN}
    mixed = contents.definitions(cursor, _Reading(gains, aggregates).noted_in(tree), tree)
    for name, metrics in mixed.items():
        taken = ", ".join(metrics)
        yield f"{name}: {taken} are taken together; filter or group by metric to compare one"
    for column in contents.nulls_in_not_in(cursor, tree):
        yield (
            f"NOT IN keeps no row where its list holds a NULL, as that for {column} does; "
            "leave NULL out of the list, or use ANTI JOIN"
        )
    for column, text, near in contents.unknown_texts(cursor, names, tree):
        yield f"no {column} is {text!r}{''.join(f'; the nearest is {name!r}' for name in near)}"


def _aggregates(cursor: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """Return the names of the aggregates that count a row that is there twice as two."""
    rows = cursor.execute(
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'aggregate'"
    ).fetchall()
    return frozenset(name for (name,) in rows) - _UNMOVED


class _Reading:
    """A parsed query read from the inside out, for tables that repeat what a row is about."""

    def __init__(
        self, known: Open, aggregates: frozenset[str], *, takes_joined_run: bool = True
    ) -> None:
        self._known, self._aggregates = known, aggregates
        self._idle = frozenset() if takes_joined_run else frozenset({"run_id"})
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
        for inner in (each for each in within(node) if each is not node):
            if inner.get("class") == "SUBQUERY":
                self._of_query(inner["subquery"]["node"], named)
        joins, left = self._of_source(node["from_table"], named)
        counts = [each for each in within([chosen, node.get("having")]) if self._counts(each)]
        taken = [node.get("where_clause"), node.get("qualify")]
        taken += [_meant(each, chosen) for each in groups]
        taken += [each.get("filter") for each in counts]
        is_grouped = bool(groups) or node.get("aggregate_handling") == "FORCE_AGGREGATES"
        if is_grouped and not groups:  # GROUP BY ALL
            taken += [each for each in chosen if not any(map(self._counts, within(each)))]
        left = _without(left, columns_of(taken) | (columns_of(joins) - self._idle))
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
        if name in named and not source.get("schema_name"):
            return [], named[name]
        name = place_of(source, front())
        return [], {name: self._known[name]} if name in self._known else {}

    def _counts(self, node: Mapping[str, Any]) -> bool:
        is_call = node.get("class") == "FUNCTION" and not node.get("distinct")
        return is_call and str(node["function_name"]).lower() in self._aggregates


def _is_table(name: str) -> bool:
    return name.startswith(f"{schema.RAW}.") and name.partition(".")[2] in schema.tables()


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


def _meant(group: Any, chosen: Sequence[Any]) -> Any:
    """Return what a GROUP BY names: a column, an expression, or what is chosen at a place."""
    if group.get("class") == "CONSTANT":
        return chosen[int(group["literal"]["text"]) - 1]
    return group
