"""A chart as a picture: its typeface, a title on each mark, its finding, its rows.

Importing this module replaces Altair's ``svg`` renderer, which both ways to the report use.
"""

from __future__ import annotations

import base64
import math
import re
import zlib
from collections.abc import Mapping
from typing import Any

import altair as alt
import pandas as pd
from altair.utils.mimebundle import spec_to_mimebundle
from markupsafe import escape

from analysis.drawing import typeface, units, width

#: Where the rows of a picture lie inside it; see `analysis.report.making.images`.
ROWS = '<metadata class="rows">{}</metadata>'
FINDING = '<metadata class="finding">{}</metadata>'
#: Width of a figure on a phone, and the least size of its letters there [px].
SCREEN, LETTER = 350, 10
FONT = re.compile(r'<text\b[^>]*? font-size="([\d.]+)px"')
SIZE = re.compile(r'<svg\b[^>]*? width="([\d.]+)" height="([\d.]+)"')
WIDTH = re.compile(r'<svg\b[^>]*? width="([\d.]+)"')
NAMED = re.compile(r'(\bid="|url\(#|href="#)([\w-]+)')
#: The address that vl_convert puts before a link to a page beside this one.
BASE = 'xlink:href="https://vega.github.io/vega-datasets/'
OPENING = re.compile(r"<svg\b[^>]*>")
#: Significant digits of the numbers that a picture carries.
DIGITS = 6


def svg(spec: dict[str, Any], **_: Any) -> dict[str, str]:
    """Return a chart's picture, laid out with the typeface and complete in itself.

    Parameters
    ----------
    spec
        Vega-Lite specification; Altair's renderers are called with it.

    Returns
    -------
    The picture under its MIME type.

    Raises
    ------
    MissingExtraError
        If vl_convert or fontTools is not installed.
    """
    typeface.register()
    wide = _wide(spec, _draw(spec))
    whole = typeface.embed_typeface(with_narrow(wide, _narrow(spec, wide)))
    rows = rows_of(spec).to_csv(index=False, lineterminator="\n")
    carried = (
        [ROWS.format(base64.b64encode(rows.encode("utf-8")).decode("ascii"))]
        if rows.strip()
        else []
    )
    carried += [FINDING.format(escape(finding))] if (finding := finding_of(spec)) else []
    return {"image/svg+xml": add_metadata(whole, *carried)}


def finding_of(spec: Mapping[str, Any]) -> str:
    """Return what a chart says that it shows; empty if it says nothing."""
    return str((spec.get("usermeta") or {}).get("finding", ""))


def _draw(spec: Mapping[str, Any]) -> str:
    """Return the picture of a chart whose marks say what they are."""
    bundle = spec_to_mimebundle(
        units.add_names(spec), format="svg", mode="vega-lite", vegalite_version=alt.SCHEMA_VERSION
    )
    return make_unique(units.titled(str(dict(bundle)["image/svg+xml"]).replace(BASE, 'href="')))


def _wide(spec: Mapping[str, Any], picture: str) -> str:
    """Return a chart's picture, as wide as the text unless it is wider or meant to be small."""
    if (spec.get("usermeta") or {}).get("is_small"):
        return picture
    return _fit(spec, picture, width.MEASURE) if _width(picture) < width.MEASURE else picture


def _narrow(spec: Mapping[str, Any], wide: str) -> str:
    """Return a chart laid out for a phone; empty where it can be read there as it is, or never.

    A chart that is wide however narrow its panels are scrolls on a phone.
    """
    if (spec.get("usermeta") or {}).get("is_small") or _is_read_on_a_phone(wide):
        return ""
    phone = width.for_phone(spec)
    fitted = _fit(phone, _draw(phone), width.PHONE)
    return fitted if _is_read_on_a_phone(fitted) else ""


def _is_read_on_a_phone(picture: str) -> bool:
    """Return whether the least letters of a picture can be read where it is as wide as a phone."""
    letters = min((float(it) for it in FONT.findall(picture)), default=math.inf)
    return _width(picture) * LETTER <= letters * SCREEN


def _fit(spec: Mapping[str, Any], picture: str, to: float) -> str:
    """Return the picture of a chart as wide as asked for; ``picture`` is that of it as it is."""
    drawn = _width(picture)
    for _ in range(3):  # words at the edge of a panel may lie inside a wider one
        if abs(_width(picture) - to) < 1:
            break
        picture = _draw(width.resized(spec, drawn, to))
        drawn -= to - _width(picture)
    return picture


def with_narrow(wide: str, narrow: str) -> str:
    """Return a picture that holds another layout of itself, which a page shows on a phone.

    The page gives the picture the shape of the layout that it shows (`site.css`); the hidden one
    lies in the middle of the shown one's height, as its own drawing within.
    """
    if not narrow:
        return wide
    sizes = [SIZE.search(it) for it in (wide, narrow)]
    if None in sizes:
        return wide
    (w, h), (nw, nh) = (tuple(map(float, size.groups())) for size in sizes if size)
    tall = w * nh / nw
    opening = OPENING.search(wide)
    inside = wide[opening.end() : wide.rindex("</svg>")] if opening else ""
    box = f'x="0" y="{(h - tall) / 2:.1f}" width="{w:g}" height="{tall:.1f}"'
    inner = narrow[narrow.index(">") + 1 : narrow.rindex("</svg>")]
    nested = f'<svg class="narrow" display="none" {box} viewBox="0 0 {nw:g} {nh:g}">{inner}</svg>'
    head = (
        opening[0].replace("<svg", f'<svg style="--narrow: {nw:g} / {nh:g}"', 1) if opening else ""
    )
    return f'{head}<g class="wide">{inside}</g>{nested}</svg>'


def _width(picture: str) -> float:
    match = WIDTH.search(picture)
    return float(match[1]) if match else 0.0


def make_unique(picture: str) -> str:
    """Return an SVG image whose names no other picture of the page has.

    >>> make_unique('<svg><clipPath id="clip0"/><g clip-path="url(#clip0)"/></svg>')
    '<svg><clipPath id="clip0-a2246f82"/><g clip-path="url(#clip0-a2246f82)"/></svg>'
    """
    name = f"{zlib.crc32(picture.encode()):08x}"
    return NAMED.sub(rf"\1\2-{name}", picture)


def rows_of(spec: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows that a chart draws: what its channels show, whose they are, from which file.

    Rows of several kinds (models, a bound) stand below each other, `part` says which is which.
    """
    shown: dict[str, list[str]] = {}
    for unit in units.units(spec):
        if unit.kind == "text":
            continue
        fields = [
            it["field"] for it in unit.channels.values() if isinstance(it, dict) and "field" in it
        ]
        shown.setdefault(unit.data, []).extend([*unit.panels, *fields])
    frames: dict[tuple[str, ...], list[pd.DataFrame]] = {}
    for data, fields in shown.items():
        rows = spec.get("datasets", {}).get(data, [])
        frame = pd.DataFrame(rows)
        wanted = {*fields, *units.NAMES, *units.COUNTS} - {*units.PLACES}
        frame = frame[[name for name in frame.columns if name in wanted]]
        if len(frame.columns) and tuple(frame.columns) != ("at",):
            frames.setdefault(tuple(frame.columns), []).append(frame)
    parts = _drop_repeats(
        [pd.concat(it, ignore_index=True).drop_duplicates() for it in frames.values()]
    )
    if len(parts) > 1:
        parts = [part.assign(part=number) for number, part in enumerate(parts, start=1)]
    whole = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    return whole.map(lambda it: float(f"{it:.{DIGITS}g}") if isinstance(it, float) else it)


def _drop_repeats(parts: list[pd.DataFrame]) -> list[pd.DataFrame]:
    """Return the parts without those whose rows are all rows of a wider part."""

    def is_in(part: pd.DataFrame, wider: pd.DataFrame) -> bool:
        names = list(part.columns)
        if part is wider or len(names) >= len(wider.columns) or not {*names} <= {*wider.columns}:
            return False
        return len(pd.concat([wider[names], part]).drop_duplicates()) == len(
            wider[names].drop_duplicates()
        )

    return [part for part in parts if not any(is_in(part, wider) for wider in parts)]


def add_metadata(picture: str, *carried: str) -> str:
    """Return an SVG image that carries what is said beside it."""
    return OPENING.sub(lambda opening: opening[0] + "".join(carried), picture, count=1)


alt.renderers.register("svg", svg)
