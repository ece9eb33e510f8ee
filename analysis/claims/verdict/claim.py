"""What a claim is, and the rule that turns checks into a verdict.

A claim has one or several *parts*, all of which it asserts. Each part is checked under one
or several *conditions*: defensible readings of the same words (which definition of gain,
which models, which file). The verdict follows by one rule for all claims:

- reproduced: every part holds under every condition that could be checked;
- reproduced under a condition: every part holds under at least one condition, not under all;
- contradicted: some part holds under none;
- not computable: some part could not be decided at all, and none is contradicted. A check
  stays undecided when its evidence is missing, or when its interval contains both what the
  claim says and what would make it false: absence of evidence contradicts nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from analysis.evidence.checks import Check
from analysis.store import Store

Verdict = Literal["reproduced", "reproduced under a condition", "contradicted", "not computable"]
VERDICTS: tuple[Verdict, ...] = (
    "reproduced",
    "reproduced under a condition",
    "contradicted",
    "not computable",
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement that can be tested.

    Attributes
    ----------
    claim_id
        Number in the table `claim`, which holds the statement and where it stands.
    estimand
        The quantity that would make the statement true or false.
    rule
        What each part must show to hold.
    examine
        Function from a store to checks; the first one is the primary reading.
    """

    claim_id: int
    estimand: str
    rule: str
    examine: Callable[[Store], Sequence[Check]]


def verdict(checks: Sequence[Check]) -> Verdict:
    """Return the verdict that the checks of one claim imply.

    >>> yes, no = Check("p", "c", True), Check("p", "d", False)
    >>> verdict([yes]), verdict([yes, no]), verdict([no])
    ('reproduced', 'reproduced under a condition', 'contradicted')
    """
    parts: dict[str, list[bool]] = {}
    for check in checks:
        known = parts.setdefault(check.part, [])
        if check.holds is not None:
            known.append(check.holds)
    if any(known and not any(known) for known in parts.values()):
        return "contradicted"
    if not parts or not all(parts.values()):
        return "not computable"
    if all(all(known) for known in parts.values()):
        return "reproduced"
    return "reproduced under a condition"
