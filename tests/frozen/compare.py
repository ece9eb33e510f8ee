"""Compare two dumps: words to the letter, numbers to a relative 1e-6."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

TOLERANCE = 1e-6
NUMBER = re.compile(r"[-−]?\d+(?:[.,]\d+)*(?:e[-+]?\d+)?")
#: What says when and from which commit a page was made.
STAMP = re.compile(
    r"commit [0-9a-f]{7,40}|\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?(?: UTC)?)?|[0-9a-f]{12}"
)


def same(before: str, after: str) -> bool:
    """Return whether two lines say the same: equal words, numbers alike to the tolerance."""
    before, after = STAMP.sub("@", before), STAMP.sub("@", after)
    if before == after:
        return True
    if NUMBER.sub("#", before) != NUMBER.sub("#", after):
        return False
    pairs = zip(NUMBER.findall(before), NUMBER.findall(after), strict=True)
    return all(a == b or alike(a, b) for a, b in pairs)


def alike(before: str, after: str) -> bool:
    """Return whether two numbers as printed differ by no more than the tolerance."""
    try:
        a, b = (float(number.replace("−", "-").replace(",", "")) for number in (before, after))
    except ValueError:
        return False
    return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=1e-12)


def differences(before: list[str], after: list[str]) -> Iterator[str]:
    """Yield the lines that went (-) and came (+)."""
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for kind, i, j, k, m in matcher.get_opcodes():
        if kind == "equal":
            continue
        gone, come = before[i:j], after[k:m]
        if len(gone) == len(come) and all(map(same, gone, come)):
            continue
        yield from (f"- {line}" for line in gone)
        yield from (f"+ {line}" for line in come)


def compare(before: Path, after: Path) -> list[str]:
    """Return what differs between two dumps, a heading for each part that does."""
    old, new = (json.loads(path.read_text(encoding="utf-8")) for path in (before, after))
    lines = []
    for part in sorted({*old, *new}):
        changed = list(differences(old.get(part, []), new.get(part, [])))
        lines += [f"[{part}]", *changed] if changed else []
    return lines
