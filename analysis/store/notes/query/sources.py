"""The tables that each SELECT of a query reads, also through a query that only passes rows on.

A SELECT from a plain projection of one table (no GROUP BY, aggregate, DISTINCT, LIMIT, UNION, join)
has a row for each row of that table that it takes. So it is read as one from the table itself, with
the columns that the projection passes on under their own names.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from analysis.store.hint import front
from analysis.store.statement import place_of, within


@dataclass(frozen=True, slots=True)
class Source:
    """A table that a SELECT reads, and the columns of it that are known there.

    Attributes
    ----------
    table
        Its name; one of schema raw is named with it.
    columns
        The columns under their own names.
    """

    table: str
    columns: frozenset[str]


#: The tables of a SELECT by the names under which it knows them.
Sources = dict[str, Source]


class Scan:
    """A parsed query read for the tables that each of its SELECTs reads.

    Parameters
    ----------
    tree
        The query, parsed. Queries after FROM without a name are given one.
    known
        Columns of each table and view.
    aggregates
        Names of the aggregates.

    Attributes
    ----------
    of_node
        The tables of each SELECT, by its id.
    """

    def __init__(
        self, tree: Any, known: Mapping[str, Collection[str]], aggregates: Collection[str]
    ) -> None:
        self._known, self._many = known, {*aggregates, "unnest"}
        self.of_node: dict[int, Sources] = {}
        self._read(tree["statements"][0]["node"], {})

    def _read(self, node: Any, outer: Mapping[str, Source | None]) -> Source | None:
        """Return the table of which a query passes rows on, if it only does that."""
        named = dict(outer)
        for entry in (node.get("cte_map") or {}).get("map") or []:
            value = entry["value"]
            inner = value.get("query_node") or value["query"]["node"]
            passed = self._read(inner, {**named, entry["key"].lower(): None})
            named[entry["key"].lower()] = None if value.get("aliases") else passed
        if node["type"] != "SELECT_NODE":
            sides = [*(node.get("children") or []), node.get("left"), node.get("right")]
            for side in (each for each in sides if each):
                self._read(side, named)
            return None
        inner_queries = {
            id(each): self._read(each["subquery"]["node"], named)
            for each in within(node)
            if isinstance(each.get("subquery"), dict)
        }
        sources: Sources = {}
        for place, each in enumerate(within(node["from_table"])):
            self._add(sources, each, place, named, inner_queries)
        self.of_node[id(node)] = sources
        is_one = node["from_table"]["type"] in ("BASE_TABLE", "SUBQUERY") and len(sources) == 1
        return self._passed(node, *sources.values()) if is_one else None

    def _add(
        self,
        sources: Sources,
        each: Any,
        place: int,
        named: Mapping[str, Source | None],
        inner: Mapping[int, Source | None],
    ) -> None:
        """Add the table that a part of FROM reads."""
        if each.get("type") == "SUBQUERY" and "class" not in each:
            each["alias"] = alias = each.get("alias") or f"unnamed_{place}"
            source = inner[id(each)]
        elif each.get("type") == "BASE_TABLE":
            name = str(each["table_name"]).lower()
            alias = each.get("alias") or name
            is_named = name in named and not each.get("schema_name")
            table = place_of(each, front())
            of_store = Source(table, frozenset(self._known.get(table, ())))
            source = named[name] if is_named else of_store
        else:
            return
        if source is not None and not each.get("column_name_alias"):
            sources[str(alias).lower()] = source

    def _passed(self, node: Any, source: Source) -> Source | None:
        """Return what a SELECT from one table passes on of it, if each row stays a row."""
        modifiers = {each["type"] for each in node.get("modifiers") or []}
        parts = ("group_expressions", "group_sets", "having", "qualify", "sample")
        if (
            any(node.get(part) for part in parts)
            or node.get("aggregate_handling") != "STANDARD_HANDLING"
            or modifiers - {"ORDER_MODIFIER"}
            or any(self._changes(each) for each in within(node["select_list"]))
        ):
            return None
        columns, made = set[str](), set[str]()
        for each in node["select_list"]:
            own = str((each.get("column_names") or [""])[-1]).lower()
            alias = str(each.get("alias") or own).lower()
            if each.get("class") == "STAR":
                columns |= source.columns - _left_out(each)
            else:
                (columns if own and alias == own else made).add(alias)
        is_same = made.isdisjoint(source.columns)  # no other quantity under a column's name
        return Source(source.table, frozenset(columns)) if is_same else None

    def _changes(self, node: Mapping[str, Any]) -> bool:
        """Return whether an expression makes other rows, or names them by a pattern or anew."""
        name = str(node.get("function_name")).lower()
        parts = ("columns", "replace_list", "rename_list")
        is_other = node.get("class") == "STAR" and any(node.get(part) for part in parts)
        return is_other or (node.get("class") == "FUNCTION" and name in self._many)


def _left_out(star: Mapping[str, Any]) -> set[str]:
    """Return the columns that a star leaves out."""
    qualified = [each["column"] for each in star.get("qualified_exclude_list") or []]
    return {str(each).lower() for each in [*(star.get("exclude_list") or []), *qualified]}
