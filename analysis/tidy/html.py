"""HTML on a page: the one way that text gets into it.

`markupsafe.Markup` escapes whatever is put into it and is not HTML already, in text and in values
of attributes. What goes onto a page goes through `block`, which takes nothing else.
"""

from __future__ import annotations

import re

from markupsafe import Markup

_TICKS = re.compile("`+")


def block(html: Markup) -> str:
    r"""Return HTML as a block of Markdown that pandoc hands on as it stands.

    Raises
    ------
    TypeError
        If it is plain text, of which nobody knows whether it was escaped.

    >>> block(Markup("<b>{}</b>").format("<i>"))
    '```{=html}\n<b>&lt;i&gt;</b>\n```'
    """
    if not isinstance(html, Markup):
        raise TypeError(f"HTML must be Markup, whose text is escaped; found {type(html).__name__}.")
    # A fence of backticks ends at the first line of as many: text may hold such a line.
    longest = max((len(run) for run in _TICKS.findall(html)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{{=html}}\n{html}\n{fence}"


def joined(parts: list[Markup]) -> Markup:
    """Return pieces of HTML one after the other."""
    return Markup("").join(parts)
