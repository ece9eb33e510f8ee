"""What each mark of a chart says: model, values, numbers of models and prompts, file.

Every row that a chart draws gets a sentence, which Vega puts on the row's mark as its label and
`titled` makes the mark's title: shown under a pointer, read by a screen reader.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: Columns that name what a row is about, the first that a row has is said; and what is said last.
NAMES = ("model", "model_id", "recipe_name", "name")
COUNTS = ("n_prompts", "n_models", "n_suites", "n_tokens", "n", "file")
#: How a column is called where no axis or legend names it.
WORDS = {
    "conf_low": "interval",
    "gain_mean": "mean gain",
    "model_id": "model",
    "at": "line at",
    "bound": "claimed bound",
}
#: Columns that say where a name stands, which is no number of the figure.
PLACES = ("name_x", "name_y", "label_at")
LINES = ("line", "area", "trail")
ENDS = {"x": "x2", "y": "y2"}
#: What stands in a line of a title that only points to the sides of an axis.
ARROW = "→"
#: Channels that place a name or move a mark, and say nothing of it.
SILENT = ("text", "xOffset", "yOffset", "opacity", "order", "description", "size", "detail")
#: A mark as vl-convert writes it: a shape of its own, or a text, which says itself.
MARK = re.compile(
    r'<(?P<tag>path|line|rect|circle)(?P<before>[^>]*?) aria-label="(?P<said>[^"]*)"'
    r' role="graphics-symbol" aria-roledescription="(?P<kind>[^"]*)"(?P<after>[^>]*)/>'
)
TEXT = re.compile(r'(<text\b[^>]*?) aria-label="[^"]*" role="graphics-symbol"[^>]*?mark"')
#: What holds marks is an object; Vega calls some of it a symbol, which would need a name.
CONTAINER = re.compile(
    r'(<g\b[^>]*? role="graphics-)symbol(" aria-roledescription="[^"]*container")'
)

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Unit:
    """Marks of one kind: their node in the specification, all their channels, their rows."""

    node: dict[str, Any]
    channels: Mapping[str, Any]
    data: str
    panels: tuple[str, ...]

    @property
    def kind(self) -> str:
        """The kind of mark."""
        mark = self.node["mark"]
        return str(mark["type"] if isinstance(mark, dict) else mark)


def spoken(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a Vega-Lite specification whose marks are described row by row.

    Texts say themselves, and marks that Vega computes (a bin, a mean) keep the label that it gives.
    """
    labelled = {
        **spec,
        "datasets": {name: list(it) for name, it in spec.get("datasets", {}).items()},
    }
    for number, unit in enumerate(units(labelled)):
        rows = labelled["datasets"].get(unit.data, [])
        if not rows or unit.kind == "text" or "description" in unit.channels:
            continue
        column = f"said_{number}"
        sentences = _of_lines(unit, rows) if unit.kind in LINES else [_of(unit, it) for it in rows]
        labelled["datasets"][unit.data] = [
            {**row, column: sentence} for row, sentence in zip(rows, sentences, strict=True)
        ]
        unit.node["encoding"] = {
            **unit.node.get("encoding", {}),
            "description": {"field": column, "type": "nominal"},
        }
    return labelled


def units(
    node: Any, data: str = "", channels: Mapping[str, Any] | None = None, panels: Sequence[str] = ()
) -> Iterator[Unit]:
    """Yield the marks of a specification with what they inherit, however they are layered."""
    if isinstance(node, list):
        for item in node:
            yield from units(item, data, channels, panels)
    if not isinstance(node, dict) or _computes(node):
        return
    data = (node.get("data") or {}).get("name", data)
    channels = {**(channels or {}), **node.get("encoding", {})}
    facet = node.get("facet", {})
    split = [facet] if "field" in facet else list(facet.values())
    panels = (*panels, *(str(it["field"]) for it in split if "field" in it))
    if "mark" in node:
        yield Unit(node, channels, data, panels)
    for part in ("layer", "hconcat", "vconcat", "concat", "spec"):
        yield from units(node.get(part), data, channels, panels)


def titled(picture: str) -> str:
    """Return an SVG image whose marks have their labels as titles, and whose texts have none.

    >>> said = 'aria-label="a" role="graphics-symbol" aria-roledescription="point"'
    >>> titled(f"<path {said}/>")
    '<path role="graphics-symbol" aria-roledescription="point"><title>a</title></path>'
    """
    return CONTAINER.sub(r"\1object\2", MARK.sub(_with_title, TEXT.sub(r"\1", picture)))


def _with_title(mark: re.Match[str]) -> str:
    tag, text = mark["tag"], mark["said"].strip()
    opening = f"<{tag}{mark['before']}"
    if not text:
        return f'{opening} aria-hidden="true"{mark["after"]}/>'
    spoken_as = f'role="graphics-symbol" aria-roledescription="{mark["kind"]}"'
    return f"{opening} {spoken_as}{mark['after']}><title>{text}</title></{tag}>"


def value(number: Any) -> str:
    """Return a value as readers write it, numbers to three digits.

    >>> value(-0.012345), value(25000000.0), value("Meta"), value(None)
    ('−0.0123', '25,000,000', 'Meta', 'none')
    """
    if number is None or (isinstance(number, float) and math.isnan(number)):
        return "none"
    if isinstance(number, bool) or not isinstance(number, int | float):
        return str(number)
    if abs(number) >= 1000 or number == int(number):
        return f"{number:,.0f}".replace("-", "\u2212")
    return f"{number:.3g}".replace("-", "\u2212")


def _computes(node: Mapping[str, Any]) -> bool:
    """Return whether Vega draws other rows than it was given."""
    encoded = node.get("encoding", {}).values()
    channels = [it for it in encoded if isinstance(it, dict)]
    steps = node.get("transform", [])
    return any({"aggregate", "bin"} & set(it) for it in channels) or any(
        "filter" not in step for step in steps
    )


def _of(unit: Unit, row: Row) -> str:
    """Return what a row says: its name, its values in the order of the channels, its numbers."""
    name = next((it for it in NAMES if row.get(it) not in (None, "")), None)
    parts = {name: value(row[name])} if name else {}
    for panel in unit.panels:
        parts.setdefault(panel, value(row.get(panel)))
    for channel, definition in unit.channels.items():
        if channel in ENDS.values() or not isinstance(definition, dict):
            continue
        if channel in SILENT and (channel, definition.get("type")) != ("size", "nominal"):
            continue
        field = definition.get("field")
        if field is None and "datum" in definition:
            parts[channel] = f"line at {value(definition['datum'])}"
        if field is None or field in parts or field not in row or row[field] is None:
            continue
        until = unit.channels.get(ENDS.get(channel, ""), {}).get("field")
        shown = value(row[field])
        shown += f" to {value(row[until])}" if until in row else ""
        is_named = definition.get("type") in ("quantitative", "ordinal", "temporal")
        parts[field] = f"{_title(definition, field)}: {shown}" if is_named else shown
    for column in COUNTS if any(name in row for name in parts) else ():
        if column in row and column not in parts and row[column] not in (None, ""):
            parts[column] = f"{column.replace('_', ' ')}: {value(row[column])}"
    return "\n".join(_without_repeats([*dict.fromkeys(parts.values())]))


def _without_repeats(parts: Sequence[str]) -> list[str]:
    """Return what is said without names that a longer name holds.

    >>> _without_repeats(["EleutherAI/pythia-1b", "pythia-1b", "gain: 1"])
    ['EleutherAI/pythia-1b', 'gain: 1']
    """
    names = [part for part in parts if ": " not in part]
    inside = {
        part
        for part in names
        for name in names
        if name.startswith(f"{part}, ") or name.endswith(f"/{part}")
    }
    return [part for part in parts if part not in inside]


def _of_lines(unit: Unit, rows: Sequence[Row]) -> list[str]:
    """Return what the line through each row says: its series, and where it begins and ends."""
    nominal = [
        str(it["field"])
        for it in unit.channels.values()
        if isinstance(it, dict) and it.get("type") == "nominal"
    ]
    series = [*unit.panels, *dict.fromkeys(nominal)]
    keys = [tuple(str(row.get(field)) for field in series) for row in rows]
    where = [unit.channels.get(axis, {}) for axis in ("x", "y")]
    ends: dict[tuple[str, ...], list[Row]] = {}
    for key, row in zip(keys, rows, strict=True):
        ends.setdefault(key, []).append(row)
    courses = {key: _course(key, of_line, where) for key, of_line in ends.items()}
    return [courses[key] for key in keys]


def _course(key: Sequence[str], rows: Sequence[Row], where: Sequence[Any]) -> str:
    """Return the names of a line and its first and last point."""
    fields = [it.get("field") for it in where]
    parts = list(dict.fromkeys(key))
    if all(field in rows[0] for field in fields):
        known = [row for row in rows if isinstance(row[fields[0]], int | float)]
        known.sort(key=lambda row: float(row[fields[0]]))
        for axis, field in zip(where, fields, strict=True):
            if known:
                first, last = (value(row[field]) for row in (known[0], known[-1]))
                parts.append(f"{_title(axis, str(field))}: {first} to {last}")
    return "\n".join(parts)


def _title(definition: Mapping[str, Any], field: str) -> str:
    """Return how a channel is called: by its axis or legend, or by its column."""
    axis = definition.get("axis") or definition.get("legend") or {}
    title = definition.get("title") or (axis.get("title") if isinstance(axis, dict) else None)
    title = title or WORDS.get(field, field.replace("_", " "))
    lines = title if isinstance(title, list) else [str(title)]
    return " ".join(line for line in lines if ARROW not in line) or field
