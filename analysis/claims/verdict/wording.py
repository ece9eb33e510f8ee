"""What is said of a claim beside its numbers: how many checks hold, which fail, what is open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from analysis.evidence.checks import Check


def in_runs(numbers: Iterable[int]) -> str:
    """Return whole numbers for people, neighbours joined.

    >>> in_runs([3, 1, 2, 7])
    '1 to 3, 7'
    """
    by_run = groupby(enumerate(sorted(numbers)), lambda placed: placed[1] - placed[0])
    runs = [[number for _, number in run] for _, run in by_run]
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def note(primary: Check, found: Sequence[Check]) -> str:
    """Return the note of a claim: its primary check's, the count, what fails, what is open."""
    known = [check for check in found if check.holds is not None]
    failing = [f"{check.part} ({check.condition})" for check in known if not check.holds]
    counted = f"{len(known) - len(failing)} of {len(known)} checks hold."
    fails = f"Fails: {'; '.join(failing)}." if failing else ""
    parts = (primary.note, counted, fails, _undecided(primary, found))
    return " ".join(part for part in parts if part)


def _undecided(primary: Check, found: Sequence[Check]) -> str:
    """Return the parts that no check could decide, each with the reason of its first check."""
    decided = {check.part for check in found if check.holds is not None}
    first: dict[str, Check] = {}
    for check in found:
        if check.part not in decided:
            first.setdefault(check.part, check)
    reasons = [
        part if check is primary or not check.note else f"{part} ({check.note.removesuffix('.')})"
        for part, check in first.items()
    ]
    return f"Undecided: {'; '.join(reasons)}." if reasons else ""
