"""An image that a chunk showed, as the markup that stands for it on a page or on paper.

A chart is put into the page itself, so that its marks have titles and its letters the page's
colours. What it carries becomes part of the page: its finding stands above it and begins its
alternative text, and its rows become a link.
"""

from __future__ import annotations

import base64
import json
import math
import re
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path

SUFFIXES = {"image/svg+xml": ".svg", "image/png": ".png", "image/jpeg": ".jpg"}
#: How Vega opens a drawing, and how `analysis.drawing.picture` puts rows into it.
DRAWING = re.compile(r"<svg\b(?P<before>[^>]*?) class=\"marks\"(?P<after>[^>]*)>")
CARRIED = re.compile(r'<metadata class="(rows|finding)">([^<]*)</metadata>')
SIZE = re.compile(rb"<svg\b[^>]*?\swidth=[\"']([\d.]+)(?:px)?[\"'](?:[^>]*?\sheight=\"([\d.]+)\")?")
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
#: Width of the text in print, and the height that leaves room for a caption [pt].
TEXT_WIDTH, HEIGHT = 440, 590
#: Points for a pixel of a chart: its letters are a little smaller than the text.
POINT = 0.6


@dataclass(frozen=True, slots=True)
class Picture:
    """An image that a chunk showed.

    Attributes
    ----------
    mime, content, alt
        Its kind, its bytes, and what it shows in words.
    label, drawn_by
        The label of its chunk, and the function that its chunk calls last; empty if there is none.
    """

    mime: str
    content: bytes
    alt: str
    label: str = ""
    drawn_by: str = ""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height that it asks for [px]; NaN where it does not say."""
        if self.content.startswith(PNG_SIGNATURE):
            return float(int.from_bytes(self.content[16:20], "big")), math.nan
        match = SIZE.search(self.content[:1000]) if "svg" in self.mime else None
        width, height = match.groups() if match else (None, None)
        return float(width or math.nan), float(height or math.nan)

    @property
    def carried(self) -> dict[str, str]:
        """What a chart carries, by name; nothing for any other image."""
        text = self.content.decode("utf-8", errors="replace") if "svg" in self.mime else ""
        return {name: unescape(text_of) for name, text_of in CARRIED.findall(text)}


@dataclass(slots=True)
class Gallery:
    """The images of a document, each in a file as the markup that stands for it.

    Attributes
    ----------
    folder
        Where the files are written.
    for_print
        Whether the markup is Typst's, and not HTML.
    """

    folder: Path
    for_print: bool = False
    n_images: int = 0

    def add(self, picture: Picture) -> str:
        """Write an image and return the name of its file; `page.lua` puts it into its place."""
        self.n_images += 1
        name = f"chunk-image-{self.n_images}"
        markup = self._printed(picture, name) if self.for_print else shown(picture, name)
        path = self.folder / f"{name}.markup"
        path.write_text(markup, encoding="utf-8", newline="")
        return str(path)

    def _printed(self, picture: Picture, name: str) -> str:
        """Return an image in Typst, no larger than the page; a chart's finding stands above it."""
        content = CARRIED.sub("", picture.content.decode()).encode()
        content = content if "svg" in picture.mime else picture.content
        file = f"{name}{SUFFIXES[picture.mime]}"
        (self.folder / file).write_bytes(content)
        width, height = picture.size
        points = min(TEXT_WIDTH, POINT * width) if not math.isnan(width) else TEXT_WIDTH
        if height * points > HEIGHT * width:
            points = HEIGHT * width / height
        finding = picture.carried.get("finding", "")
        alt = json.dumps(f"{finding} {picture.alt}".strip(), ensure_ascii=False)
        above = f"#strong({json.dumps(finding, ensure_ascii=False)}) \\ " if finding else ""
        return f'{above}#image("{file}", width: {points:g}pt, alt: {alt})'


def shown(picture: Picture, name: str) -> str:
    """Return an image in HTML: a chart with its finding above and a link to its rows below."""
    width, _ = picture.size
    style = f"--natural: {width:g}px" if not math.isnan(width) else ""
    if not (
        "svg" in picture.mime and DRAWING.match(picture.content[:300].decode(errors="replace"))
    ):
        styled = f' style="{style}"' if style else ""
        data = base64.b64encode(picture.content).decode("ascii")
        source = f"data:{picture.mime};base64,{data}"
        return f'<img src="{source}" class="picture"{styled} alt="{escape(picture.alt)}" />'
    carried = picture.carried
    finding = carried.get("finding", "")
    label = f"{finding} {picture.alt}".strip()
    parts = [f'<span class="finding">{escape(finding)}</span>'] if finding else []
    parts.append(_opened(picture.content.decode("utf-8"), label, style))
    if rows := carried.get("rows"):
        file = escape(f"{picture.label or name}.csv")
        drawn = f'<span class="drawn-by"> · <code>{escape(picture.drawn_by)}</code></span>'
        parts.append(
            f'<span class="made-of"><a download="{file}" href="data:text/csv;base64,{rows}">'
            f"Data (CSV)</a>{drawn if picture.drawn_by else ''}</span>"
        )
    return "".join(parts)


def _opened(text: str, label: str, style: str) -> str:
    """Return the SVG of a chart with its words, without what it carries."""
    styled = f' style="{style}"' if style else ""
    named = f'role="graphics-document document" aria-label="{escape(label)}"'
    return DRAWING.sub(
        lambda it: f'<svg{it["before"]} class="picture marks" {named}{styled}{it["after"]}>',
        CARRIED.sub("", text),
        count=1,
    )
