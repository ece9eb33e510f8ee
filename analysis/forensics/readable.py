r"""The text of a paper with TeX, emphasis and typographic signs as plain characters, same lines."""

from __future__ import annotations

import re

from analysis.tidy.numerals import plain

#: What a pattern matches and what stands for it, in the order in which it is replaced.
SIGNS = (
    # The exponent or the sign behind the letter chi; the letter X only before degrees of freedom.
    (re.compile(r"\\(?:chi|Chi)\b(?:\s*+\^\s*+\{?2\}?)?|[χΧ]\s*+(?:²|\^\s*+\{?2\}?|2)?"), "chi2 "),
    (re.compile(r"\bchi(?:[\s_^-]*+2|[\s-]*+squared?\b)", re.IGNORECASE), "chi2 "),
    (re.compile(r"(?<![A-Za-z])[Xx]\s?\^?\{?[2²]\}?(?=\s*+[\[(_]\s?\{?\d)"), "chi2 "),
    # Degrees of freedom as an index or in braces, which are removed below.
    (
        re.compile(r"(?<![A-Za-z])(chi2 |[trQ])\s?_?\{(\s?\d[\d.\s]*+(?:,\s?[nN]\s?=\s?\d++)?)\}"),
        r"\1(\2)",
    ),
    (re.compile(r"(?<![A-Za-z])(F)\s?_?\{(\s?\d[\d.\s]*+,\s?\d[\d.\s]*+)\}"), r"\1(\2)"),
    (re.compile(r"(chi2 )_(\d)"), r"\1(\2)"),
    (re.compile(r"\\(?:times|cdot)\b|(?<=\d)\s?\*\s?(?=10\s?\^)"), "×"),
    (re.compile(r"\\(?:leq?|leqslant)\b|&le;|<\s?="), "≤"),
    (re.compile(r"\\(?:geq?|geqslant)\b|&ge;|>\s?="), "≥"),
    (re.compile(r"\\(?:lt|ll)\b|&lt;|<<|≪"), "<"),
    (re.compile(r"\\(?:gt|gg)\b|&gt;|>>|≫"), ">"),
    (re.compile(r"=="), "="),
    (re.compile(r"\\approx\b"), "≈"),
    (
        re.compile(r"\\(?:mathrm|mathit|text|textit|emph|rm|it)\b|\\[,;:!~()\[\]]|[${}*_`\\]"),
        "",
    ),
)


def readable(text: str) -> str:
    r"""Return a text as one would type it: no TeX, no emphasis, one sign for each comparison.

    >>> readable(r"$\chi^2_{3} = 7.81$, *p* <= .05")
    'chi2 (3) = 7.81, p ≤ .05'
    """
    typed = plain(text)
    for pattern, character in SIGNS:
        typed = pattern.sub(character, typed)
    return typed
