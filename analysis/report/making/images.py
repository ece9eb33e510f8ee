"""A chart that a chunk showed, as the markup that stands for it on a page or on paper.

It is put into the page itself, so that its marks have titles and its letters the page's colours.
What it carries becomes part of the page: its finding stands above it and begins its alternative
text, and its rows become a link.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from html import unescape
from pathlib import Path

from markupsafe import escape

#: How Vega opens a drawing, and how `analysis.drawing.picture` puts rows into it.
DRAWING = re.compile(r"<svg\b(?P<before>[^>]*?) class=\"marks\"(?P<after>[^>]*)>")
CARRIED = re.compile(r'<metadata class="(rows|finding)">([^<]*)</metadata>')
#: The layout for a phone that a drawing may hold, and the shape that it asks for.
NARROW = re.compile(r'<svg class="narrow".*?</svg>', re.DOTALL)
SHAPE = re.compile(r' style="(--narrow: [\d. /]+)"')
SIZE = re.compile(r"<svg\b[^>]*?\swidth=[\"']([\d.]+)(?:px)?[\"'](?:[^>]*?\sheight=\"([\d.]+)\")?")
#: Width of the text in print, and the height that leaves room for a caption [pt].
TEXT_WIDTH, HEIGHT = 440, 590
#: Points for a pixel of a chart: its letters are a little smaller than the text.
POINT = 0.6


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing in SVG, and what it shows in words."""

    drawing: str
    alt: str
    #: The label of its chunk, and the function that its chunk calls last; empty if there is none.
    label: str = ""
    drawn_by: str = ""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height that it asks for [px]; NaN where it does not say."""
        match = SIZE.search(self.drawing[:1000])
        width, height = match.groups() if match else (None, None)
        return float(width or math.nan), float(height or math.nan)

    @property
    def carried(self) -> dict[str, str]:
        """What a chart carries, by name."""
        return {name: unescape(text) for name, text in CARRIED.findall(self.drawing)}

    @property
    def described(self) -> str:
        """Its finding and its alternative text."""
        return f"{self.carried.get('finding', '')} {self.alt}".strip()


@dataclass(slots=True)
class Gallery:
    """The drawings of a document, each in a file of a folder as the markup that stands for it.

    The markup is Typst's ``for_print``, else HTML.
    """

    folder: Path
    for_print: bool = False
    n_images: int = 0

    def add(self, picture: Picture) -> str:
        """Write a drawing and return the name of its file; `page.lua` puts it into its place."""
        self.n_images += 1
        name = f"chunk-image-{self.n_images}"
        markup = self._print(picture, name) if self.for_print else shown(picture, name)
        path = self.folder / f"{name}.markup"
        path.write_text(markup, encoding="utf-8", newline="")
        return str(path)

    def _print(self, picture: Picture, name: str) -> str:
        """Return a drawing in Typst, no larger than the page, its finding above it."""
        drawing = NARROW.sub("", CARRIED.sub("", picture.drawing))
        (self.folder / f"{name}.svg").write_text(drawing, encoding="utf-8")
        width, height = picture.size
        points = min(TEXT_WIDTH, POINT * width) if not math.isnan(width) else TEXT_WIDTH
        if height * points > HEIGHT * width:
            points = HEIGHT * width / height
        finding = picture.carried.get("finding", "")
        alt = json.dumps(picture.described, ensure_ascii=False)
        above = f"#strong({json.dumps(finding, ensure_ascii=False)}) \\ " if finding else ""
        return f'{above}#image("{name}.svg", width: {points:g}pt, alt: {alt})'


def shown(picture: Picture, name: str) -> str:
    """Return a chart in HTML with its finding above and a link to its rows below."""
    width, _ = picture.size
    shape = SHAPE.search(picture.drawing[:1000])
    styles = [f"--natural: {width:g}px"] if not math.isnan(width) else []
    styles += [shape[1]] if shape else []
    styled = f' style="{"; ".join(styles)}"' if styles else ""
    named = f'role="graphics-document document" aria-label="{escape(picture.described)}"{styled}'
    carried, parts = picture.carried, []
    if finding := carried.get("finding", ""):
        parts.append(f'<span class="finding">{escape(finding)}</span>')
    parts.append(
        DRAWING.sub(
            lambda it: f'<svg{it["before"]} class="picture marks" {named}{it["after"]}>',
            SHAPE.sub("", CARRIED.sub("", picture.drawing), count=1),
            count=1,
        )
    )
    if rows := carried.get("rows"):
        file = escape(f"{picture.label or name}.csv")
        drawn = f'<span class="drawn-by"> · <code>{escape(picture.drawn_by)}</code></span>'
        parts.append(
            f'<span class="made-of"><a download="{file}" href="data:text/csv;base64,{rows}">'
            f"Data (CSV)</a>{drawn if picture.drawn_by else ''}</span>"
        )
    return "".join(parts)
