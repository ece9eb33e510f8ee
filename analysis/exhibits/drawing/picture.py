"""A chart as a picture: its typeface, a title on each mark, and the rows that it draws.

Importing this module replaces Altair's ``svg`` renderer, which both ways to the report use.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Mapping
from typing import Any

import altair as alt
import pandas as pd
from altair.utils.mimebundle import spec_to_mimebundle

from analysis.exhibits.drawing import spoken, typeface

#: Where the rows of a picture lie inside it; see `analysis.report.making.images`.
ROWS = '<metadata class="rows">{}</metadata>'
NAMED = re.compile(r'(\bid="|url\(#|href="#)([\w-]+)')
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
    bundle = spec_to_mimebundle(
        spoken.spoken(spec), format="svg", mode="vega-lite", vegalite_version=alt.SCHEMA_VERSION
    )
    carried = rows_of(spec).to_csv(index=False, lineterminator="\n")
    return {
        mime: with_rows(typeface.with_typeface(of_its_own(spoken.titled(str(picture)))), carried)
        for mime, picture in dict(bundle).items()
    }


def of_its_own(picture: str) -> str:
    """Return an SVG image whose names no other picture of the page has.

    >>> of_its_own('<svg><clipPath id="clip0"/><g clip-path="url(#clip0)"/></svg>')
    '<svg><clipPath id="clip0-a2246f82"/><g clip-path="url(#clip0-a2246f82)"/></svg>'
    """
    name = f"{zlib.crc32(picture.encode()):08x}"
    return NAMED.sub(rf"\1\2-{name}", picture)


def rows_of(spec: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows that a chart draws: what its channels show, whose they are, from which file.

    Rows of several kinds (models, a bound) stand below each other, `part` says which is which.
    """
    shown: dict[str, list[str]] = {}
    for unit in spoken.units(spec):
        fields = [
            it["field"] for it in unit.channels.values() if isinstance(it, dict) and "field" in it
        ]
        shown.setdefault(unit.data, []).extend([*unit.panels, *fields])
    frames: dict[tuple[str, ...], list[pd.DataFrame]] = {}
    for data, fields in shown.items():
        rows = spec.get("datasets", {}).get(data, [])
        frame = pd.DataFrame(rows)
        wanted = {*fields, *spoken.NAMES, *spoken.COUNTS}
        frame = frame[[name for name in frame.columns if name in wanted]]
        if len(frame.columns) and tuple(frame.columns) != ("at",):
            frames.setdefault(tuple(frame.columns), []).append(frame)
    parts = _without_repeats(
        [pd.concat(it, ignore_index=True).drop_duplicates() for it in frames.values()]
    )
    if len(parts) > 1:
        parts = [part.assign(part=number) for number, part in enumerate(parts, start=1)]
    whole = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    return whole.map(lambda it: float(f"{it:.{DIGITS}g}") if isinstance(it, float) else it)


def _without_repeats(parts: list[pd.DataFrame]) -> list[pd.DataFrame]:
    """Return the parts without those whose rows are all rows of a wider part."""

    def is_in(part: pd.DataFrame, wider: pd.DataFrame) -> bool:
        names = list(part.columns)
        if part is wider or len(names) >= len(wider.columns) or not {*names} <= {*wider.columns}:
            return False
        return len(pd.concat([wider[names], part]).drop_duplicates()) == len(
            wider[names].drop_duplicates()
        )

    return [part for part in parts if not any(is_in(part, wider) for wider in parts)]


def with_rows(picture: str, rows: str) -> str:
    """Return an SVG image that carries its rows, a CSV text; as it is where there are none."""
    if not rows.strip():
        return picture
    said = ROWS.format(base64.b64encode(rows.encode("utf-8")).decode("ascii"))
    return OPENING.sub(lambda opening: opening[0] + said, picture, count=1)


alt.renderers.register("svg", svg)
