"""One specification evaluated: estimate, ordinary test, exchange of labels between suites."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.delia2026.specification.design import Design, Suites
from analysis.delia2026.specification.fit import (
    ESTIMATORS,
    LOGISTIC,
    Estimates,
    Labels,
    group_sums,
    spread,
)
from analysis.delia2026.specification.null import Assignments, assignments, coding, two_sided
from analysis.tidy.frame import Floats, Integers

CONF_LEVEL = 0.95
SIGNIFICANT = 0.05

#: Three units leave a residual degree of freedom; ten are two units per coefficient.
FEWEST_UNITS = {"difference": 3, "log odds ratio": 3, "adjusted difference": 10}

FEW_UNITS = "too few units for this estimator"
NO_SIGN = "odds need a sign, not a size"
COLLINEAR = "the covariates do not vary apart from the groups"
NO_VARIATION = "no variation within the groups, hence no standard error"


@dataclass(frozen=True, slots=True)
class Analysis:
    """Result of one specification: its numbers by column, and both under each joint assignment.

    ``null`` has the standardised estimates, the observed first, shape (B,); ``is_significant``
    whether each is positive with an ordinary p below 0.05. Where nothing varies within the groups
    there is no p: it is not significant, whoever has the labels.
    """

    row: dict[str, Any]
    null: NDArray[np.float32]
    is_significant: NDArray[np.bool_]


@dataclass(slots=True)
class Evaluator:
    """What all specifications share: the suites, who could be called what, and the draws.

    ``everyone`` are joint assignments of labels to all suites; ``rng`` draws ``n_permutations``
    where a design's assignments are too many to enumerate.
    """

    suites: Suites
    everyone: Assignments
    rng: np.random.Generator
    n_permutations: int
    _of_design: dict[Hashable, tuple[Labels, Integers]] = field(default_factory=dict)
    _joint: dict[Hashable, tuple[Labels, Integers]] = field(default_factory=dict)

    def evaluate(self, design: Design, estimator: str) -> Analysis | str:
        """Return the result of one estimator on one design, or why there is none."""
        if estimator == "log odds ratio" and not design.is_sign:
            return NO_SIGN
        labels, place = self._labels_of(design)
        inside = design.sums[design.is_labelled]
        both, ours = group_sums(inside, labels, by_lab=design.by_lab)
        observed = place[0]
        n_obs = float(both[observed, 0, 0])
        if n_obs < FEWEST_UNITS[estimator]:
            return FEW_UNITS
        estimates = ESTIMATORS[estimator](both, ours)
        if np.isnan(estimates.estimate[observed]):
            return COLLINEAR
        sd = 1 / LOGISTIC if estimator == "log odds ratio" else spread(both[observed])
        p, smallest_p, n_permutations = two_sided(estimates.estimate[place])
        row = {
            "n_obs": n_obs,
            **design.counts,
            **_ordinary(estimates.only(int(observed))),
            "p_permutation": p,
            "smallest_p": smallest_p,
            "n_permutations": n_permutations,
            "outcome_sd": sd,
            "standardised": estimates.estimate[observed] / sd if sd else 0.0,
        }
        return Analysis(row, *self._relabel(design, estimator, sd))

    def _labels_of(self, design: Design) -> tuple[Labels, Integers]:
        """Return the labellings of the suites in either group, keeping how many are in each."""
        positions = design.positions[design.is_labelled]
        key = (positions.tobytes(), design.way, design.by_lab)
        if key not in self._of_design:
            groups = self.suites.groups[positions][:, [design.way]]
            codes = coding(groups, self.suites.labs[positions], by_lab=design.by_lab)
            handed = assignments(codes, n_permutations=self.n_permutations, rng=self.rng)
            everywhere = np.arange(len(positions))
            self._of_design[key] = handed.labels(everywhere, 0, by_lab=design.by_lab)
        return self._of_design[key]

    def _relabel(
        self, design: Design, estimator: str, sd: float
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Return standardised estimates and their significance under every joint assignment."""
        key = (design.positions.tobytes(), design.way, design.by_lab)
        if key not in self._joint:
            self._joint[key] = self.everyone.labels(
                design.positions, design.way, by_lab=design.by_lab
            )
        labels, place = self._joint[key]
        result = ESTIMATORS[estimator](*group_sums(design.sums, labels, by_lab=design.by_lab))
        is_significant = (result.p_values() < SIGNIFICANT) & (result.estimate > 0)
        standardised: Floats = result.estimate / sd if sd else 0.0 * result.estimate
        return standardised[place].astype(np.float32), is_significant[place]


def _ordinary(estimate: Estimates) -> dict[str, Any]:
    """Return estimate, interval and p as if units were independent, missing without variation."""
    result, error = float(estimate.estimate[0]), float(estimate.std_error[0])
    reach = float(estimate.reach(CONF_LEVEL)[0])
    has_error = error > 0
    return {
        "estimate": result,
        "std_error": error if has_error else np.nan,
        "conf_low": result - reach if has_error else np.nan,
        "conf_high": result + reach if has_error else np.nan,
        "conf_level": CONF_LEVEL,
        "p_value": float(estimate.p_values()[0]),
        "reason": "" if has_error else NO_VARIATION,
    }
