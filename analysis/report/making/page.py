"""A document made of Markdown: a page with all that it needs inside, or a PDF for print."""

from __future__ import annotations

import base64
import datetime
import json
import re
from collections.abc import Sequence
from pathlib import Path

from analysis.report.examination import PageFaults
from analysis.report.making.pandoc import pandoc
from analysis.report.reading.settings import Settings
from analysis.tidy.errors import ReportError
from analysis.tidy.extra import extra

ASSETS = Path(__file__).parent
FONTS = ASSETS.parents[1] / "fonts"
GENERATOR = "analysis.report embedded renderer, with pandoc; not Quarto"
HEAD = re.compile(r"<thead\b.*?</thead>", re.DOTALL)
HEADER_CELL = re.compile(r"<th(?![a-z])(?![^>]*\bscope=)")


def page(markdown: str, settings: Settings, directory: Path, folder: Path) -> str:
    """Return the HTML of a document whose code has run.

    Parameters
    ----------
    markdown
        The text, its images as files of `images.Gallery`.
    settings
        Title block, bibliography and styles.
    directory, folder
        Directory of the source, and one for temporary files.

    Raises
    ------
    ReportError
        If pandoc or its filter complains, a citation is missing from the bibliography, the page
        would load something from outside, or a link inside the page leads nowhere.
    """
    sheets = [ASSETS / "page.css", *settings.styles]
    font = base64.b64encode((FONTS / "FormulaSans-Regular.woff").read_bytes()).decode("ascii")
    face = (
        '@font-face { font-family: "Formula Sans"; '
        f'src: url(data:font/woff;base64,{font}) format("woff"); }}'
    )
    css = "\n".join([face, *_texts(sheets)])
    parts = {
        "sheet": f"<style>\n{css}</style>",
        "opening": "\n".join(_texts(settings.before)),
        "closing": "\n".join(_texts(settings.after)),
        "generator": GENERATOR,
        "rendered-on": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "contents-title": settings.toc_title,
        "reuse": settings.reuse,
    }
    options = ["--to=html5", "--template", str(ASSETS / "template.html"), "--mathml"]
    options += ["--section-divs", *_variables(parts, folder)]
    markup = with_header_scopes(_converted(markdown, settings, options, directory))
    if faults := PageFaults.of(markup):
        raise ReportError(f"The page must be complete in itself; found: {'; '.join(faults)}.")
    return markup


def pdf(markdown: str, settings: Settings, directory: Path, folder: Path) -> bytes:
    """Return the PDF of a document whose code has run; parameters as of `page`.

    Code is left out, charts stay vectors.

    Raises
    ------
    ReportError
        If pandoc, its filter or typst complains.
    MissingExtraError
        If the package of the [pdf] extra is missing.
    """
    typst = extra("typst", of="pdf")
    options = ["--to=typst", "--template", str(ASSETS / "template.typ")]
    source = folder / "document.typ"
    source.write_text(_converted(markdown, settings, options, directory), encoding="utf-8")
    try:
        return bytes(typst.compile(source, font_paths=[FONTS], ignore_system_fonts=True))
    except RuntimeError as error:
        raise ReportError(f"Typst must set the document; it says: {error}") from error


def with_header_scopes(markup: str) -> str:
    """Return HTML whose header cells say whether they head a column or a row.

    >>> with_header_scopes("<thead><tr><th>a</th></tr></thead><tr><th>b</th></tr>")
    '<thead><tr><th scope="col">a</th></tr></thead><tr><th scope="row">b</th></tr>'
    """
    columns = HEAD.sub(lambda head: HEADER_CELL.sub('<th scope="col"', head[0]), markup)
    return HEADER_CELL.sub('<th scope="row"', columns)


def _converted(markdown: str, settings: Settings, options: Sequence[str], directory: Path) -> str:
    common = [
        "--from=markdown",
        "--standalone",
        "--wrap=none",
        f"--metadata=lang:{settings.lang}",
        *(f"--metadata={name}" for name in settings.flags),
        f"--metadata=toc-depth:{settings.toc_depth}",
        f"--metadata=heading-shift:{settings.heading_shift}",
        *(f"--lua-filter={path.resolve()}" for path in settings.filters),
        f"--lua-filter={ASSETS / 'page.lua'}",
        "--citeproc",
        *(f"--bibliography={path.resolve()}" for path in settings.bibliography),
        *(f"--csl={path.resolve()}" for path in settings.csl),
    ]
    return pandoc(markdown, [*common, *options], directory=directory)


def _texts(paths: Sequence[Path]) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in paths]


def _variables(parts: dict[str, str], folder: Path) -> list[str]:
    """Return the option by which the template gets text as it is."""
    path = folder / "variables.json"
    filled = {name: text for name, text in parts.items() if text}
    path.write_text(json.dumps({"variables": filled}), encoding="utf-8")
    return [f"--defaults={path}"]
