"""The link by which a page hands out the source that it was made from."""

from __future__ import annotations

import base64
from pathlib import Path

from markupsafe import Markup

from analysis.report.reading.source import whole
from analysis.tidy import html


def link(directory: Path, page: str) -> str:
    """Return Markdown with a link to the source of a page.

    The source, with what it includes, is in the link: a page that was sent to somebody has it.
    ``quarto/site/closing.html`` moves the link beside the switch for the code.
    """
    text = base64.b64encode(whole(directory / f"{page}.qmd").encode()).decode()
    place = f"data:text/markdown;base64,{text}"
    anchor = Markup('<p class="page-source"><a download="{}.qmd" href="{}">Source</a></p>')
    return html.block(anchor.format(page, place))
