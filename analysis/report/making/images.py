"""Images inside the page: every picture becomes a data URI with alternative text."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from pathlib import Path

from analysis.report.making.tree import Node, attributes, plain, plain_text, rewritten
from analysis.report.reading.markup import Gallery, Picture
from analysis.tidy.errors import ReportError

MIME_BY_SUFFIX = {
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
}
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

    def rewrite(node: Node) -> Node:
        if node["t"] == "Para" and [inline["t"] for inline in node["c"]] == ["Image"]:
            return plain(node["c"])
        if node["t"] != "Image":
            return node
        (identifier, classes, pairs), inlines, (target, title) = node["c"]
        alt = dict(pairs).get("fig-alt") or plain_text(inlines)
        place = f"'{target}' at {place_of(target)}"
        picture = gallery.pictures.get(target) or _file_picture(directory / target, alt, place)
        style = _style(picture, dict(pairs))
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
    return f"max-width: {width}" if isinstance(width, str) else f"max-width: {width:g}px"


def _uri(picture: Picture) -> str:
    return f"data:{picture.mime};base64,{base64.b64encode(picture.content).decode('ascii')}"
