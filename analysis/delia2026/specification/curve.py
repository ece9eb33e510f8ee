"""Specification curve: the heritage claim estimated under every defensible choice at once.

Simonsohn, Simmons and Nelson (2020). Specifications share their data and cannot be counted as
independent evidence, so what they say together is compared with what they say when the labels
are exchanged between whole suites.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.delia2026.specification import choices as specification_choices
from analysis.delia2026.specification.choices import COVARIATES, GROUPS
from analysis.delia2026.specification.design import Design, design, selection, suites
from analysis.delia2026.specification.evaluation import Analysis, Evaluator
from analysis.delia2026.specification.null import assignments, coding
from analysis.inference.resampling.specification import Curve, joint_rows, null_curve
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Integers

SEED = 20260106
N_PERMUTATIONS = 1999
ALL_WAYS = "all ways"

Levels = Mapping[str, tuple[str, ...]]


@dataclass(slots=True)
class _Ledger:
    """Distinct analyses found so far, and the reasons why others cannot be made."""

    places: dict[Hashable, int] = field(default_factory=dict)
    selections: dict[Hashable, Integers] = field(default_factory=dict)
    analyses: list[Analysis] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    def refuse(self, reason: str) -> int:
        """Return the negative place that stands for a reason."""
        if reason not in self.reasons:
            self.reasons.append(reason)
        return -1 - self.reasons.index(reason)

    def add(self, analysis: Analysis, groups: str) -> int:
        """Return the place of a new analysis."""
        self.analyses.append(analysis)
        self.groups.append(groups)
        return len(self.analyses) - 1


def specification_curve(
    figures: pd.DataFrame,
    *,
    rng: np.random.Generator,
    n_permutations: int = N_PERMUTATIONS,
    levels: Levels | None = None,
) -> Curve:
    """Return the estimate of every specification, and their joint test by exchange of labels.

    The estimate is positive when EleutherAI (or Pythia) dampens more, as claimed: a difference
    in the share of dampening units, or of minus the mean log gain [nat]; the same with head
    density, depth and size held constant; or a log odds ratio. `standardised` divides it by the
    standard deviation of the outcome (log odds: by pi / sqrt(3)), so that all share a scale.

    The ordinary p and interval take units as independent. `p_permutation` exchanges the labels
    of the specification's own suites, two-sided about their mean, as `resampling.permutation`
    does. The joint test relabels all suites at once.

    Parameters
    ----------
    figures
        As `specification_choices.figures` returns them.
    rng
        Source of the assignments where they are too many to enumerate.
    n_permutations
        How many to draw then.
    levels
        Levels of every choice, some or all of `specification_choices.CHOICES`; None takes all.

    Returns
    -------
    `Curve`, estimates under the null in SD of the outcome. Its joint test has also one row per way
    to group (`groups`) and statistic, and its `n_obs` are distinct specifications. Its
    `specifications` have one row per combination of the choices:
    `specification` (its number), the choices, `n_obs` (units), `n_models`, `n_suites`,
    `n_labs`, `estimate`, `std_error`, the interval, `p_value`, `p_permutation`, `smallest_p`,
    `n_permutations`, `outcome_sd`, `standardised`, `as_claimed`, `duplicate_of` (number of the
    first with the same rows and estimator), `n_duplicates` (how many have them, itself
    included), and `reason`, why a number is missing.

    Raises
    ------
    DesignError
        If no specification can be estimated.
    """
    if figures.empty:
        raise DesignError(
            "The figures must hold at least one gain; found none.",
            "Open a store with gains of EleutherAI's models and of other labs' models.",
        )
    levels = specification_choices.CHOICES if levels is None else levels
    every = suites(figures)
    evaluator = Evaluator(
        every,
        assignments(coding(every.groups, every.labs), n_permutations=n_permutations, rng=rng),
        rng,
        n_permutations,
    )
    ledger = _Ledger()
    places = np.concatenate(
        [_places(models, levels, evaluator, ledger) for models in _selections(figures, levels)]
    )
    if not ledger.analyses:
        raise DesignError(
            "At least one specification must be estimable; none is.",
            "The store needs gains of EleutherAI's models and of other labs' models.",
        )
    null = np.array([analysis.null for analysis in ledger.analyses])
    significant = np.array([analysis.is_significant for analysis in ledger.analyses])
    return Curve(
        _specifications(levels, places, ledger),
        _joint(null, significant, np.array(ledger.groups)),
        null_curve(null),
    )


def distinct(specifications: pd.DataFrame) -> pd.DataFrame:
    """Return the specifications that can be estimated and repeat no other."""
    is_first = specifications["duplicate_of"].isna() & specifications["estimate"].notna()
    return specifications[is_first].reset_index(drop=True)


def _selections(figures: pd.DataFrame, levels: Levels) -> Iterator[pd.DataFrame]:
    """Yield the models of each combination of gain, figure, models and left_out."""
    covariates = figures[list(COVARIATES)].astype(np.float64)
    spread = covariates.std().fillna(0).replace(0, 1)
    scaled = figures.assign(**dict((covariates - covariates.mean()) / spread))
    for gain, figure, models in product(levels["gain"], levels["figure"], levels["models"]):
        chosen = specification_choices.select(scaled, gain, figure, models)
        for left_out in levels["left_out"]:
            yield specification_choices.leave_out(chosen, left_out)


def _places(
    models: pd.DataFrame, levels: Levels, evaluator: Evaluator, ledger: _Ledger
) -> Integers:
    """Return where the results of one selection's specifications are, in their order."""
    selected = selection(models, evaluator.suites, levels["outcome"])
    content = (tuple(selected.model_ids), np.array(list(selected.outcomes.values())).tobytes())
    if content in ledger.selections:
        return ledger.selections[content]
    places = []
    ways = [(GROUPS.index(name), name) for name in levels["groups"]]
    for outcome, unit, (way, groups) in product(levels["outcome"], levels["unit"], ways):
        made = design(selected, evaluator.suites, outcome=outcome, unit=unit, way=way)
        for estimator in levels["estimator"]:
            places.append(_place(made, groups, estimator, evaluator, ledger))
    ledger.selections[content] = np.array(places, dtype=np.intp)
    return ledger.selections[content]


def _place(
    made: Design | str, groups: str, estimator: str, evaluator: Evaluator, ledger: _Ledger
) -> int:
    """Return where the result of one specification is, evaluating it if nothing equals it."""
    if isinstance(made, str):
        return ledger.refuse(made)
    key = (made.key, made.is_sign, estimator)
    if key not in ledger.places:
        result = evaluator.evaluate(made, estimator)
        ledger.places[key] = (
            ledger.refuse(result) if isinstance(result, str) else ledger.add(result, groups)
        )
    return ledger.places[key]


def _specifications(levels: Levels, places: Integers, ledger: _Ledger) -> pd.DataFrame:
    """Return one row per specification: its choices and what was found at its place."""
    rows = pd.DataFrame(product(*levels.values()), columns=list(levels))
    numbers = pd.Series(np.arange(1, len(rows) + 1))
    table = pd.DataFrame([analysis.row for analysis in ledger.analyses])
    is_computed = places >= 0
    results = table.reindex(np.where(is_computed, places, -1)).reset_index(drop=True)
    reasons = np.array([*ledger.reasons, ""], dtype=object)[np.where(is_computed, -1, -1 - places)]
    first = numbers.groupby(places).transform("first")
    result = pd.concat([numbers.rename("specification"), rows, results], axis=1).assign(
        as_claimed=(results["estimate"] > 0).astype("boolean").where(pd.Series(is_computed)),
        duplicate_of=first.astype("Int64").where(pd.Series(is_computed) & (first != numbers)),
        n_duplicates=numbers.groupby(places).transform("size").where(pd.Series(is_computed)),
        reason=results["reason"].where(pd.Series(is_computed), reasons),
    )
    counts = ["n_obs", "n_models", "n_suites", "n_labs", "n_permutations", "n_duplicates"]
    return glossary.table(result.astype(dict.fromkeys(counts, "Int64")))


def _joint(
    null: NDArray[np.float32], significant: NDArray[np.bool_], groups: NDArray[np.str_]
) -> pd.DataFrame:
    """Return the joint test of all distinct specifications, and of each way to group."""
    ways = [ALL_WAYS, *dict.fromkeys(groups.tolist())]
    rows = []
    for way in ways:
        chosen = np.ones(len(groups), dtype=bool) if way == ALL_WAYS else groups == way
        rows += [{"groups": way} | row for row in joint_rows(null[chosen], significant[chosen])]
    return glossary.table(rows)
