"""A chart for a desk, as wide as the text, and its twin for a phone, its letters as large.

A drawing that is only scaled down has letters that cannot be read, and one that is not has to be
pushed sideways. So the panels become narrower and the letters stay: legends stand in fewer columns,
and titles and long names of rows break into lines.
"""

from __future__ import annotations

import copy
import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from analysis.drawing import spoken

#: Width of the text on a desk [px].
MEASURE = 640
#: Width of the text on a phone of 390 pixels, less what a browser rounds [px].
ROOM = 348
#: What a drawing may be wider, to be scaled down a little [px].
SLACK = 14
#: Most panels beside each other, where they are laid out in columns.
ABREAST = 2
#: Least width of a panel [px].
LEAST = 62
#: What a title may reach beyond the ends of its axis [px].
BEYOND = 40
#: Width of the title of a legend, which begins where the panel does [px].
OF_LEGEND = 200
#: Width of a letter of an axis title [px].
OF_TITLE = 7.4
#: Letters in a line of a name of a row, from which on it is broken, and their size there [px].
LONG, SMALL = 20, 12
#: Room for the names of rows, where a chart fixes it [px].
NAMES = 126

#: Styles of marks that one of the two drawings shows and the other does not.
DESK, PHONE = "on-desk", "on-phone"

Spec = dict[str, Any]


def narrowed(spec: Mapping[str, Any], width: float, *, legend_columns: int = 2) -> Spec:
    """Return the specification of a chart whose drawing fits a phone.

    Parameters
    ----------
    spec
        Vega-Lite specification.
    width
        Of its drawing as it is [px].
    legend_columns
        Most columns of a legend.
    """
    narrow = _copied(spec)
    width = _fewer_columns(narrow, width)
    fixed = sum(_freed(axis) for axis in _axes(narrow)[:1])
    for view, abreast in _views(narrow, narrow["datasets"]):
        new = max(LEAST, float(view["width"]) - (width - fixed - ROOM) / abreast)
        _resized(view, new)
        for node in _nodes(view):
            _broken_below(node, new)
        _broken_names(view, narrow)
    for node in _nodes(narrow):
        _broken_titles(node, OF_LEGEND if node.get("legend") else ROOM - 40)
    _in_columns(narrow, legend_columns)
    return narrow


def shown_on(spec: Mapping[str, Any], where: str) -> Spec:
    """Return the specification without the layers that are for the other drawing.

    Parameters
    ----------
    spec
        Vega-Lite specification.
    where
        `DESK` or `PHONE`.
    """
    copied = _copied(spec)
    other = DESK if where == PHONE else PHONE
    for node in _nodes(copied):
        if "layer" in node:
            node["layer"] = [it for it in node["layer"] if _style(it) != other]
    return copied


def widened(spec: Mapping[str, Any], width: float) -> Spec:
    """Return the specification of a chart whose drawing is as wide as the text on a desk.

    Parameters
    ----------
    spec
        Vega-Lite specification.
    width
        Of its drawing as it is [px].
    """
    wide = _copied(spec)
    for view, abreast in _views(wide, wide["datasets"]):
        _resized(view, float(view["width"]) + (MEASURE - width) / abreast)
    return wide


def _copied(spec: Mapping[str, Any]) -> Spec:
    """Return a copy to change; the rows, which nothing changes, are the same."""
    copied = copy.deepcopy({name: it for name, it in spec.items() if name != "datasets"})
    return copied | {"datasets": spec.get("datasets", {})}


def _style(layer: Mapping[str, Any]) -> str:
    """Return the style of the marks of a layer; empty if they have none."""
    mark = layer.get("mark")
    return str(mark.get("style", "")) if isinstance(mark, dict) else ""


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


def _axes(tree: Spec) -> list[Spec]:
    """Return the axes whose room for names is fixed."""
    return [it["axis"] for it in _nodes(tree) if "minExtent" in (it.get("axis") or {})]


def _freed(axis: Spec) -> float:
    """Return how much narrower names are, where they have fixed room [px]."""
    return max(0.0, float(axis["minExtent"]) - NAMES)


def _fewer_columns(spec: Spec, width: float) -> float:
    """Put panels of several columns into two, in place; return the width that this leaves [px]."""
    columns = int(spec.get("columns", 1)) if "concat" in spec else 1
    if columns <= ABREAST:
        return width
    spec["columns"] = ABREAST
    return width * ABREAST / columns


def _moved(node: Spec, old: float, new: float) -> None:
    """Move what stands at a fixed place beside or in the panel, in place."""
    at = node.get("x")
    if isinstance(at, dict) and isinstance(at.get("value"), int | float):
        at["value"] = at["value"] - old + new if at["value"] >= old else at["value"] * new / old
    mark = node.get("mark")
    if isinstance(mark, dict) and isinstance(mark.get("width"), int | float):
        mark["width"] *= new / old


def _broken_below(node: Spec, width: float) -> None:
    """Break what stands below an axis into lines about as long as the axis, in place."""
    x = node.get("x")
    for titled in (x, x.get("axis")) if isinstance(x, dict) else ():
        if isinstance(titled, dict) and titled.get("title"):
            title = titled["title"]
            lines = title if isinstance(title, list) else [title]
            room = max(12, int((width + BEYOND) / OF_TITLE))
            titled["title"] = [part for line in lines for part in textwrap.wrap(line, room)]


def _broken_titles(node: Spec, room: float) -> None:
    """Break titles that are longer than a line, and shorten the room for names, in place."""
    for name in ("title", "text", "subtitle"):
        text = node.get(name)
        if isinstance(text, str) and (name != "text" or "fontSize" in node or "anchor" in node):
            lines = textwrap.wrap(text, int(room / OF_TITLE))
            node[name] = lines if len(lines) > 1 else text
    if node.get("anchor") and node.get("dx", 0) < -NAMES:
        node["dx"] = -NAMES
    for name in ("minExtent", "maxExtent"):
        if node.get(name, 0) > NAMES:
            node[name] = NAMES
            node["labelLimit"] = 2 * NAMES


def _broken_names(view: Spec, spec: Spec) -> None:
    """Break the names of rows that are longer than a line, and give them room, in place."""
    root = (spec.get("data") or {}).get("name", "")
    most, n_rows = 1, 1
    for unit in spoken.units(view, root):
        y = unit.channels.get("y")
        if not isinstance(y, dict) or y.get("type") != "nominal" or "field" not in y:
            continue
        names = {str(row.get(y["field"])) for row in spec["datasets"].get(unit.data, [])}
        lines = {it: textwrap.wrap(it, LONG) for it in sorted(names) if len(it) > LONG}
        axis = y.get("axis", {})
        if not lines or axis is None or "labelExpr" in axis:
            continue
        table = json.dumps(lines, ensure_ascii=False)
        small = {"labelFontSize": SMALL, "labelLineHeight": SMALL}
        y["axis"] = {**axis, "labelExpr": f"({table})[datum.label] || datum.label", **small}
        most, n_rows = max(most, *map(len, lines.values())), max(n_rows, len(names))
    if most > 1 and isinstance(view.get("height"), int | float):
        view["height"] = max(view["height"], n_rows * (most * SMALL + 4))


def _in_columns(spec: Spec, columns: int) -> None:
    """Put legends into few columns, in place."""
    legend = spec.setdefault("config", {}).setdefault("legend", {})
    spec["config"]["axisX"] = {"labelOverlap": "greedy", "labelSeparation": 4}
    legend |= {"columns": columns, "columnPadding": 12, "labelLimit": ROOM - 40}
    for node in _nodes(spec):
        legend_here = node.get("legend")
        if isinstance(legend_here, dict) and legend_here is not legend and "columns" in legend_here:
            legend_here["columns"] = min(columns, legend_here["columns"])
