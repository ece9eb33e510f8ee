"""Whether a sentence calls a test one-sided or two-sided, and which test it means."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence

#: The words for one and for two sides.
NAMED = re.compile(
    r"\b(?:(?P<one>one|1)|two|2)[\s-]{0,3}+(?:tailed|sided)\b"
    r"|(?<![\w-])(?P<directional>(?:uni)?directional)\b",
    re.IGNORECASE,
)

#: Where a sentence or a paragraph ends.
STOP = re.compile(r"[.!?]\s++[A-Z]|\n\s*+\n")

#: What parts a test from the words directly behind it.
SEPARATORS = re.compile(r"[\s,(]*+")

#: Characters between a test and the words that are about it.
REACH = 150


def named_sides(text: str, spans: Sequence[tuple[int, int]]) -> Mapping[tuple[int, int], int]:
    """Return how many sides the text gives the tests that it calls one- or two-sided.

    The words are about the test that they stand in or directly behind; else about the next one
    of their sentence; else about the one before.

    Parameters
    ----------
    text
        The text.
    spans
        First and last place of each test, ascending.

    >>> named_sides("one-tailed: t(40) = 1.80, p < .04.", [(12, 33)])
    {(12, 33): 1}
    """
    starts = [start for start, _ in spans]
    sides: dict[tuple[int, int], int] = {}
    for match in NAMED.finditer(text):
        place = bisect_right(starts, match.start())
        before = spans[place - 1] if place else None
        after = spans[place] if place < len(spans) else None
        about = _about(text, match.span(), before, after)
        if about is not None:
            sides[about] = 1 if match["one"] or match["directional"] else 2
    return sides


def _about(
    text: str,
    words: tuple[int, int],
    before: tuple[int, int] | None,
    after: tuple[int, int] | None,
) -> tuple[int, int] | None:
    first, last = words
    if before and (first < before[1] or _is_beside(text, before[1], first)):
        return before
    if after and _is_one_sentence(text, last, after[0]):
        return after
    return before if before and _is_one_sentence(text, before[1], first) else None


def _is_beside(text: str, start: int, end: int) -> bool:
    return end - start <= REACH and SEPARATORS.fullmatch(text, start, end) is not None


def _is_one_sentence(text: str, start: int, end: int) -> bool:
    return end - start <= REACH and STOP.search(text, start, end + 1) is None
