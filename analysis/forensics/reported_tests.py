"""Tests as papers report them, found in Markdown: ``t(28) = 2.20, p = .036``.

Understood are t, r, z, F, chi-square and Q with their degrees of freedom, or with n, or
without either, followed by a p; in plain text, in TeX, with any minus sign, in emphasis, in
tables. A p without a statistic is a row too, so that what cannot be checked is counted.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from math import nan

import pandas as pd

from analysis.forensics.p_value import COLUMNS, NS
from analysis.tidy import glossary
from analysis.tidy.numerals import plain

P_ALONE = "p alone"

TEX = (
    (re.compile(r"\\(?:chi|Chi)\b(?:\s*\^\s*\{?2\}?)?|[χΧ]\s*(?:²|\^\s*\{?2\}?|2)?"), "chi2 "),
    (re.compile(r"\\(?:leq?|leqslant)\b|&le;"), "≤"),
    (re.compile(r"\\(?:geq?|geqslant)\b|&ge;"), "≥"),
    (re.compile(r"\\lt\b|&lt;"), "<"),
    (re.compile(r"\\gt\b|&gt;"), ">"),
    (re.compile(r"\\approx\b"), "≈"),
    (re.compile(r"\\(?:mathrm|mathit|text|textit|emph|rm|it)\b|\\[,;:!~()\[\]]|[${}*_`\\]"), ""),
)

COMPARISON = r"[=<>≤≥≈]"
PLAIN = r"(?:\d++(?:\.\d++)?|\.\d++)"  # one way to match: a long run of digits is read once
UNSIGNED = r"(?:\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d++)?|" + PLAIN + r")(?:[eE]-?\d++)?"
DF = re.compile(r"\bdf\s*=\s*(\d*\.?\d+)")
SIZE = r"\b[nN]\s*=\s*(\d+)"

#: What may stand between a statistic and its p: other quantities, an interval.
ASIDE = (
    r"(?:(?:\d+\s?%\s?CI|CI)\s*[=:]?\s*[\[(][^\])\n]*[\])]"
    r"|(?![pPtrFzZQ]\b)(?:[A-Za-zηωφε][\w²']*)\s*=\s*-?" + UNSIGNED + r")"
)

P = (
    r"[pP]\s*(?:-?\s?values?)?\s*(?P<p_comparison>" + COMPARISON + r")\s*"
    r"(?P<p>" + UNSIGNED + r")"
)

TEST = re.compile(
    r"(?<![A-Za-z0-9\-^])(?P<test>chi2|[trFzZQ])\s*"
    r"(?:\(\s*(?:df\s*=\s*)?(?P<first>" + PLAIN + r")"
    r"(?:\s*,\s*(?:[nN]\s*=\s*)?(?P<second>[\d,]*\.?\d+))?\s*\)\s*)?"
    r"(?P<comparison>" + COMPARISON + r")\s*(?P<statistic>-?\s?" + UNSIGNED + r")"
    r"(?P<aside>(?:[\s,;(]*+" + ASIDE + r")*)"
    r"[\s,;()]*+(?:(?:and|with)[\s,;(]*+)?"
    r"(?:[pP]\s*(?:-?\s?values?)?\s*(?P<p_comparison>"
    + COMPARISON
    + r")\s*(?P<p>"
    + UNSIGNED
    + r")"
    r"|(?P<ns>\bn\.?s\b\.?))"
    r"(?P<after>[\s,;(]*+" + SIZE + r")?"
)

LONE_P = re.compile(r"(?<![A-Za-z0-9])" + P)


def find(text: str) -> pd.DataFrame:
    """Return every test and every p that a text reports, in its order.

    Parameters
    ----------
    text
        Markdown of a paper, TeX formulas included.

    Returns
    -------
    One row per test: `line` (from 1), `quoted` (as understood: TeX and emphasis removed),
    `test` (t, r, z, F, chi2, Q, or ``p alone``), `df_numerator` (of F), `df` (n - 2 of a
    correlation printed with its n; missing when neither is printed), `comparison` and
    `statistic` (as printed), `p_comparison` (``ns`` for not significant), `p_printed`.

    >>> find("a fit ($r = -0.81$, $p = 0.014$)")["quoted"].tolist()
    ['r = -0.81, p = 0.014']
    """
    readable = _readable(text)
    tests = [(match.start(), match.end(), _test(match)) for match in TEST.finditer(readable)]
    starts, ends = [start for start, _, _ in tests], [end for _, end, _ in tests]
    lone = [
        (match.start(), match.end(), _lone(match))
        for match in LONE_P.finditer(readable)
        if not _lies_within(match.start(), starts, ends)
    ]
    breaks = [match.start() for match in re.finditer("\n", readable)]
    rows = [
        {
            "line": bisect_left(breaks, start) + 1,
            "quoted": " ".join(readable[start:end].split()),
        }
        | row
        for start, end, row in sorted(tests + lone, key=lambda found: found[0])
    ]
    found = pd.DataFrame(rows, columns=["line", "quoted", *COLUMNS])
    glossary.checked(found.columns)
    return found.astype({"line": "int64", "df_numerator": "float64", "df": "float64"})


def _lies_within(place: int, starts: Sequence[int], ends: Sequence[int]) -> bool:
    """Tell whether a place lies in one of some spans that follow each other."""
    before = bisect_right(starts, place) - 1
    return before >= 0 and place < ends[before]


def _readable(text: str) -> str:
    """Return the text with TeX, emphasis and typographic signs as plain characters, same lines."""
    readable = plain(text)
    for pattern, character in TEX:
        readable = pattern.sub(character, readable)
    return readable


def _test(match: re.Match[str]) -> dict[str, object]:
    kind = match["test"].lower() if match["test"] == "Z" else match["test"]
    is_f = kind == "F" and match["second"] is not None
    return {
        "test": kind,
        "df_numerator": _number(match["first"]) if is_f else nan,
        "df": _number(match["second"]) if is_f else _degrees(match, kind),
        "comparison": match["comparison"],
        "statistic": match["statistic"].replace(" ", ""),
        "p_comparison": NS if match["ns"] else match["p_comparison"],
        "p_printed": "" if match["ns"] else match["p"],
    }


def _degrees(match: re.Match[str], kind: str) -> float:
    """Return the degrees of freedom: in brackets, named, or for a correlation from its n."""
    if kind == "F":
        return nan
    if match["first"] is not None:
        return _number(match["first"])
    beside = f"{match['aside']} {match['after'] or ''}"
    named, size = DF.search(beside), re.search(SIZE, beside)
    if named is not None:
        return float(named[1])
    return float(size[1]) - 2 if kind == "r" and size is not None else nan


def _lone(match: re.Match[str]) -> dict[str, object]:
    nothing = {"df_numerator": nan, "df": nan, "comparison": "", "statistic": ""}
    printed = {"p_comparison": match["p_comparison"], "p_printed": match["p"]}
    return {"test": P_ALONE, **nothing, **printed}


def _number(text: str | None) -> float:
    return nan if text is None else float(text.replace(",", ""))
