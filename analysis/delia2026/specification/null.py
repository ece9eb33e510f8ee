"""Who could have been called what: labels exchanged between whole suites.

Suites with the same label are exchangeable, so an assignment is a sequence of label codes, one
per suite. The observed assignment always comes first.

The null hypothesis is not imposed on the gains instead
(`analysis.inference.resampling.specification.impose_null`): that draws suites again, and too few
are compared, three with four, one with six, and three with one. Of one suite with six, drawing
again moves the six alone, and of data without an effect 28 % get a p below .05, the probability
that a normal variable exceeds 1.645 sqrt(5/6) / sqrt(7). Ratios of odds have no such null at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.delia2026.specification.fit import ALONE, Labels
from analysis.inference.resampling.permutation import (
    every_assignment,
    extreme_shares,
    n_assignments,
)
from analysis.tidy.frame import Floats, Integers

#: Up to this many distinct assignments are enumerated; beyond, they are drawn.
MOST_ENUMERATED = 2000


@dataclass(frozen=True, slots=True)
class Coding:
    """Labels of S suites as codes, C of them: suites with one code are exchangeable.

    ``codes`` has shape (S,); ``groups`` the group of each code under each way to group, 1, 0 or
    NaN, shape (C, m); ``labs`` its lab, `ALONE` where each of its suites is a lab, shape (C,).
    """

    codes: Integers
    groups: Floats
    labs: Integers


@dataclass(frozen=True, slots=True)
class Assignments:
    """Ways to hand the codes out, the observed one first: ``codes`` of shape (B, S).

    ``enumerated`` is true when these are all there are.
    """

    coding: Coding
    codes: Integers
    enumerated: bool

    def labels(self, suites: Integers, way: int, *, by_lab: bool) -> tuple[Labels, Integers]:
        """Return the distinct labellings of some suites, and which one each assignment is.

        ``way`` is the place of the way to group; with ``by_lab`` assignments that differ in labs
        alone are told apart. Labels have shape (b, s), places shape (B,).
        """
        codes = self.codes[:, suites]
        group = np.nan_to_num(self.coding.groups[:, way], nan=2).astype(np.intp)
        value = group * (int(self.coding.labs.max()) + 2)
        value = value + self.coding.labs + 1 if by_lab else value
        _, first, place = np.unique(value[codes], axis=0, return_index=True, return_inverse=True)
        chosen = codes[first]
        labels = Labels(self.coding.groups[chosen, way], self.coding.labs[chosen])
        return labels, np.asarray(place.ravel(), dtype=np.intp)


def coding(groups: Floats, labs: Integers, *, by_lab: bool = True) -> Coding:
    """Return codes that tell suites apart by their groups and, with `by_lab`, by their lab.

    ``groups`` has shape (S, m), ``labs`` the codes of the labs, shape (S,).
    """
    counted = np.bincount(labs)
    shared = np.where((counted[labs] > 1) & by_lab, labs, ALONE)
    seen = np.column_stack([np.nan_to_num(groups, nan=2), shared])
    distinct, codes = np.unique(seen, axis=0, return_inverse=True)
    meaning = np.where(distinct[:, :-1] == 2, np.nan, distinct[:, :-1])
    return Coding(
        np.asarray(codes.ravel(), dtype=np.intp), meaning, distinct[:, -1].astype(np.intp)
    )


def assignments(coding: Coding, *, n_permutations: int, rng: np.random.Generator) -> Assignments:
    """Return every assignment if there are at most 2,000, else the observed one and draws."""
    if n_assignments(coding.codes) <= MOST_ENUMERATED:
        every = np.array(list(every_assignment(coding.codes)), dtype=np.intp)
        return Assignments(coding, every, enumerated=True)
    drawn = rng.permuted(np.tile(coding.codes, (n_permutations, 1)), axis=1)
    return Assignments(coding, np.vstack([coding.codes, drawn]), enumerated=False)


def two_sided(values: Floats) -> tuple[float, float, int]:
    """Return p, the smallest p there can be, and how many assignments could be evaluated.

    Assignments under which the statistic does not exist, NaN, are left out.
    """
    finite = values[np.isfinite(values)]
    return *extreme_shares(finite), len(finite)
