"""The page: the numbered document in its template, with everything that it needs inside."""

from __future__ import annotations

import base64
import datetime
import json
import re
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from analysis.report.making.crossref import Heading
from analysis.report.making.pandoc import pandoc
from analysis.report.making.tree import Node, html, link, plain
from analysis.report.reading.settings import Settings
from analysis.tidy.errors import ReportError

ASSETS = Path(__file__).parent
FORMULAS = ASSETS.parents[1] / "fonts" / "FormulaSans-Regular.woff"
GENERATOR = "analysis.report embedded renderer, with pandoc; not Quarto"
HEAD = re.compile(r"<thead\b.*?</thead>", re.DOTALL)
HEADER_CELL = re.compile(r"<th(?![a-z])(?![^>]*\bscope=)")
CSS_URL = re.compile(r"url\(\s*[\"']?(?!data:|#)[^)]*\)|@import", re.IGNORECASE)


def page(
    document: Node, settings: Settings, headings: Sequence[Heading], *, directory: Path
) -> str:
    """Return the HTML of a document.

    Parameters
    ----------
    document
        Pandoc's tree with numbers, references and images in place.
    settings
        Title block, bibliography and styles.
    headings
        Entries of the table of contents.
    directory
        Directory of the source.

    Raises
    ------
    ReportError
        If pandoc complains, a citation is missing from the bibliography, the page would load
        something from outside, or a link inside the page leads nowhere.
    """
    complete = {**document, "meta": {**document["meta"], **_page_meta(settings, headings)}}
    options = [
        "--from=json",
        "--to=html5",
        "--standalone",
        f"--template={ASSETS / 'template.html'}",
        "--mathml",
        "--section-divs",
        "--wrap=none",
        "--citeproc",
        *(f"--bibliography={path.resolve()}" for path in settings.bibliography),
        *(f"--csl={path.resolve()}" for path in settings.csl),
    ]
    markup = with_header_scopes(pandoc(json.dumps(complete), options, directory=directory))
    faults = PageFaults.of(markup)
    if faults:
        raise ReportError(f"The page must be complete in itself; found: {'; '.join(faults)}.")
    return markup


def with_header_scopes(markup: str) -> str:
    """Return HTML whose header cells say whether they head a column or a row.

    >>> with_header_scopes("<thead><tr><th>a</th></tr></thead><tr><th>b</th></tr>")
    '<thead><tr><th scope="col">a</th></tr></thead><tr><th scope="row">b</th></tr>'
    """
    columns = HEAD.sub(lambda head: HEADER_CELL.sub('<th scope="col"', head[0]), markup)
    return HEADER_CELL.sub('<th scope="row"', columns)


class PageFaults(HTMLParser):
    """What a page loads from outside, its dead inner links and its images without text."""

    def __init__(self) -> None:
        super().__init__()
        self.identifiers: set[str] = set()
        self.targets: list[str] = []
        self.faults: list[str] = []

    @classmethod
    def of(cls, markup: str) -> list[str]:
        """Return the faults of a page, in words."""
        parser = cls()
        parser.feed(markup)
        parser.close()
        dead = [target for target in parser.targets if target not in parser.identifiers]
        return parser.faults + [f"a link to '#{target}', which does not exist" for target in dead]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note identifiers, inner links and outer addresses of one tag."""
        values = {name: value or "" for name, value in attrs}
        self.identifiers.add(values.get("id", ""))
        if tag == "a" and values.get("href", "").startswith("#"):
            self.targets.append(values["href"][1:])
        loaded = [values[name] for name in ("src", "srcset", "data", "poster") if name in values]
        loaded += [values["href"]] if tag == "link" and "href" in values else []
        self.faults += [
            f"<{tag}> loads '{address[:80]}'"
            for address in loaded
            if not address.startswith("data:")
        ]
        self.faults += [f"a style loads '{it}'" for it in CSS_URL.findall(values.get("style", ""))]
        if tag == "img" and not values.get("alt", "").strip():
            self.faults.append("an image without alternative text")

    def handle_data(self, data: str) -> None:
        """Note what a style sheet loads."""
        if self.cdata_elem == "style":
            self.faults += [f"a style loads '{it}'" for it in CSS_URL.findall(data)]


def _page_meta(settings: Settings, headings: Sequence[Heading]) -> dict[str, Any]:
    sheets = [ASSETS / "page.css", *settings.styles]
    css = "\n".join([_font_face(), *(sheet.read_text(encoding="utf-8") for sheet in sheets)])
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    contents = _contents([it for it in headings if it.level <= settings.toc_depth])
    return {
        "lang": _string(settings.lang),
        "link-citations": {"t": "MetaBool", "c": True},
        "generator": _string(GENERATOR),
        "rendered-on": _string(today),
        "sheet": {"t": "MetaBlocks", "c": [html(f"<style>\n{css}</style>")]},
        "contents-title": _string(settings.toc_title),
        **({"contents": {"t": "MetaBlocks", "c": contents}} if settings.toc and contents else {}),
    }


def _font_face() -> str:
    """Return the rule that brings a font for formulas, for readers who have none."""
    source = base64.b64encode(FORMULAS.read_bytes()).decode("ascii")
    return (
        '@font-face { font-family: "Formula Sans"; '
        f'src: url(data:font/woff;base64,{source}) format("woff"); }}'
    )


def _string(text: str) -> Mapping[str, str]:
    return {"t": "MetaString", "c": text}


def _contents(headings: Sequence[Heading]) -> list[Node]:
    """Return a nested list of links, one level per heading level."""
    items: list[list[Node]] = []
    position = 0
    while position < len(headings):
        heading = headings[position]
        end = position + 1
        while end < len(headings) and headings[end].level > heading.level:
            end += 1
        entry = plain([link(heading.inlines, f"#{heading.identifier}")])
        items.append([entry, *_contents(headings[position + 1 : end])])
        position = end
    return [{"t": "BulletList", "c": items}] if items else []
