"""What a query must take one of, lest unlike rows stand together: the grain of its tables.

The parsed tree of DuckDB is asked (``json_serialize_sql``) twice. Over columns that repeat a unit
(`collect.schema.grain`) a mean, a sum or a count is noted unless each of them is grouped by,
filtered or joined on. Over columns that make another quantity of it so is an extreme, a ranking
(ORDER BY with LIMIT, a window) and a join of two such tables. So are prompts that count once for
each of several runs of a model, and, where the data say so, several definitions of gain, a NOT IN
whose list holds a NULL, a text that no row has, and what a table holds that gave no row
(`contents`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from analysis.store import contents
from analysis.store.hint import front
from analysis.store.statement import (
    all_columns,
    columns_of,
    parsed,
    place_of,
    read_tables,
    within,
)
from collect import schema

if TYPE_CHECKING:
    import duckdb

    from analysis.store.store import Store

#: Aggregates that another copy of a row does not change: extremes, and any one of the values.
_EXTREMES = frozenset(
    {"any_value", "arg_max", "arg_min", "bool_and", "bool_or", "first", "last", "list"}
    | {"array_agg", "max", "max_by", "min", "min_by", "string_agg", "group_concat"}
    | {"arg_max_null", "arg_min_null"}
)

_RAW = f"{schema.RAW}."

#: Columns that repeat what a row is about, by their table; of those joined by *or* one is enough.
Open = dict[str, frozenset[str]]


def cautions(store: Store, sql: str, *, is_empty: bool = False) -> list[str]:
    """Return a sentence for each table that a query reads and that has no row or repeats a unit.

    Parameters
    ----------
    store
        Where the query was answered.
    sql
        A statement that it answered.
    is_empty
        Whether the answer has no value: then what the tables hold is said.
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
        tree, aggregates = parsed(sql, cursor), _aggregates(cursor)
        grains = {
            name: grain
            for name in {*names} - {*empty}
            if name.startswith(_RAW) and (grain := schema.GRAINS.get(name.removeprefix(_RAW)))
        }
        noted = {
            *_Reading(
                {name: frozenset(grain.columns) for name, grain in grains.items()},
                aggregates - _EXTREMES,
            ).noted_in(tree),
            *_Reading(
                {name: frozenset(grain.quantities) for name, grain in grains.items()},
                aggregates & _EXTREMES,
                takes_order=True,
            ).noted_in(tree),
        }
        sentences = [
            *(f"{name} has no rows in what was opened" for name in empty),
            *(f"{name}: take {grains[name].rule}" for name in sorted(noted)),
            *_of_the_rows(cursor, names, tree, aggregates),
            *(contents.held(cursor, [*{*names} - {*empty}], tree) if is_empty else ()),
        ]
        return [*dict.fromkeys(sentences)]


def _of_the_rows(
    cursor: duckdb.DuckDBPyConnection, names: list[str], tree: Any, aggregates: frozenset[str]
) -> Iterator[str]:
    """Yield what the rows say of a query: prompts counted again, mixed gains, NULL, names."""
    again = contents.measured_again(cursor, tree)
    runs = dict.fromkeys(contents.of_runs(cursor, names, tree), frozenset({contents.TELLS_RUNS}))
    counting = aggregates - _EXTREMES
    if again and (counted := _Reading(runs, counting, takes_joined_run=False).noted_in(tree)):
        of_whom = again[0] if len(again) == 1 else f"{again[0]} and {len(again) - 1} more"
        yield (
            f"{', '.join(counted)}: runs of {of_whom} on the same prompts are taken together; JOIN "
            "primary_run USING (run_id, model_id) takes one, GROUP BY run_id keeps them apart"
        )
    gains = {name: frozenset({"metric"}) for name in names if name in contents.ONE_GAIN}
    taken = _Reading(gains, aggregates, takes_order=True).noted_in(tree)
    mixed = contents.definitions(cursor, taken, tree)
    for name, metrics in mixed.items():
        ask = "published_model" if "published" in name else "model_gain"
        yield (
            f"{name}: {', '.join(metrics)} are taken together; filter or group by metric to "
            f"compare one, or ask main.{ask}, where each is a column"
        )
    for column in contents.nulls_in_not_in(cursor, tree):
        yield (
            f"NOT IN keeps no row where its list holds a NULL, as that for {column} does; "
            "leave NULL out of the list, or use ANTI JOIN"
        )
    for column, text, near in contents.unknown_texts(cursor, names, tree):
        yield f"no {column} is {text!r}{''.join(f'; the nearest is {name!r}' for name in near)}"


def _aggregates(cursor: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """Return the names of the aggregates of the engine."""
    rows = cursor.execute(
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'aggregate'"
    ).fetchall()
    return frozenset(name for (name,) in rows)


class _Reading:
    """A parsed query read from the inside out, for tables that repeat what a row is about."""

    def __init__(
        self,
        known: Open,
        aggregates: frozenset[str],
        *,
        takes_joined_run: bool = True,
        takes_order: bool = False,
    ) -> None:
        self._known, self._aggregates = known, aggregates
        self._idle = frozenset() if takes_joined_run else frozenset({"run_id"})
        self._takes_order = takes_order
        self._noted: set[str] = set()

    def noted_in(self, tree: Any) -> list[str]:
        """Return the tables whose repeated rows are taken together."""
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
        left = _joined(self._of_query(side, named) for side in sides if side)
        if self._takes_order and _is_ranking(node, []):
            self._noted.update(left)
        return left

    def _of_select(self, node: Any, named: Mapping[str, Open]) -> Open:
        chosen, groups = node["select_list"], node.get("group_expressions") or []
        for inner in (each for each in within(node) if each is not node):
            if inner.get("class") == "SUBQUERY":
                self._of_query(inner["subquery"]["node"], named)
        joins, sources = self._of_source(node["from_table"], named)
        counts = [each for each in within([chosen, node.get("having")]) if self._counts(each)]
        taken = [node.get("where_clause"), node.get("qualify")]
        taken += [_meant(each, chosen) for each in groups]
        taken += [each.get("filter") for each in counts]
        is_grouped = bool(groups) or node.get("aggregate_handling") == "FORCE_AGGREGATES"
        if is_grouped and not groups:  # GROUP BY ALL
            taken += [each for each in chosen if not any(map(self._counts, within(each)))]
        given = columns_of(taken) | (columns_of(joins) - self._idle)
        parts = [left for each in sources if (left := _without(each, given))]
        left = _joined(parts)
        is_size = (
            not is_grouped
            and not node.get("where_clause")
            and all(each["function_name"] == "count_star" for each in counts)
        )
        if counts and not is_size:
            self._noted.update(left)
        if self._takes_order:
            self._noted.update(self._ranked(node, parts, left))
        modifiers = {each["type"] for each in node.get("modifiers") or []}
        is_one = counts or is_grouped or node.get("qualify") or "DISTINCT_MODIFIER" in modifiers
        return {} if is_one else _renamed(left, chosen)

    def _ranked(self, node: Any, parts: Sequence[Open], left: Open) -> Iterator[str]:
        """Yield the tables of unlike rows that are joined to each other, ordered or numbered."""
        if len(parts) > 1:
            yield from left
        is_plain = not (
            node.get("group_expressions") or node.get("aggregate_handling") != _STANDARD
        )
        if is_plain and _is_ranking(node, node["select_list"]):
            yield from left
        for window in within([node["select_list"], node.get("qualify")]):
            if window.get("class") == "WINDOW":
                rest = {part: value for part, value in window.items() if part != "partitions"}
                if _values_of(rest):
                    yield from _without(left, columns_of(window.get("partitions")))

    def _of_source(self, source: Any, named: Mapping[str, Open]) -> tuple[list[Any], list[Open]]:
        """Return what the tables after FROM are joined on, and what repeats in each one's rows."""
        if source["type"] == "JOIN":
            sides = [self._of_source(source[side], named) for side in ("left", "right")]
            made = {"using": source.get("using_columns"), "on": source.get("condition")}
            joins = [made, *(join for joins, _ in sides for join in joins)]
            return joins, [each for _, parts in sides for each in parts]
        if source["type"] == "SUBQUERY":
            return [], [self._of_query(source["subquery"]["node"], named)]
        name = str(source.get("table_name", "")).lower()
        if name in named and not source.get("schema_name"):
            return [], [named[name]]
        name = place_of(source, front())
        return [], [{name: self._known[name]}] if name in self._known else []

    def _counts(self, node: Mapping[str, Any]) -> bool:
        if node.get("class") != "FUNCTION" or node.get("distinct"):
            return False
        name = str(node["function_name"]).lower()
        if name not in self._aggregates:
            return False
        return name not in _EXTREMES or bool(_values_of(node.get("arguments")))


#: How a SELECT without an aggregate is marked.
_STANDARD = "STANDARD_HANDLING"


def _values_of(tree: Any) -> set[str]:
    """Return the columns in a tree that are numbers of a quantity, and name or describe nothing."""
    return {name for name in all_columns(tree) if name not in _names()}


@cache
def _names() -> frozenset[str]:
    """Return columns that name a row, choose a quantity, or describe a model."""
    tables = schema.tables()
    keys = {name for table in tables.values() for name in table.key}
    chosen = {
        word
        for grain in schema.GRAINS.values()
        for it in grain.columns
        for word in it.split(" or ")
    }
    described = {
        column.name for table in ("model", "prompt", "run") for column in tables[table].columns
    }
    return frozenset(keys | chosen | described)


def _is_ranking(node: Any, chosen: Sequence[Any]) -> bool:
    """Return whether a query takes the first of its rows by a value."""
    modifiers = {each["type"]: each for each in node.get("modifiers") or []}
    is_cut = "LIMIT_MODIFIER" in modifiers or (modifiers.get("DISTINCT_MODIFIER") or {}).get(
        "distinct_on_targets"
    )
    if not is_cut or "ORDER_MODIFIER" not in modifiers:
        return False
    made = {str(each["alias"]).lower(): each for each in chosen if each.get("alias")}
    orders = [_meant(each["expression"], chosen) for each in modifiers["ORDER_MODIFIER"]["orders"]]
    meant = [
        made.get(each["column_names"][-1].lower(), each) if "column_names" in each else each
        for each in orders
    ]
    return bool(_values_of(meant))


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
    if group.get("class") == "CONSTANT" and group["literal"]["kind"] == "INTEGER":
        return chosen[int(group["literal"]["text"]) - 1]
    return group
