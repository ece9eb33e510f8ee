"""A check of one part of a claim, and the ways to make one from the rows it rests on."""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
import scipy

from analysis.audit.evidence.decision import KINDS, Kind
from analysis.inference.counts import fisher
from analysis.tidy.errors import AnalysisError
from analysis.tidy.frame import require_flags

NAN = float("nan")
LEVEL = 0.05


class Label(str):
    """Words that a reader sees, with the id by which code and pages know them.

    Labels are joined by ``+``, their ids by an underscore; plain text adds words alone.

    >>> joined = Label("fisher", "Fisher's exact test; ") + Label("hunt", "models of the hunt")
    >>> joined, joined.id
    ("Fisher's exact test; models of the hunt", 'fisher_hunt')
    """

    __slots__ = ("id",)
    id: str

    def __new__(cls, id: str, words: str) -> Label:  # noqa: A002
        """Return the words, with their id in small letters and underscores."""
        label = super().__new__(cls, words)
        label.id = _snake(id)
        return label

    def __reduce__(self) -> tuple[type[Label], tuple[str, str]]:
        """Return what makes the same label again, for copies and pickles."""
        return Label, (self.id, str(self))

    def __add__(self, other: str) -> Label:
        """Return both texts, one after the other."""
        ids = [self.id, *([other.id] if isinstance(other, Label) else [])]
        return Label("_".join(filter(None, ids)), str(self) + str(other))


def _snake(text: str) -> str:
    return re.sub(r"\W+", "_", text.lower()).strip("_")


@dataclass(frozen=True, slots=True)
class Check:
    """One part of a claim under one condition.

    Attributes
    ----------
    part
        What the claim asserts, in words.
    condition
        How the words were read: definition, models, files. A part or condition that is a `Label`
        names the check, see `id`.
    holds
        Whether it holds; None when the evidence is missing or cannot tell.
    kind
        Kind of statement, which names the rule that decided it; None: that of its claim.
    decides
        Whether it moves the verdict. A check that cannot fail, or that rests on other models than
        the paper's, describes and does not.
    has_data
        Whether it could be made at all; else the evidence is missing.
    beside
        What it says beside the verdict, where it is of another kind than its claim: a printed
        number beside a law, a law beside a printed number. Such a check is shown with its
        outcome and does not decide; empty for all others.
    estimate, conf_low, conf_high, p_value
        The quantity the decision rests on, its 95 % interval and p; NaN where there is none.
    null
        The value where there is nothing, 0 of a correlation, 1 of a ratio: a line on the card; NaN
        where there is none. None: that of its measure, see `NULLS`.
    n_obs, n_models, n_suites
        Rows, distinct models and distinct training suites that entered.
    evidence
        Files or tables the numbers come from.
    caveats
        Known defects of that evidence, B1 to B16.
    method
        How the estimate was computed.
    measure, is_percent
        What the estimate is, as tables name it (`r`, `share`, `ratio` and so on; empty where it has
        no short name), and whether it is a percentage already.
    note
        What a reader must know.

    Raises
    ------
    AnalysisError
        If ``holds``, ``decides`` or ``has_data`` is no truth value, the kind none that there is,
        or a number none.

    Examples
    --------
    >>> Check("part", "condition", np.float64(2.9) < 3).holds is True
    True
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
    measure: str = ""
    is_percent: bool = False
    note: str = ""
    kind: Kind | None = None
    decides: bool = True
    has_data: bool = True
    beside: str = ""
    null: float | None = None

    def __post_init__(self) -> None:
        """Refuse an answer that is none: a text or a NaN would count as one that holds."""
        answer: object = self.holds
        if isinstance(answer, np.bool_):
            object.__setattr__(self, "holds", bool(answer))
        elif not isinstance(answer, bool | None):
            raise AnalysisError(
                "`holds` of a check must be True, False or None (the data cannot tell); "
                f"found {reprlib.repr(answer)}.",
                "Write bool(...) around a comparison of two numbers.",
            )
        require_flags(decides=self.decides, has_data=self.has_data, is_percent=self.is_percent)
        if self.kind is not None and self.kind not in KINDS:
            raise AnalysisError(
                f"The kind of a check must be one of {', '.join(KINDS)}; found {self.kind!r}.",
                "Leave it out for that of its claim.",
            )
        for name in ("estimate", "conf_low", "conf_high", "p_value", "null"):
            is_left_out = name == "null" and self.null is None
            if not (is_left_out or isinstance(getattr(self, name), Real)):
                raise AnalysisError(
                    f"The {name} of a check must be a number; "
                    f"found {reprlib.repr(getattr(self, name))}.",
                    "Leave it out where there is none.",
                )

    @property
    def id(self) -> str:
        """The name of the check in its claim: the ids of part and condition, else their words."""
        labels = [words.id for words in (self.part, self.condition) if isinstance(words, Label)]
        return "_".join(labels) or _snake(f"{self.part} {self.condition}")


def caveats_of(names: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct names of caveats, numbers in the order of numbers.

    Each may hold several, separated by commas.

    >>> caveats_of(["B10", "B2", "B2, seed", ""])
    ('B2', 'B10', 'seed')
    """
    single = {name.strip() for joined in names for name in joined.split(",")} - {""}
    return tuple(sorted(single, key=_place_of))


def _place_of(name: str) -> tuple[str, int, str]:
    """Return a key that puts B2 before B10."""
    number = re.search(r"\d+", name)
    return re.split(r"\d", name)[0], int(number[0]) if number else 0, name


#: What a check on our own measurements names as its evidence.
OURS = "our measurements"
NOT_THEIRS = "These are not the paper's models: shown, not counted."
#: Ends the name of a method that takes models as independent, which those of a suite are not.
INDEPENDENT = "models as independent"


def check(
    part: str, condition: str, holds: bool | None, rows: pd.DataFrame, **result: Any
) -> Check:
    """Return a check whose counts, files and caveats are read off the rows it used.

    ``rows`` has one row per figure, with `model_id`, `suite`, `file` (several are separated by
    spaces) and `caveats` (by commas). Where a row is of a suite or a pair, give ``n_models`` too.
    """
    counted: dict[str, Any] = {
        "n_obs": len(rows),
        "n_models": rows["model_id"].nunique(),
        "n_suites": rows["suite"].nunique(),
        "evidence": tuple(sorted({name for file in rows["file"] for name in file.split(" ")})),
        "caveats": caveats_of(rows["caveats"]),
    }
    return Check(part, condition, holds, **(counted | result))


def both_sides(pairs: pd.DataFrame, other: str) -> dict[str, Any]:
    """Return how many distinct models and suites the two sides of pairs have.

    The columns of the second model of a pair end in ``other``; where only its `model_id` is there,
    both are of one suite.
    """
    second = pairs[f"suite{other}"] if f"suite{other}" in pairs else pairs["suite"]
    return {
        "n_models": len({*pairs["model_id"], *pairs[f"model_id{other}"]}),
        "n_suites": len({*pairs["suite"], *second}),
    }


def numbers(row: Mapping[Any, Any] | pd.Series[Any]) -> dict[str, Any]:
    """Return estimate, interval and p of a row of a tidy frame, and its null, for a check."""
    names = {name: row[name] for name in ("estimate", "conf_low", "conf_high", "p_value")}
    return names | ({"null": float(row["null_value"])} if "null_value" in row else {})


#: Where there is nothing, by what an estimate is called, if a check does not declare it: NaN where
#: that depends on the claim, which names the value that divides its readings.
NULLS = {
    measure: null
    for null, measures in (
        (0.0, ("r", "partial r", "mean r", "rank r", "correlation", "difference", "slope")),
        (0.0, ("log odds ratio",)),
        (1.0, ("odds ratio", "risk ratio", "hazard ratio", "rate ratio")),
        (NAN, ("share", "share above", "accuracy", "error", "deviation", "change", "count")),
        (NAN, ("mean", "mean gain", "smallest mean", "ratio", "exponent", "constant")),
        (NAN, ("threshold", "twice the log likelihood ratio")),
    )
    for measure in measures
}


def null_of(made: Check) -> float:
    """Return the null of a check: the declared one, else that of its measure; NaN for a value."""
    if made.null is not None:
        return made.null
    return NAN if made.kind == "value" else NULLS.get(_measure(made), NAN)


def lacks_null(made: Check, kind: Kind) -> bool:
    """Tell whether a check of a difference does not say where there is none, nor its measure does.

    ``kind`` is that of its claim.
    """
    is_estimated = bool(made.measure) and math.isfinite(made.estimate)
    is_known = made.null is not None or _measure(made) in NULLS
    return (made.kind or kind) == "difference" and is_estimated and not is_known


def _measure(made: Check) -> str:
    return made.measure.strip().lower()


def across(made: Check, kind: Kind = "difference") -> str:
    """Return why a check that says False cannot tell; empty where it can.

    A difference is refuted by an interval beyond its null, on the other side than the claimed one.
    An interval that contains the null, with both sides of it, refutes nothing, nor does a large p.
    ``kind`` is that of its claim.
    """
    if made.holds is not False or (made.kind or kind) != "difference":
        return ""
    null = null_of(made)
    if made.conf_low < null < made.conf_high:
        ends = f"[{made.conf_low:.3g}, {made.conf_high:.3g}]"
        why = f"the interval {ends} contains {null:g} and both sides of it"
    elif math.isnan(made.conf_low) and made.p_value >= LEVEL:
        why = f"p = {made.p_value:.2g} shows no absence"
    else:
        return ""
    return f"holds is False, and {why}: the data cannot tell, which is None"


def share_check(
    part: str,
    condition: str,
    hits: int,
    rows: pd.DataFrame,
    *,
    holds: bool | None,
    method: str,
    units: str = "models",
    is_sample: bool = True,
    measure: str = "share",
    note: str = "",
    **result: Any,
) -> Check:
    """Return a check that rests on a share of the rows: ``hits`` of them, with exact interval.

    ``units`` says what the rows are, which the interval takes as independent. There is no interval
    unless ``is_sample``: whether a printed value comes again is a fact about each row, and no
    sample of anything.
    """
    require_flags(is_sample=is_sample)
    share = fisher.proportion(hits, len(rows)).iloc[0]
    interval = {name: share[name] for name in ("conf_low", "conf_high")} if is_sample else {}
    how = f", Clopper-Pearson interval as if {units} were independent" if is_sample else ""
    return check(
        part,
        condition,
        holds,
        rows,
        estimate=share["estimate"],
        **interval,
        method=f"{method}{how}",
        measure=measure,
        note=note,
        **result,
    )


def mean_of(values: pd.Series[float], null: float) -> dict[str, float]:
    """Return mean, 95 % t interval and p of the test against ``null``.

    Interval and p are NaN for a single value, and p for values without spread.
    """
    n, mean = len(values), float(values.mean())
    std_error = float(values.std()) / n**0.5
    reach = float(scipy.stats.t.ppf(0.975, n - 1)) * std_error if n > 1 else float("nan")
    statistic = abs(mean - null) / std_error if std_error > 0 else float("nan")
    return {
        "estimate": mean,
        "conf_low": mean - reach,
        "conf_high": mean + reach,
        "p_value": float(2 * scipy.stats.t.sf(statistic, n - 1)),
    }


def on_ours(made: Check, rows: pd.DataFrame) -> Check:
    """Return a check on models measured here; it decides only if all are the paper's too.

    ``rows`` tell it by `in_paper`. Where they come from `measured_gains`, the note says how often
    the published gain and the mean-centred gain lie on different sides of 1.
    """
    in_paper = bool(rows["in_paper"].all())
    notes = (made.note, _other_side(rows), "" if in_paper else NOT_THEIRS)
    return replace(
        made,
        holds=made.holds if in_paper else None,
        decides=made.decides and in_paper,
        note=" ".join(note for note in notes if note),
        evidence=(OURS,),
    )


def _other_side(rows: pd.DataFrame) -> str:
    """Return how many models have their invariant gain on the other side of 1, if any has."""
    if "gain_primary" not in rows:
        return ""
    known = rows.dropna(subset=["gain_primary"])
    differs = (known["gain_mean"] < 1) != (known["gain_primary"] < 1)
    if not differs.any():
        return ""
    return (
        f"In {int(differs.sum())} of {len(known)} the gain that is a property of the network "
        "(under LayerNorm the centred one) lies on the other side of 1."
    )


def missing(part: str, condition: str, reason: object) -> Check:
    """Return a check that could not be made, and why."""
    return Check(part, condition, None, note=f"No data: {reason}.", has_data=False)


def beside(made: Check, words: str) -> Check:
    """Return a check of another kind than its claim: judged, said beside the verdict, not counted.

    ``words`` are what is said.
    """
    return replace(made, decides=False, beside=words)


def descriptive(made: Check) -> Check:
    """Return a check that is shown and moves no verdict, whatever it finds."""
    return replace(made, decides=False)
