"""The page as a document for print: pandoc's Typst writer, and the typst package makes the PDF.

The tree is the one of the page, with its numbers and references; what the page says in HTML around
figures, tables and callouts is said in Typst's words. Code is left out, charts stay vectors.
"""

from __future__ import annotations

import json
import math
import re
import tempfile
from pathlib import Path
from typing import Any

from analysis.report.making.images import CARRIED, MIME_BY_SUFFIX, carried_by, natural_width
from analysis.report.making.pandoc import pandoc
from analysis.report.making.tree import Node, rewritten, text_nodes
from analysis.report.reading.markup import Gallery, Picture
from analysis.report.reading.settings import Settings
from analysis.tidy.errors import MissingExtraError, ReportError

ASSETS = Path(__file__).parent
FONTS = ASSETS.parents[1] / "fonts"
SUFFIXES = {mime: suffix for suffix, mime in MIME_BY_SUFFIX.items()}
#: Width of the text, as in the template, and the height that leaves room for a caption [pt].
TEXT_WIDTH, HEIGHT = 440, 590
#: Points for a pixel of a chart: its letters are a little smaller than the text.
POINT = 0.6
FIGURE = re.compile(r'<figure(?: id="(?P<label>[^"]*)")? class="float float-(?P<kind>fig|tbl)">')
#: A figure moves to the top or the foot of a page, and text fills its place; a table may break.
PLACES = {"fig": "placement: auto, ", "tbl": ""}
FLOAT = '#figure(kind: "{}", supplement: none, numbering: none, {}'
SVG_HEIGHT = re.compile(rb'<svg\b[^>]*?\bwidth="([\d.]+)"[^>]*?\bheight="([\d.]+)"')
#: What is said in print where the HTML of a float or callout goes on or ends.
WORDS = {
    ("fig", "<figcaption"): "], caption: [",
    ("tbl", "</figcaption>"): "], [",
    ("fig", "</figure>"): "])",
    ("tbl", "</figure>"): "])",
    ("callout", '<div class="callout-body">'): "], [",
    ("callout", "</div></div>"): "])",
    ("callout", "</div></details>"): "])",
}
ENDINGS = tuple(dict.fromkeys(ending for _, ending in WORDS))
LABEL = re.compile(r"^\]\) <([\w-]+)>$")
CALLOUT = re.compile(r'<(?:div|details)[^>]* class="callout callout-(?P<kind>\w+)"')


def typeset(document: Node, settings: Settings, gallery: Gallery, directory: Path) -> bytes:
    """Return the PDF of a document.

    Parameters
    ----------
    document
        Pandoc's tree with callouts, numbers and references; images as they were shown.
    settings
        Title block and bibliography.
    gallery
        The images that chunks showed.
    directory
        Directory of the source.

    Raises
    ------
    ReportError
        If pandoc or typst complains.
    MissingExtraError
        If the package of the [pdf] extra is missing.
    """
    typst = typst_package()
    with tempfile.TemporaryDirectory(prefix="typeset-") as name:
        folder = Path(name)
        printed = for_print(document, gallery, directory, folder)
        source = folder / "document.typ"
        source.write_text(_source(printed, settings, directory), encoding="utf-8")
        try:
            return bytes(typst.compile(source, font_paths=[FONTS], ignore_system_fonts=True))
        except RuntimeError as error:
            raise ReportError(f"Typst must set the document; it says: {error}") from error


def for_print(document: Node, gallery: Gallery, directory: Path, folder: Path) -> Node:
    """Return the document in Typst's words; its images are written to a folder."""
    shown = rewritten(document["blocks"], lambda node: _shown(node, gallery, directory, folder))
    blocks = _without_html(shown)
    names = _names(blocks)
    return {**document, "blocks": rewritten(blocks, lambda node: _reached(node, names))}


def typst_package() -> Any:
    """Return the typst package.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    try:
        import typst
    except ImportError as error:
        raise MissingExtraError(
            "A PDF without Quarto needs the package 'typst'; it is not installed.",
            'Run: pip install "thermoscope[pdf]"',
        ) from error
    return typst


def _source(document: Node, settings: Settings, directory: Path) -> str:
    """Return the source that typst sets."""
    strings = {"lang": settings.lang}
    meta = {name: {"t": "MetaString", "c": text} for name, text in strings.items()}
    options = [
        "--from=json",
        "--to=typst",
        "--standalone",
        f"--template={ASSETS / 'template.typ'}",
        "--shift-heading-level-by=-1",
        "--wrap=none",
        "--citeproc",
        *(f"--bibliography={path.resolve()}" for path in settings.bibliography),
        *(f"--csl={path.resolve()}" for path in settings.csl),
    ]
    complete = {**document, "meta": {**document["meta"], **meta}}
    return pandoc(json.dumps(complete), options, directory=directory)


def _shown(node: Node, gallery: Gallery, directory: Path, folder: Path) -> Node | list[Node]:
    """Return a node as it is printed; nothing for code and for what only a screen can use."""
    if node["t"] == "Div":
        (identifier, classes, _), content = node["c"]
        plain: Node = {"t": "Div", "c": [[identifier, [], []], content]}
        return [] if "code" in classes else plain
    if node["t"] == "Image":
        return _image(node, gallery, directory, folder)
    if node["t"] == "Span" and "callout-kind" in node["c"][0][1]:
        return {"t": "Span", "c": [node["c"][0], [*node["c"][1], {"t": "Str", "c": ":"}]]}
    is_anchor = node["t"] == "Link" and "anchor" in node["c"][0][1]
    return [] if is_anchor else node


def _without_html(tree: Any) -> Any:
    """Return the tree with the HTML of `crossref` and `callout` in Typst's words, other left out.

    What opens and what closes a figure or a callout lies in one list of blocks.
    """
    if isinstance(tree, dict):
        return {key: _without_html(value) for key, value in tree.items()}
    if not isinstance(tree, list):
        return tree
    blocks: list[Any] = []
    inside: list[tuple[str, str]] = []
    for item in tree:
        is_html = isinstance(item, dict) and item.get("t") == "RawBlock" and item["c"][0] == "html"
        blocks += _in_typst(item["c"][1], inside) if is_html else [_without_html(item)]
    return blocks


def _in_typst(markup: str, inside: list[tuple[str, str]]) -> list[Node]:
    """Return what stands in print for a piece of HTML.

    Parameters
    ----------
    markup
        What `crossref` or `callout` wrote.
    inside
        Kind and label of the floats and callouts that are open here, the innermost last.
    """
    figure = FIGURE.match(markup)
    if figure:
        inside.append((figure["kind"], figure["label"] or ""))
        opening = "[" if figure["kind"] == "fig" else "caption: ["
        return [_raw(FLOAT.format(figure["kind"], PLACES[figure["kind"]]) + opening)]
    if CALLOUT.match(markup):
        inside.append(("callout", ""))
        return [_raw("#callout([")]
    kind, label = inside[-1] if inside else ("", "")
    named = f" <{label}>" if label else ""
    said = next((WORDS[kind, it] for it in ENDINGS if (kind, it) in WORDS and it in markup), None)
    if said is not None and said.startswith("])"):
        inside.pop()
    return [] if said is None else [_raw(said + (named if said == "])" else ""))]


def _image(node: Node, gallery: Gallery, directory: Path, folder: Path) -> list[Node]:
    """Return an image of a chunk or a file, written to a folder, no larger than the page.

    The finding of a chart stands above it.
    """
    (_, _, pairs), _, (target, _) = node["c"]
    picture = gallery.pictures.get(target)
    if picture is None:
        path = directory / target
        said = dict(pairs).get("fig-alt", "")
        picture = Picture(MIME_BY_SUFFIX[path.suffix.lower()], path.read_bytes(), said)
    content = picture.content
    if picture.mime == "image/svg+xml":
        content = CARRIED.sub("", content.decode("utf-8")).encode("utf-8")
    file = f"image-{len(list(folder.iterdir()))}{SUFFIXES[picture.mime]}"
    (folder / file).write_bytes(content)
    width = min(POINT * (natural_width(picture) or math.inf), TEXT_WIDTH)
    height = SVG_HEIGHT.search(content[:500])
    if height and float(height[2]) * width > HEIGHT * float(height[1]):
        width = HEIGHT * float(height[1]) / float(height[2])
    finding = carried_by(picture).get("finding", "")
    alt = json.dumps(f"{finding} {picture.alt}".strip(), ensure_ascii=False)
    shown = f'#image("{file}", width: {width:g}pt, alt: {alt})'
    above: list[Node] = [{"t": "Strong", "c": text_nodes(finding)}, _line(r"\ ")] if finding else []
    return [*above, _line(shown)]


def _names(tree: Any) -> set[str]:
    """Return what can be linked to: headings, divisions, spans and floats with a name."""
    found: set[str] = set()

    def note(node: Node) -> Node:
        if node["t"] == "Header":
            found.add(node["c"][1][0])
        elif node["t"] in ("Div", "Span"):
            found.add(node["c"][0][0])
        elif node["t"] == "RawBlock" and (label := LABEL.search(node["c"][1])):
            found.add(label[1])
        return node

    rewritten(tree, note)
    return found


def _reached(node: Node, names: set[str]) -> Node | list[Node]:
    """Return a link that leads somewhere on paper: to an address, or to a name of this document."""
    if node["t"] != "Link":
        return node
    _, inlines, (target, _) = node["c"]
    is_kept = target.startswith(("https:", "http:", "mailto:")) or target[1:] in names
    return node if is_kept else list(inlines)


def _line(text: str) -> Node:
    return {"t": "RawInline", "c": ["typst", text]}


def _raw(text: str) -> Node:
    return {"t": "RawBlock", "c": ["typst", text]}
