"""The link by which a page hands out the source that it was made from."""

from __future__ import annotations

import base64
from pathlib import Path

from analysis.report.reading.source import whole


def link(directory: Path, page: str) -> str:
    """Return Markdown with a link to the source of a page.

    The source, with what it includes, is in the link: a page that was sent to somebody has it.
    ``quarto/site/closing.html`` moves the link beside the switch for the code.
    """
    text = base64.b64encode(whole(directory / f"{page}.qmd").encode()).decode()
    place = f"data:text/markdown;base64,{text}"
    anchor = f'<a download="{page}.qmd" href="{place}">Source</a>'
    return f'```{{=html}}\n<p class="page-source">{anchor}</p>\n```'
