"""Verdict words in colour at a terminal; plain where NO_COLOR is set or output goes elsewhere."""

from __future__ import annotations

import os
import sys

#: Colour of each verdict and of each answer of a check, as on the pages: teal, amber, vermilion,
#: violet, grey. The word is always there, so nothing is told by colour alone.
CODES = {
    "reproduced": 36,
    "depends on the reading": 33,
    "contradicted": 31,
    "undecided": 35,
    "no data": 90,
    "holds": 36,
    "fails": 31,
}


def coloured(word: str, width: int = 0) -> str:
    """Return a verdict word, filled up to a width, in its colour where output is a terminal."""
    padding = " " * (width - len(word))
    if word not in CODES or not is_wanted():
        return word + padding
    return f"\x1b[{CODES[word]}m{word}\x1b[0m{padding}"


def is_wanted() -> bool:
    """Return whether output is read at a terminal by someone who did not refuse colour."""
    refused = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not refused
