"""What is said of a claim beside its numbers: how many checks hold, which fail, what is open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from analysis.audit.claim import Verdict, counted, part_verdicts, reading, verdict
from analysis.audit.evidence.checks import Check
from analysis.audit.evidence.decision import Kind


def join_runs(numbers: Iterable[int]) -> str:
    """Return whole numbers for people, neighbours joined.

    >>> join_runs([3, 1, 2, 7])
    '1 to 3, 7'
    """
    by_run = groupby(enumerate(sorted(numbers)), lambda placed: placed[1] - placed[0])
    runs = [[number for _, number in run] for _, run in by_run]
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def primary(checks: Sequence[Check], kind: Kind) -> Check:
    """Return the check whose numbers stand for a claim: the first that decides and could be made.

    One that the data answer goes before one that they leave open; but an undecided claim has the
    numbers of the stated reading that left it open, not of another that fails.
    """
    made = [check for check in checks if check.decides and check.has_data]
    if verdict(checks, kind) == "undecided":
        parts = part_verdicts(checks, kind)
        return next(check for check in made if parts[check.part] == "undecided")
    answered = (check for check in made if check.holds is not None)
    return next(answered, made[0] if made else checks[0])


def note(primary: Check, checks: Sequence[Check], kind: Kind) -> str:
    """Return the note of a claim: its primary check's, the count, what fails, what is open.

    Checks count for what they say once their p are adjusted over the readings.
    """
    answers = zip(checks, counted(checks, kind), strict=True)
    known = [(check, answer) for check, answer in answers if answer is not None and check.decides]
    failing = [f"{check.part} ({check.condition})" for check, answer in known if not answer]
    hold = f"{len(known) - len(failing)} of {len(known)} checks hold." if known else ""
    how = reading(checks, kind)
    depends = f"It depends on the reading: {how}." if how else ""
    fails = f"Fails: {'; '.join(failing)}." if failing else ""
    is_open = [_open(checks, kind, primary, which) for which in ("undecided", "no data")]
    parts = (primary.note, depends, hold, fails, *is_open)
    return " ".join(part for part in parts if part)


def _open(entries: Sequence[Check], kind: Kind, primary: Check, which: Verdict) -> str:
    """Return the parts with a verdict that leaves them open, each with its first check's reason."""
    first: dict[str, Check] = {}
    for part, answer in part_verdicts(entries, kind).items():
        if answer == which:
            first[part] = next(check for check in entries if check.part == part and check.decides)
    reasons = [
        part if check is primary or not check.note else f"{part} ({_reason(check)})"
        for part, check in first.items()
    ]
    return f"{which.capitalize()}: {'; '.join(reasons)}." if reasons else ""


def _reason(check: Check) -> str:
    return check.note.removeprefix("No data: ").removesuffix(".")
