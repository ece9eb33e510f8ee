"""Tests as papers report them, found in Markdown: ``t(28) = 2.20, p = .036``.

Understood are t, r, z, F, chi-square and Q with their degrees of freedom, or with n, or
without either, followed by a p; in plain text, in TeX, with any minus sign, in emphasis, in
tables. A p without a statistic is a row too, and so is
whatever has the looks of a test and is not understood: what cannot be checked is counted.

Every pattern reads a character once from each place where it can begin: no repetition gives back
what it took.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import zip_longest
from math import nan

import pandas as pd

from analysis.forensics.p_value import COLUMNS, NOT_UNDERSTOOD, NS
from analysis.forensics.readable import readable
from analysis.tidy import glossary

P_ALONE = "p alone"

COMPARISON = r"[=<>≤≥≈]"
PLAIN = r"(?:\d++(?:\.\d++)?|\.\d++)"  # one way to match: a long run of digits is read once
UNSIGNED = r"(?:\d{1,3}(?:,\d{3})++(?!\d)(?:\.\d++)?|" + PLAIN + r")(?:[eE]-?\d++)?"
ENDS = r"(?![\d%]|\.\d)"
DF = re.compile(r"\bdf\s*+=\s*+(" + PLAIN + ")")
SIZE = re.compile(r"\b[nN]\s*+=\s*+(\d++)")
AFTER = re.compile(r"[\s,;(]*+" + SIZE.pattern)

#: A p; digits that a PDF has spread are read as one number where a sign or the line's end follows.
P = re.compile(
    r"(?<![A-Za-z0-9])(?:[pP]\s*+(?:-?\s?values?)?\s*+(?P<p_comparison>" + COMPARISON + r")\s*+"
    r"(?:(?P<p>-?\s?(?:0?\s?\.(?:[ ]?\d++)++(?=\s?(?:[,;.)\]|\n]|$))|0?\s?\.[ ]?\d++|"
    + UNSIGNED
    + r")"
    r"(?:\s?(?:[x×·]\s?10\s?\^?|[eE])\s?-\s?\d++)?)" + ENDS + r"|(?P<p_ns>n\.?s\b\.?))"
    r"|(?P<ns>n\.?s\b\.?))"
)

#: A statistic with or without its degrees of freedom.
HEAD = re.compile(
    r"(?<![A-Za-z0-9\-^])(?P<test>chi2|Q(?:-?(?:within|between|[wb]))?|[trFzZ])\s*+"
    r"(?:[\[(]\s*+(?:df\s*+=\s*+)?(?P<first>" + PLAIN + r")"
    r"(?:\s*+,\s*+(?P<n>[nN]\s*+=\s*+)?(?P<second>\d{1,3}(?:,\d{3})++(?!\d)|" + PLAIN + r"))?"
    r"\s*+[\])]\s*+)?"
    r"(?P<comparison>" + COMPARISON + r")\s*+(?P<statistic>-?\s?" + UNSIGNED + r")" + ENDS
)

#: What has the looks of a test: degrees of freedom in brackets, or as a number behind t or F.
ALIKE = re.compile(
    r"(?<![A-Za-z0-9\-^])(?:(?P<bracketed>(?:chi2|[tTrRFzZQqHUW]|Q[a-z]|[rR]s|[ρτ])\s*+"
    r"[\[(](?=[^\])\n]{0,40}\d)[\d\s.,;=lIOdfnN]{1,40}+[\])])|[tTF]\d++(?:[.,]\d++)?)"
    r"\s*+" + COMPARISON + r"\s*+[^\s,;]{1,30}+"
)

#: What may stand between a statistic and its p: other quantities, an interval, words, signs.
BETWEEN = re.compile(
    r"(?:(?:\d++\s?%\s?)?CI\s*+[=:]?\s*+[\[(][^\])\n]{0,80}+[\])]"
    r"|(?![pPtrFzZQ]\b)[A-Za-zηωφεβδρ][\w²']*+\s*+=\s*+-?\s?" + UNSIGNED + r"%?"
    r"|(?:and|with|an?|exact|(?:(?:two|one)[\s-]*+|[12][\s-]++)(?:tailed|sided)"
    r"|(?:non-?)?directional)\b"
    r"|[\s,;()|])*+"
)

#: A p that is said to be of one tail, or of two.
ONE_TAILED, TWO_TAILED = (
    re.compile(rf"\b(?:{number})[\s-]*+(?:tailed|sided)\b", re.IGNORECASE)
    for number in ("one|1|single", "two|2")
)
TAILS_AFTER = re.compile(r"[\s,;(]*+" + ONE_TAILED.pattern, re.IGNORECASE)

#: What ends a sentence; a point between digits does not.
SENTENCE = re.compile(r"[.;!?](?=\s)|\n[ \t]*+\n")

#: Letters in front of a statistic in which its sentence is read.
IN_FRONT = 300

#: Characters behind what is not understood in which its p is looked for.
NEAR = 60


def find(text: str) -> pd.DataFrame:
    """Return every test and every p that a text reports, in its order.

    Parameters
    ----------
    text
        Markdown of a paper, TeX formulas included.

    Returns
    -------
    One row per test: `line` (from 1), `quoted` (as understood: TeX and emphasis removed),
    `test` (t, r, z, F, chi2, Q, ``p alone`` or ``not understood``), `df_numerator` (of F), `df`
    (n - 2 of a correlation printed with its n; missing when neither is printed), `comparison`
    and `statistic` (as printed), `p_comparison` (``ns`` for not significant), `p_printed`,
    `is_one_sided` (whether the p is said to be of one tail).

    >>> find("a fit ($r = -0.81$, $p = 0.014$)")["quoted"].tolist()
    ['r = -0.81, p = 0.014']
    """
    typed = readable(text)
    spans = _spans(typed)
    breaks = [match.start() for match in re.finditer("\n", typed)]
    rows = [
        {
            "line": bisect_left(breaks, start) + 1,
            "quoted": " ".join(typed[start:end].split()),
        }
        | row
        for (start, end), row in spans
    ]
    reported = pd.DataFrame(rows, columns=["line", "quoted", *COLUMNS, "is_one_sided"])
    glossary.checked(reported.columns)
    numbers = dict.fromkeys(("df_numerator", "df"), "float64")
    return reported.astype({"line": "int64", "is_one_sided": "bool"} | numbers)


Span = tuple[int, int]


def _spans(typed: str) -> list[tuple[Span, dict[str, object]]]:
    """Return where tests and lone p stand, in their order, and what each row says."""
    ps = list(P.finditer(typed))
    starts = [p.start() for p in ps]
    # Statistics, and what only looks like one, in their order and each once.
    understood = list(HEAD.finditer(typed))
    places = {head.start() for head in understood}
    alike = [match for match in ALIKE.finditer(typed) if match.start() not in places]
    heads = sorted(understood + alike, key=lambda match: match.start())
    spans: list[tuple[Span, dict[str, object]]] = []
    taken: set[int] = set()
    for head, following in zip_longest(heads, heads[1:]):
        place = bisect_left(starts, head.end())
        limit = len(typed) if following is None else following.start()
        p = ps[place] if place < len(ps) and ps[place].start() < limit else None
        is_beside = p is not None and BETWEEN.fullmatch(typed, head.end(), p.start()) is not None
        if p is not None and is_beside and head.re is HEAD and _is_whole(head):
            spans.append(((head.start(), _end(typed, p)), _test(typed, head, p)))
        elif _looks_like_a_test(head, is_beside=is_beside):
            is_near = p is not None and p.start() - head.end() <= NEAR
            end = p.end() if p is not None and is_near else head.end()
            spans.append(((head.start(), end), _unread(NOT_UNDERSTOOD)))
            p = p if is_near else None
        else:
            p = None
        taken |= set() if p is None else {place}
    spans += [
        (p.span(), _unread(P_ALONE) | _p(p))
        for place, p in enumerate(ps)
        if place not in taken and not p["ns"]
    ]
    return sorted(spans, key=lambda span: span[0])


def _is_whole(head: re.Match[str]) -> bool:
    """Tell whether a statistic has as many degrees of freedom as its test: F two, others one."""
    if head["first"] is None:
        return True
    has_two = head["second"] is not None and not head["n"]
    return has_two if head["test"] == "F" else not has_two or _kind(head) in ("chi2", "Q")


def _looks_like_a_test(head: re.Match[str], *, is_beside: bool) -> bool:
    if head.re is HEAD:
        return head["first"] is not None
    return head["bracketed"] is not None or is_beside


def _end(typed: str, p: re.Match[str]) -> int:
    after = AFTER.match(typed, p.end())
    return after.end() if after else p.end()


def _kind(head: re.Match[str]) -> str:
    return {"Z": "z"}.get(head["test"], "Q" if head["test"].startswith("Q") else head["test"])


def _test(typed: str, head: re.Match[str], p: re.Match[str]) -> dict[str, object]:
    kind = _kind(head)
    beside = f"{typed[head.end() : p.start()]} {typed[p.end() : _end(typed, p)]}"
    return {
        "test": kind,
        "df_numerator": _number(head["first"]) if kind == "F" else nan,
        "df": _number(head["second"]) if kind == "F" else _degrees(head, kind, beside),
        "comparison": head["comparison"],
        "statistic": head["statistic"].replace(" ", ""),
        **_p(p),
        "is_one_sided": _is_one_sided(typed, head, p),
    }


def _is_one_sided(typed: str, head: re.Match[str], p: re.Match[str]) -> bool:
    """Tell whether the p is said to be of one tail: before it, right behind it, or in front of all.

    In front means in the sentence of the statistic, with no other p between.
    """
    before = ONE_TAILED.search(typed, head.end(), p.start())
    if before or TAILS_AFTER.match(typed, _end(typed, p)):
        return True
    start = max(head.start() - IN_FRONT, 0)
    ends = [end.end() for end in SENTENCE.finditer(typed, start, head.start())]
    start = max(ends, default=start)
    said = [*ONE_TAILED.finditer(typed, start, head.start())]
    is_denied = TWO_TAILED.search(typed, start, _end(typed, p) + len(" (two-tailed"))
    return bool(said) and not P.search(typed, said[-1].end(), head.start()) and not is_denied


def _degrees(head: re.Match[str], kind: str, beside: str) -> float:
    """Return the degrees of freedom: in brackets, named, or for a correlation from its n."""
    if head["first"] is not None:
        return _number(head["first"])
    named, size = DF.search(beside), SIZE.search(beside)
    if named is not None:
        return float(named[1])
    return float(size[1]) - 2 if kind == "r" and size is not None else nan


def _p(p: re.Match[str]) -> dict[str, object]:
    """Return a p as printed, its digits together and its power of ten behind an e."""
    if p["p"] is None:
        return {"p_comparison": NS, "p_printed": ""}
    together = "".join(p["p"].split())
    return {
        "p_comparison": p["p_comparison"],
        "p_printed": re.sub(r"[x×·]10\^?", "e", together),
    }


def _unread(test: str) -> dict[str, object]:
    nothing = {"df_numerator": nan, "df": nan, "comparison": "", "statistic": ""}
    return {
        "test": test,
        **nothing,
        "p_comparison": "",
        "p_printed": "",
        "is_one_sided": False,
    }


def _number(text: str | None) -> float:
    return nan if text is None else float(text.replace(",", ""))
