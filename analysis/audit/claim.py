"""What a claim is, and the rule that turns checks into a verdict.

A claim has one or several *parts*, all of which it asserts. Each part is checked under one
or several *readings* of the same words (which definition of gain, which models, which file).
The first reading of a part that decides is the stated one, with data or without: no other takes
its place. One rule for all claims:

1. A check that only describes moves nothing, nor does one of another kind than its claim (a printed
   number beside a law): what that one says stands beside the verdict.
2. A part *holds* when its stated reading does and no other fails. It *depends on the reading* when
   the stated one holds and another fails, or when the stated one does not hold and another does
   (only under another reading). It is *contradicted* when the stated reading fails and none holds,
   *undecided* when the data cannot tell of the stated one and none holds, and without data when
   there are none for the stated one and none holds. "As stated, not robust" is said of a claim
   only where the stated reading of every part holds.
3. Readings of a claim are one family. That a claim holds as stated needs the stated reading of
   every part, so each of these stands by its own test. Where one of many suffices, looking often
   finds something: that a stated reading fails, or that another one holds or fails, counts only if
   the p of the test it rests on, adjusted by Holm over all readings, is below 0.05. Otherwise that
   reading is undecided.
4. The claim has the first verdict of this list that one of its parts has: contradicted, depends on
   the reading, undecided, no data, reproduced. So a part that cannot be tested hides neither a
   contradiction nor a dependence, and a claim is reproduced only as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from analysis.audit.evidence.checks import Check
from analysis.audit.evidence.decision import KINDS, Kind
from analysis.inference.effects import multiplicity
from analysis.store import Store
from analysis.tidy.errors import AnalysisError

Verdict = Literal["reproduced", "depends on the reading", "contradicted", "undecided", "no data"]
VERDICTS: tuple[Verdict, ...] = (
    "reproduced",
    "depends on the reading",
    "contradicted",
    "undecided",
    "no data",
)
#: The verdicts of parts, the one that decides the claim first.
TELLING: tuple[Verdict, ...] = (
    "contradicted",
    "depends on the reading",
    "undecided",
    "no data",
    "reproduced",
)
#: How a claim depends on the reading: each part holds as stated; one holds otherwise; or one that
#: holds as stated is not robust, and of another the stated reading is open.
NOT_ROBUST, OTHERWISE = "as stated, not robust", "only under another reading"
OPEN_BESIDE = "not robust, and another part is open"
LEVEL = 0.05


Weight = Literal["central", "supporting", "side"]
#: What a claim states: a law (an explanation, a ranking, a formula), a number that is printed, or
#: what was done, counted, drawn or filed.
Category = Literal["law", "printed number", "record"]
#: Who states it: the author in a document of his, a result file of his alone, or the audit.
Origin = Literal["author", "file", "audit"]
Ground = Literal["network", "descent", "architecture", "record"]


@dataclass(frozen=True, slots=True)
class Line:
    """The value that a part of a claim names, to set beside the estimates of its readings."""

    part: str  #: What the claim asserts there, as its checks call it.
    #: What is set beside the value: r, share, ratio and so on; p is the p of the test.
    measure: str
    #: The value, and the ends of the margin that still counts as it; a share as a share [1].
    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Quotation:
    """Words of a document, letter by letter, and where they stand."""

    document: str  #: The name of its file without the ending.
    place: str  #: Section or figure; in a text without numbered sections the line.
    quotation: str  #: As the file has them, markup and all.


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement that can be tested, with all that is known of it.

    The tables for SQL (`claim`, `claim_meaning` and their like) are made from these fields, see
    `analysis.audit.claim_tables`. A folder whose claims leave them empty brings the tables itself.

    Attributes
    ----------
    claim_id
        Its number.
    estimand
        The quantity that would make the statement true or false.
    rule
        What each part must show to hold.
    examine
        Function from a store to checks; the first one of a part is its stated reading.
    kind
        Kind of statement, unless a check says otherwise; see
        `analysis.audit.evidence.decision.KINDS`.
    statement, place
        The words of the paper, and where they stand.
    category, stated_by
        What it states, see `Category`, and who states it; what the author does not state is
        judged and counted apart.
    quotations
        The statement as its documents have it; none where the author does not state it.
    meaning
        What it says in one plain line, for readers who do not have the paper.
    family
        The law or section whose claims would each be reported as evidence for it: its p is
        adjusted within these. Declared before any p was looked at.
    weight, repeats
        How much the paper rests on it, and the number of the claim that states the same before it.
    rests_on, quantity, about, reason
        What its quantity is a property of: networks, a network and its descendant, the shape, or
        the record; the quantities of table `gauge_quantity`, comma-separated; the labs, suites or
        models it is about, empty for all that are published; and why, in words.
    lines
        The values that it names.
    true_where, open_where
        What rules in the simulated papers that make it true, at the size claimed, and in those that
        make it neither true nor false; it is false in all others. See table ``verdict_rate``. Empty
        where none was simulated.

    Raises
    ------
    AnalysisError
        If the kind is none that there is.
    """

    claim_id: int
    estimand: str
    rule: str
    examine: Callable[[Store], Sequence[Check]]
    kind: Kind = "difference"
    statement: str = ""
    place: str = ""
    category: Category | Literal[""] = ""
    stated_by: Origin = "author"
    quotations: tuple[Quotation, ...] = ()
    meaning: str = ""
    family: str = ""
    weight: Weight | Literal[""] = ""
    repeats: int | None = None
    rests_on: Ground | Literal[""] = ""
    quantity: str = ""
    about: str = ""
    reason: str = ""
    lines: tuple[Line, ...] = ()
    true_where: str = ""
    open_where: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Refuse a kind that no rule decides."""
        if self.kind not in KINDS:
            raise AnalysisError(
                f"The kind of a claim must be one of {', '.join(KINDS)}; "
                f"claim {self.claim_id} has {self.kind!r}.",
                "`analysis.audit.evidence.decision.KINDS` says what decides each.",
            )


def verdict(checks: Sequence[Check], kind: Kind = "difference") -> Verdict:
    """Return the verdict that the checks of one claim imply.

    >>> yes, no = Check("p", "c", True), Check("p", "d", False)
    >>> verdict([yes]), verdict([yes, no]), verdict([no])
    ('reproduced', 'depends on the reading', 'contradicted')
    """
    by_part = part_verdicts(checks, kind)
    return next((one for one in TELLING if one in by_part.values()), "no data")


def part_verdicts(checks: Sequence[Check], kind: Kind = "difference") -> dict[str, Verdict]:
    """Return the verdict on each part that has a check which decides, by its words."""
    return {part: _part_verdict(answers) for part, answers in _answers(checks, kind).items()}


def reading(checks: Sequence[Check], kind: Kind = "difference") -> str:
    """Return how a claim depends on the reading, and what is said beside its verdict; else empty.

    >>> yes, no = Check("p", "c", True), Check("p", "d", False)
    >>> reading([yes, no]), reading([no, yes]), reading([yes])
    ('as stated, not robust', 'only under another reading', '')
    """
    depends = verdict(checks, kind) == "depends on the reading"
    beside = dict.fromkeys(check.beside for check in checks if check.beside)
    return "; ".join([*([_how(checks, kind)] if depends else []), *beside])


def _how(checks: Sequence[Check], kind: Kind) -> str:
    parts = _answers(checks, kind).values()
    if all(part[0] is True for part in parts):
        return NOT_ROBUST
    is_otherwise = any(part[0] is not True and True in part for part in parts)
    return OTHERWISE if is_otherwise else OPEN_BESIDE


def adjusted(checks: Sequence[Check]) -> list[float]:
    """Return the p of each check adjusted by Holm over those of the claim that decide; NaN without.

    Two checks with one method, estimate, p and number of rows are one test.
    """
    tests = [
        repr((one.method, one.estimate, one.p_value, one.n_obs)) if one.decides else ""
        for one in checks
    ]
    distinct = {
        test: one.p_value
        for test, one in zip(tests, checks, strict=True)
        if test and not math.isnan(one.p_value)
    }
    holm = multiplicity.adjusted_values(np.array(list(distinct.values()), dtype=np.float64))
    known = dict(zip(distinct, holm, strict=True))
    return [float(known.get(test, math.nan)) for test in tests]


def counted(checks: Sequence[Check], kind: Kind = "difference") -> list[bool | None]:
    """Return what each check counts for: its own answer, or None where looking often could find it.

    An answer about a difference rests on its test where it holds, or fails with a p below 0.05; a
    fact about the models at hand may fail with any p.
    """
    stated: set[str] = set()
    items: list[bool | None] = []
    for check, p_holm in zip(checks, adjusted(checks), strict=True):
        is_stated = check.decides and check.part not in stated
        if is_stated:
            stated.add(check.part)
        is_test = (check.kind or kind) == "difference" and (
            check.holds is True or check.p_value < LEVEL
        )
        is_needed = is_stated and check.holds is True
        items.append(None if is_test and p_holm >= LEVEL and not is_needed else check.holds)
    return items


#: What a reading without data says.
_ABSENT: Literal["no data"] = "no data"


def _answers(
    checks: Sequence[Check], kind: Kind
) -> dict[str, list[bool | Literal["no data"] | None]]:
    """Return what the readings of each part say, the stated one first."""
    by_name: dict[str, list[bool | Literal["no data"] | None]] = {}
    for check, answer in zip(checks, counted(checks, kind), strict=True):
        if check.decides:
            said: bool | Literal["no data"] | None = answer if check.has_data else _ABSENT
            by_name.setdefault(check.part, []).append(said)
    return by_name


def _part_verdict(answers: Sequence[bool | Literal["no data"] | None]) -> Verdict:
    stated, others = answers[0], answers[1:]
    if stated is True:
        return "depends on the reading" if False in others else "reproduced"
    if True in others:
        return "depends on the reading"
    return _ABSENT if stated == _ABSENT else "undecided" if stated is None else "contradicted"
