"""The page: the numbered document in its template, with everything that it needs inside."""

from __future__ import annotations

import base64
import datetime
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.report.examination import PageFaults
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
        **_around(settings),
        **({"reuse": _string(settings.reuse)} if settings.reuse else {}),
        **({"contents": {"t": "MetaBlocks", "c": contents}} if settings.toc and contents else {}),
    }


def _around(settings: Settings) -> dict[str, Any]:
    """Return the HTML that opens and closes the page, as its files hold it."""
    files = {"opening": settings.before, "closing": settings.after}
    texts = {
        name: "\n".join(path.read_text(encoding="utf-8") for path in paths)
        for name, paths in files.items()
    }
    return {name: {"t": "MetaBlocks", "c": [html(text)]} for name, text in texts.items() if text}


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
