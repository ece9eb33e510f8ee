"""The marks of a chart: which rows they draw, and what each says under a pointer."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: Columns that name what a row is about, and those that count or say where it is from.
NAMES = ("model", "model_id", "recipe_name", "name")
COUNTS = ("n_prompts", "n_models", "n_suites", "n_tokens", "n", "file")
#: Columns that say where a name stands, which is no number of the figure.
PLACES = ("name_x", "name_y", "label_at")
LINES = ("line", "area", "trail")
#: A number of more decimals than a reader needs.
LONG = re.compile(r"\d+\.\d{3,}(?:e[+-]?\d+)?")
#: A mark as vl-convert writes it: a shape of its own, or a text, which says itself.
MARK = re.compile(
    r'<(?P<tag>path|line|rect|circle)(?P<before>[^>]*?) aria-label="(?P<label>[^"]*)"'
    r' role="graphics-symbol" aria-roledescription="(?P<kind>[^"]*)"(?P<after>[^>]*)/>'
)
TEXT = re.compile(r'(<text\b[^>]*?) aria-label="[^"]*" role="graphics-symbol"[^>]*?mark"')
#: What holds marks is an object; Vega calls some of it a symbol, which would need a name.
CONTAINER = re.compile(
    r'(<g\b[^>]*? role="graphics-)symbol(" aria-roledescription="[^"]*container")'
)


Spec = dict[str, Any]


@dataclass(frozen=True, slots=True)
class MarkGroup:
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


def units(
    node: Any, data: str = "", channels: Mapping[str, Any] | None = None, panels: Sequence[str] = ()
) -> Iterator[MarkGroup]:
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
        yield MarkGroup(node, channels, data, panels)
    for part in ("layer", "hconcat", "vconcat", "concat", "spec"):
        yield from units(node.get(part), data, channels, panels)


def copy_spec(spec: Mapping[str, Any]) -> Spec:
    """Return a copy to change; the rows, which nothing changes, are the same."""
    copied = copy.deepcopy({name: it for name, it in spec.items() if name != "datasets"})
    return copied | {"datasets": spec.get("datasets", {})}


def add_names(spec: Mapping[str, Any]) -> Spec:
    """Return a Vega-Lite specification whose points also say the name that their rows have."""
    named = copy_spec(spec)
    for unit in units(named):
        rows: Sequence[Mapping[str, Any]] = named["datasets"].get(unit.data, [])
        row = rows[0] if rows else {}
        name = next((it for it in NAMES if it in row), None)
        if name is None or unit.kind in LINES or {"detail", "description"} & {*unit.channels}:
            continue
        detail = {"field": name, "type": "nominal"}
        unit.node["encoding"] = {"detail": detail, **unit.node.get("encoding", {})}
    return named


def titled(picture: str) -> str:
    """Return an SVG image whose marks have their labels as titles, and whose texts have none.

    >>> label = 'aria-label="a" role="graphics-symbol" aria-roledescription="point"'
    >>> titled(f"<path {label}/>")
    '<path role="graphics-symbol" aria-roledescription="point"><title>a</title></path>'
    """
    return CONTAINER.sub(r"\1object\2", MARK.sub(_title_mark, TEXT.sub(r"\1", picture)))


def _title_mark(mark: re.Match[str]) -> str:
    tag = mark["tag"]
    text = LONG.sub(lambda number: f"{float(number[0]):.3g}", mark["label"].strip())
    opening = f"<{tag}{mark['before']}"
    if not text:
        return f'{opening} aria-hidden="true"{mark["after"]}/>'
    spoken_as = f'role="graphics-symbol" aria-roledescription="{mark["kind"]}"'
    return f"{opening} {spoken_as}{mark['after']}><title>{text}</title></{tag}>"


def _computes(node: Mapping[str, Any]) -> bool:
    """Return whether Vega draws other rows than it was given."""
    encoded = node.get("encoding", {}).values()
    channels = [it for it in encoded if isinstance(it, dict)]
    steps = node.get("transform", [])
    return any({"aggregate", "bin"} & set(it) for it in channels) or any(
        "filter" not in step for step in steps
    )
