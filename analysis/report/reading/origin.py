"""The link by which a page hands out the source that it was made from."""

from __future__ import annotations

import base64
from html import escape
from pathlib import Path

from analysis.report.reading.settings import project_options
from analysis.report.reading.source import whole

#: Key of ``_quarto.yml`` with the address of the repository; absent, no page links to one.
REPOSITORY = "repository"


def link(directory: Path, page: str) -> str:
    """Return Markdown with a link to the source of a page, and to the repository if it is set.

    Files that the source includes stand in their places.

    The source is in the link, so that a page that was sent to somebody still has it.
    ``quarto/site/closing.html`` moves the link beside the switch for the code.

    Parameters
    ----------
    directory
        Where the sources of the pages lie.
    page
        Stem of the page and of its source.

    Raises
    ------
    ReportError
        If the source or a file that it includes is missing.
    """
    text = base64.b64encode(whole(directory / f"{page}.qmd").encode()).decode()
    place = f"data:text/markdown;base64,{text}"
    anchor = f'<a download="{page}.qmd" href="{place}">Source</a>'
    if address := project_options(directory).get(REPOSITORY):
        anchor += f' <a href="{escape(str(address))}">Repository</a>'
    return f'```{{=html}}\n<p class="page-source">{anchor}</p>\n```'
