"""Images inside the page, each with alternative text: charts as drawings, others as data.

A chart is put into the page itself, so that its marks have titles and its letters the page's
colours. What it carries becomes part of the page: its finding stands above it and begins its
alternative text, its rows become a link, and its twin is shown in its place on a phone.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from html import escape, unescape
from pathlib import Path

from analysis.report.making.tree import Node, attributes, inline_html, plain, plain_text, rewritten
from analysis.report.reading.markup import Gallery, Picture
from analysis.tidy.errors import ReportError

MIME_BY_SUFFIX = {
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
}
#: How Vega opens a drawing, and how `analysis.drawing.picture` puts rows into it.
DRAWING = re.compile(r"<svg\b(?P<before>[^>]*?) class=\"marks\"(?P<after>[^>]*)>")
CARRIED = re.compile(r'<metadata class="(rows|finding|narrow)">([^<]*)</metadata>')
SVG_WIDTH = re.compile(rb"<svg\b[^>]*?\swidth=[\"']([\d.]+)(?:px)?[\"']")
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def embedded(
    document: Node, gallery: Gallery, directory: Path, place_of: Callable[[str], str]
) -> Node:
    """Return the document with every image inside it.

    Parameters
    ----------
    document
        Pandoc's tree.
    gallery
        The images that chunks showed; any other image is a file below ``directory``.
    place_of
        Where the source contains a text, for messages.

    Raises
    ------
    ReportError
        If an image has no alternative text, or its file is missing or of an unknown kind.
    """

    def rewrite(node: Node) -> Node | list[Node]:
        if node["t"] == "Para" and [inline["t"] for inline in node["c"]] == ["Image"]:
            return plain(node["c"])
        if node["t"] != "Image":
            return node
        (identifier, classes, pairs), inlines, (target, title) = node["c"]
        alt = dict(pairs).get("fig-alt") or plain_text(inlines)
        place = f"'{target}' at {place_of(target)}"
        picture = gallery.pictures.get(target) or _file_picture(directory / target, alt, place)
        style = _style(picture, dict(pairs))
        if target in gallery.pictures and _is_drawing(picture):
            return _drawing(picture, target, style)
        kept = attributes(identifier, [*classes, "picture"], **({"style": style} if style else {}))
        return {"t": "Image", "c": [kept, [{"t": "Str", "c": picture.alt}], [_uri(picture), title]]}

    with_images: Node = rewritten(document, rewrite)
    return with_images


def natural_width(picture: Picture) -> float | None:
    """Return the width an image asks for [px], or None if it does not say.

    >>> natural_width(Picture("image/svg+xml", b'<svg width="320" height="9">', "A line."))
    320.0
    """
    if picture.mime == "image/svg+xml":
        match = SVG_WIDTH.search(picture.content)
        return float(match[1]) if match else None
    if picture.content.startswith(PNG_SIGNATURE):
        return float(int.from_bytes(picture.content[16:20], "big"))
    return None


def _is_drawing(picture: Picture) -> bool:
    """Return whether a picture is a chart of Vega, in which nothing can run."""
    return DRAWING.match(picture.content[:300].decode("utf-8", errors="replace")) is not None


def _drawing(picture: Picture, name: str, style: str) -> list[Node]:
    """Return a chart as part of the page, its finding above, links to what it is made of below."""
    text = picture.content.decode("utf-8")
    carried = carried_by(picture)
    finding = carried.get("finding", "")
    said = f"{finding} {picture.alt}".strip()
    nodes = [inline_html(f'<span class="finding">{escape(finding)}</span>')] if finding else []
    if "narrow" in carried:
        nodes.append(inline_html(_opened(_decoded(carried["narrow"]), "narrow", said, "")))
    kind = "wide" if "narrow" in carried else ""
    nodes.append(inline_html(_opened(text, kind, said, style)))
    if rows := carried.get("rows"):
        file = f"{picture.label or name}.csv"
        link = f'<a download="{escape(file)}" href="data:text/csv;base64,{rows}">Data (CSV)</a>'
        drawn = (
            f'<span class="drawn-by"> · <code>{escape(picture.drawn_by)}</code></span>'
            if picture.drawn_by
            else ""
        )
        nodes.append(inline_html(f'<span class="made-of">{link}{drawn}</span>'))
    return nodes


def carried_by(picture: Picture) -> dict[str, str]:
    """Return what a chart carries, by name; nothing for any other image."""
    text = picture.content.decode("utf-8", errors="replace") if "svg" in picture.mime else ""
    return {name: unescape(said) for name, said in CARRIED.findall(text)}


def _opened(text: str, kind: str, said: str, style: str) -> str:
    """Return the SVG of a chart with classes and words, without what it carries."""
    classes = " ".join(filter(None, ["picture", kind, "marks"]))

    def opened(match: re.Match[str]) -> str:
        named = f'role="graphics-document document" aria-label="{escape(said)}"'
        styled = f' style="{style}"' if style else ""
        return f'<svg{match["before"]} class="{classes}" {named}{styled}{match["after"]}>'

    return DRAWING.sub(opened, CARRIED.sub("", text), count=1)


def _decoded(text: str) -> str:
    return base64.b64decode(text).decode("utf-8")


def _file_picture(path: Path, alt: str, place: str) -> Picture:
    if not alt.strip():
        raise ReportError(
            f"An image must have alternative text; {place} has none.",
            "Write '![caption](file){fig-alt=\"what the image shows\"}'.",
        )
    if path.suffix.lower() not in MIME_BY_SUFFIX or not path.is_file():
        raise ReportError(
            f"An image must be a file of kind {', '.join(MIME_BY_SUFFIX)}; {place} is not.",
            "Its path is relative to the main source; the page loads nothing from elsewhere.",
        )
    return Picture(MIME_BY_SUFFIX[path.suffix.lower()], path.read_bytes(), alt)


def _style(picture: Picture, pairs: dict[str, str]) -> str:
    width = pairs.get("width") or natural_width(picture)
    if width is None:
        return ""
    return f"--natural: {width}" if isinstance(width, str) else f"--natural: {width:g}px"


def _uri(picture: Picture) -> str:
    return f"data:{picture.mime};base64,{base64.b64encode(picture.content).decode('ascii')}"
