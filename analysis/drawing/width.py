"""A chart made as wide as the text: its panels become wider, and the letters stay."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

#: Width of the text on a desk [px].
MEASURE = 640

Spec = dict[str, Any]


def widened(spec: Mapping[str, Any], width: float) -> Spec:
    """Return the specification of a chart whose drawing is as wide as the text on a desk.

    Parameters
    ----------
    spec
        Vega-Lite specification.
    width
        Of its drawing as it is [px].
    """
    # A copy to change; the rows, which nothing changes, are the same.
    copied = copy.deepcopy({name: it for name, it in spec.items() if name != "datasets"})
    wide = copied | {"datasets": spec.get("datasets", {})}
    for view, abreast in _views(wide, wide["datasets"]):
        _resized(view, float(view["width"]) + (MEASURE - width) / abreast)
    return wide


def _resized(view: Spec, width: float) -> None:
    """Give a panel another width, and its marks their places in it."""
    old, view["width"] = float(view["width"]), width
    for node in _nodes(view):
        _moved(node, old, width)


def _nodes(tree: Any) -> Iterator[Spec]:
    """Yield every object of a specification but its rows."""
    if isinstance(tree, list):
        for item in tree:
            yield from _nodes(item)
    elif isinstance(tree, dict):
        yield tree
        for name, item in tree.items():
            if name != "datasets":
                yield from _nodes(item)


def _views(node: Spec, rows: Mapping[str, Any], abreast: int = 1) -> Iterator[tuple[Spec, int]]:
    """Yield what has a width, with the number of panels beside each other."""
    if isinstance(node.get("width"), int | float):
        yield node, abreast
        return
    parts = [node["spec"]] if "spec" in node else []
    if "facet" in node:
        abreast *= _n_columns(node, rows)
    for name in ("hconcat", "vconcat", "concat"):
        parts += node.get(name, [])
        beside = {"hconcat": len(node.get(name, [])), "concat": int(node.get("columns", 1))}
        abreast *= max(1, beside.get(name, 1)) if name in node else 1
    for part in parts:
        yield from _views(part, rows, abreast)


def _n_columns(node: Spec, rows: Mapping[str, Any]) -> int:
    """Return how many columns a facet has."""
    column = node["facet"].get("column", {})
    names = [it["data"]["name"] for it in _nodes(node) if "name" in (it.get("data") or {})]
    values = {row.get(column.get("field")) for name in names for row in rows.get(name, [])}
    return max(1, len(values - {None})) if "field" in column else 1


def _moved(node: Spec, old: float, new: float) -> None:
    """Move what stands at a fixed place beside or in the panel, in place."""
    at = node.get("x")
    if isinstance(at, dict) and isinstance(at.get("value"), int | float):
        at["value"] = at["value"] - old + new if at["value"] >= old else at["value"] * new / old
    mark = node.get("mark")
    if isinstance(mark, dict) and isinstance(mark.get("width"), int | float):
        mark["width"] *= new / old
