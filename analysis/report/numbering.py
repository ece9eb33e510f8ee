"""Whether references say the numbers that their targets bear, on their own page and on others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import unescape

REFERENCE = re.compile(
    r"<a\b(?=[^>]*\bclass=\"[^\"]*\bxref\b)(?=[^>]*\bhref=\"([\w-]*(?:\.html)?)#([\w-]+)\")[^>]*>"
    r"(.*?)</a>",
    re.DOTALL,
)
TAG = re.compile(r"<[^>]+>")
NUMBER = re.compile(r"\d+(?:\.\d+)*")
#: How a target shows its number, by the kind of its label.
BORNE = {
    "fig": re.compile(r"Figure(?:\s|&nbsp;|&#160;)(\d+)"),
    "tbl": re.compile(r"Table(?:\s|&nbsp;|&#160;)(\d+)"),
    "sec": re.compile(r"section-number[^>]*>(\d+(?:\.\d+)*)<"),
    "eq": re.compile(r"equation-number[^>]*>\((\d+)\)"),
}


def wrong_numbers(page: str, pages: Mapping[str, str]) -> Iterator[str]:
    """Yield the references of a page whose number is not their target's, in words.

    Parameters
    ----------
    page
        File name of the page.
    pages
        HTML by file name. References to a page that is not among them are taken as good.
    """
    for file, identifier, inner in REFERENCE.findall(pages[page]):
        shown = NUMBER.search(unescape(TAG.sub("", inner)))
        borne = _number(pages.get(file or page, ""), identifier)
        if shown and borne and shown[0] != borne:
            target = f"{file}#{identifier}"
            yield f"a reference that says {shown[0]} of '{target}', whose number is {borne}"


def _number(markup: str, identifier: str) -> str:
    """Return the number that something bears on its page; empty if none is shown."""
    start = markup.find(f'id="{identifier}"')
    pattern = BORNE.get(identifier.partition("-")[0])
    match = pattern.search(markup, start) if pattern and start >= 0 else None
    return match[1] if match else ""
