"""A chart with controls, as part of a page: Altair's own page of it without the page around.

What runs is Vega's script, which Altair writes into the page; none is ours. Where no script runs,
nothing is shown: a still picture of the same chart stands before it (`site.css` hides it once the
chart is drawn).
"""

from __future__ import annotations

import re
from typing import Any

HEAD = re.compile(r"<head>\s*<meta[^>]*>(.*)</head>\s*<body>(.*)</body>", re.DOTALL)
TICKS = re.compile(r"`+")
OPTIONS = {"actions": False, "renderer": "svg"}


def markup(chart: Any, name: str) -> str:
    """Return a chart with controls as a raw block of HTML in Markdown.

    Parameters
    ----------
    chart
        The Altair chart, with parameters that are bound to controls.
    name
        The identifier of what holds it, which no other part of the page may have.

    Raises
    ------
    ValueError
        If Altair writes another page than this module knows.
    """
    page = chart.to_html(inline=True, output_div=name, embed_options=OPTIONS)
    match = HEAD.search(page)
    if match is None:
        raise ValueError("Altair's page must have a head and a body; it has other parts.")
    whole = f"{match[1].strip()}\n{match[2].strip()}"
    fence = "`" * max(3, 1 + max((len(run) for run in TICKS.findall(whole)), default=0))
    return f"{fence}{{=html}}\n{whole}\n{fence}\n"
