"""A chart made as wide as its place: its panels become wider or narrower, and the letters stay."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from analysis.drawing.units import Spec, copy_spec

#: Width of the text on a desk, and of what is laid out for a phone, which shows it at five
#: sixths: the smallest letters of charts, 12 px, are 10 px there [px].
MEASURE, PHONE = 640, 420
#: Letters of a title on a line of a phone, those of a legend or of a panel beside another, those of
#: such a panel's axes, and panels beside each other there.
LINE, HALF, QUARTER, ABREAST = 50, 24, 16, 2
#: A panel is no narrower than this [px].
LEAST = 90


def resized(spec: Mapping[str, Any], width: float, to: float = MEASURE) -> Spec:
    """Return the specification of a chart whose drawing has another width.

    Parameters
    ----------
    spec
        Vega-Lite specification.
    width
        Of its drawing as it is [px].
    to
        Of its drawing as it is to be [px]; no panel gets narrower than `LEAST`.
    """
    result = copy_spec(spec)
    for view, abreast in _views(result, result["datasets"]):
        old = float(view["width"])
        _resize(view, max(old + (to - width) / abreast, min(LEAST, old)))
    return result


def for_phone(spec: Mapping[str, Any]) -> Spec:
    """Return the specification of a chart whose words and panels take less room beside each other.

    Titles break into lines, a legend has one column, and at most two panels stand abreast; none
    where the chart asks for that (`theme.add_finding`).
    """
    result = copy_spec(spec)
    config = result.setdefault("config", {})
    config["legend"] = {**config.get("legend", {}), "columns": 1}
    if (result.get("usermeta") or {}).get("is_stacked"):
        _stack(result)
    for node in _nodes(result):
        if isinstance(node.get("legend"), dict) and "columns" in node["legend"]:
            node["legend"]["columns"] = 1
        if len(node.get("hconcat", [])) > ABREAST:
            node |= {"concat": node.pop("hconcat"), "columns": ABREAST}
        if isinstance(node.get("legend"), dict):
            _wrap_titles([node], HALF)
        for panel in [*node.get("hconcat", []), *node.get("concat", [])]:
            headed = [panel, *_headings(panel)]
            _wrap_titles(headed, HALF)
            _wrap_titles((it for it in _nodes(panel) if it not in headed), QUARTER)
    _wrap_titles(_nodes(result), LINE)
    return result


def _stack(spec: Spec) -> None:
    """Put panels that stand abreast below each other, each with the names of its rows, in place."""
    spec["vconcat"] = spec.pop("hconcat")
    for node in _nodes(spec["vconcat"]):
        axis = node["y"].get("axis") if isinstance(node.get("y"), dict) else None
        if isinstance(axis, dict):
            axis.pop("labels", None)


def _headings(panel: Spec) -> list[Spec]:
    """Return the title of a panel if it is an object."""
    return [panel["title"]] if isinstance(panel.get("title"), dict) else []


def _wrap_titles(nodes: Iterable[Spec], letters: int) -> None:
    """Break titles that are one line into lines of so many letters, in place."""
    for node in nodes:
        for name in {"title", "text"} & set(node):
            if isinstance(node[name], str) and len(node[name]) > letters:
                node[name] = textwrap.wrap(node[name], letters)


def _resize(view: Spec, width: float) -> None:
    """Give a panel another width, and its marks their places in it."""
    old, view["width"] = float(view["width"]), width
    for node in _nodes(view):
        _move(node, old, width)


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


def _move(node: Spec, old: float, new: float) -> None:
    """Move what stands at a fixed place beside or in the panel, in place."""
    at = node.get("x")
    if isinstance(at, dict) and isinstance(at.get("value"), int | float):
        at["value"] = at["value"] - old + new if at["value"] >= old else at["value"] * new / old
    mark = node.get("mark")
    if isinstance(mark, dict) and isinstance(mark.get("width"), int | float):
        mark["width"] *= new / old
