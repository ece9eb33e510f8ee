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

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from analysis.store import Store

Verdict = Literal["reproduced", "reproduced under a condition", "contradicted", "not computable"]
VERDICTS: tuple[Verdict, ...] = (
    "reproduced",
    "reproduced under a condition",
    "contradicted",
    "not computable",
)
NAN = float("nan")


@dataclass(frozen=True, slots=True)
class Check:
    """One part of a claim under one condition.

    Attributes
    ----------
    part
        What the claim asserts, in words.
    condition
        How the words were read: definition, models, files.
    holds
        Whether it holds; None when the evidence is missing or cannot tell.
    estimate, conf_low, conf_high, p_value
        The quantity the decision rests on, its 95 % interval and p; NaN where there is none.
    n_obs, n_models, n_suites
        Rows, distinct models and distinct training suites that entered.
    evidence
        Files or tables the numbers come from.
    caveats
        Known defects of that evidence, B1 to B16.
    method
        How the estimate was computed.
    note
        What a reader must know.
    """

    part: str
    condition: str
    holds: bool | None
    estimate: float = NAN
    conf_low: float = NAN
    conf_high: float = NAN
    p_value: float = NAN
    n_obs: int = 0
    n_models: int = 0
    n_suites: int = 0
    evidence: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    method: str = ""
    note: str = ""


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


def caveats_of(names: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct names of caveats, numbers in the order of numbers.

    >>> caveats_of(["B10", "B2", "B2", "seed"])
    ('B2', 'B10', 'seed')
    """
    return tuple(sorted(set(names), key=_place_of))


def _place_of(name: str) -> tuple[str, int, str]:
    """Return a key that puts B2 before B10."""
    number = re.search(r"\d+", name)
    return re.split(r"\d", name)[0], int(number[0]) if number else 0, name
