"""A query whose windows and pivots are written as the GROUP BY that gives the same numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from analysis.store.statement import every, parsed, within

if TYPE_CHECKING:
    import duckdb


def grouped(
    cursor: duckdb.DuckDBPyConnection, tree: Any, aggregates: Collection[str]
) -> Iterator[Any]:
    """Yield a parsed query with each PIVOT as a GROUP BY, then one query for each window.

    An aggregate over a window takes the rows of its partition together, as GROUP BY does; the
    notes under an answer need to know of GROUP BY alone.

    Parameters
    ----------
    cursor
        Cursor whose parser counts.
    tree
        The query, parsed.
    aggregates
        Names of the aggregates.
    """
    plain = deepcopy(tree)
    for node in list(every(plain)):
        source = node.get("from_table") or {}
        if node.get("type") == "SELECT_NODE" and source.get("type") == "PIVOT":
            _unpivot(cursor, node, source)
    yield plain
    nodes = list(every(plain))
    for place, node in enumerate(nodes):
        if node.get("type") != "SELECT_NODE":
            continue
        for window in within([node["select_list"], node.get("qualify")]):
            if (
                window.get("class") == "WINDOW"
                and str(window["function_name"]).lower() in aggregates
            ):
                other = deepcopy(plain)
                taken = list(every(other))[place]
                # The aggregate of the window, called over rows.
                made = _expression(cursor, "avg(one)")
                made["function_name"] = window["function_name"]
                for part in ("arguments", "children", "distinct", "qualified_name"):
                    if part in window:
                        made[part] = deepcopy(window[part])
                made["filter"] = deepcopy(window.get("filter_expr"))
                group(taken, window["partitions"], [made])
                yield other


def _unpivot(cursor: duckdb.DuckDBPyConnection, node: Any, pivot: Any) -> None:
    """Write a SELECT from a PIVOT with GROUP BY as that of its source, by the values it pivots."""
    names = [name for name in pivot.get("groups") or [] if name]
    if not names:
        return  # every other column is grouped by
    groups = [_column(cursor, name) for name in names]
    groups += [it for each in pivot["pivots"] for it in each["pivot_expressions"]]
    node["from_table"] = pivot["source"]
    group(node, groups, pivot["aggregates"])


def group(node: Any, groups: list[Any], functions: list[Any]) -> None:
    """Write a SELECT with other groups and aggregates; of its rows, none is left out or ordered."""
    node["select_list"] = [*deepcopy(groups), *functions]
    node["group_expressions"] = deepcopy(groups)
    node["group_sets"] = [[*range(len(groups))]] if groups else []
    node["aggregate_handling"] = "STANDARD_HANDLING"
    node["modifiers"], node["qualify"] = [], None


def _column(cursor: duckdb.DuckDBPyConnection, name: str) -> Any:
    quoted = name.replace('"', '""')
    return _expression(cursor, f'"{quoted}"')


def _expression(cursor: duckdb.DuckDBPyConnection, sql: str) -> Any:
    return parsed(f"SELECT {sql}", cursor)["statements"][0]["node"]["select_list"][0]
