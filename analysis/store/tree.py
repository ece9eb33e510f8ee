"""What stands in a statement that DuckDB has parsed (``json_serialize_sql``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def within(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of a tree that belongs to no query within it."""
    if isinstance(tree, dict):
        yield tree
        parts = [part for name, part in tree.items() if name not in ("subquery", "cte_map")]
    else:
        parts = tree if isinstance(tree, list) else []
    for part in parts:
        yield from within(part)


def columns_of(tree: Any) -> set[str]:
    """Return the last name of each column that stands in a tree, and the columns of USING."""
    result = {name for node in within(tree) for name in node.get("using") or []}
    named = [node["column_names"] for node in within(tree) if node.get("class") == "COLUMN_REF"]
    return {name.lower() for name in [*result, *(path[-1] for path in named)]}


def every(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of a tree, however deep."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def all_columns(tree: Any) -> set[str]:
    """Return the last name of each column that stands anywhere in a tree, inner queries too."""
    using = {name for node in every(tree) for name in node.get("using_columns") or []}
    named = {node["column_names"][-1] for node in every(tree) if node.get("class") == "COLUMN_REF"}
    return {name.lower() for name in using | named}
