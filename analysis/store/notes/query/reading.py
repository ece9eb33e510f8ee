"""A parsed query read from the inside out, for tables that repeat what a row is about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from analysis.store.hint import front
from analysis.store.statement import all_columns, columns_of, place_of, within
from collect import schema

#: Aggregates that another copy of a row does not change: extremes, and any one of the values.
EXTREMES = frozenset(
    {"any_value", "arg_max", "arg_min", "bool_and", "bool_or", "first", "last", "list"}
    | {"array_agg", "max", "max_by", "min", "min_by", "string_agg", "group_concat"}
    | {"arg_max_null", "arg_min_null"}
)

#: Columns that repeat what a row is about, by their table; of those joined by *or* one is enough.
Open = dict[str, frozenset[str]]


class Reading:
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
        left = _join(self._of_query(side, named) for side in sides if side)
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
        is_grouped = bool(groups) or node.get("aggregate_handling") == "FORCE_AGGREGATES"
        groups = [it for each in groups for it in resolve_group(each, chosen)]
        if is_grouped and not groups:  # GROUP BY ALL
            groups = [each for each in chosen if not any(map(self._counts, within(each)))]
        given = self._given(node, groups, counts, joins)
        parts = [left for each in sources if (left := _subtract(each, given))]
        left = _join(parts)
        is_size = (
            not is_grouped
            and not node.get("where_clause")
            and all(each["function_name"] == "count_star" for each in counts)
        )
        if counts and not is_size:
            self._note(left, groups, node)
        if self._takes_order:
            self._noted.update(self._ranked(node, parts, left))
        modifiers = {each["type"] for each in node.get("modifiers") or []}
        is_one = counts or is_grouped or node.get("qualify") or "DISTINCT_MODIFIER" in modifiers
        return {} if is_one else _rename(left, chosen)

    def _given(
        self, node: Any, groups: Sequence[Any], counts: Sequence[Any], joins: Sequence[Any]
    ) -> set[str]:
        """Return the columns of which a query takes one value in each row of its answer."""
        taken = [node.get("where_clause"), node.get("qualify"), *groups]
        taken += [each.get("filter") for each in counts]
        return columns_of(taken) | (columns_of(joins) - self._idle)

    def _note(self, left: Open, groups: Sequence[Any], node: Any) -> None:
        """Keep the tables whose rows an aggregate takes together."""
        self._noted.update(left)

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
                    yield from _subtract(left, columns_of(window.get("partitions")))

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
        return name not in EXTREMES or bool(_values_of(node.get("arguments")))


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
    orders = [
        resolve_group(each["expression"], chosen)[0]
        for each in modifiers["ORDER_MODIFIER"]["orders"]
    ]
    meant = [
        made.get(each["column_names"][-1].lower(), each) if "column_names" in each else each
        for each in orders
    ]
    return bool(_values_of(meant))


def _join(sides: Iterable[Open]) -> Open:
    return {name: columns for side in sides for name, columns in side.items()}


def _subtract(left: Open, taken: set[str]) -> Open:
    rest = {
        name: frozenset(each for each in columns if taken.isdisjoint(each.split(" or ")))
        for name, columns in left.items()
    }
    return {name: columns for name, columns in rest.items() if columns}


def _rename(left: Open, chosen: Sequence[Any]) -> Open:
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


def resolve_group(group: Any, chosen: Sequence[Any]) -> list[Any]:
    """Return what a GROUP BY names: a column, an expression, or what is chosen at a place.

    A place behind a star, which stands for several columns, is returned as it is.
    """
    if group.get("class") == "CONSTANT" and group["literal"]["kind"] == "INTEGER":
        place = int(group["literal"]["text"])
        is_known = all(each.get("class") != "STAR" for each in chosen[:place])
        return [chosen[place - 1] if is_known and 0 < place <= len(chosen) else group]
    names = [name.lower() for name in group.get("column_names") or []]
    return [group, *(it for it in chosen if names == [str(it.get("alias") or "").lower()])]
