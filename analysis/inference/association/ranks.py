"""Tests of the rank correlations of Spearman and Kendall: exact, by series, by approximation."""

from __future__ import annotations

from math import exp, lgamma, sqrt

import numpy as np
import scipy

from analysis.tidy.frame import Floats, Integers

#: Largest n whose n! orders are counted by Spearman's sum of products of ranks.
EXACT_SPEARMAN_ROWS = 12

#: Standard deviations beyond which the Edgeworth series of Spearman's p falls to 0 too soon.
SERIES_REACH = 2.0


def spearman_test(
    first: Floats, second: Floats, estimate: float
) -> tuple[float, float, float, str]:
    """Return t and its degrees of freedom (missing when p is not from them), p and the test."""
    n, nan = len(first), float("nan")
    if n <= EXACT_SPEARMAN_ROWS:
        return nan, nan, _exact_spearman_p(first, second), "exact permutation p"
    if not _has_ties(first, second):
        return nan, nan, _edgeworth_spearman_p(estimate, n), "Edgeworth series"
    statistic = t_statistic(estimate, n - 2)
    return statistic, float(n - 2), t_p(estimate, n - 2), "t approximation"


def _edgeworth_spearman_p(estimate: float, n: int) -> float:
    """Return the two-sided p of Best and Roberts (1975).

    The series is in z, the correlation with half a step of the sum of squared differences of
    ranks taken off, in units of its standard deviation; that sum is even, so a step is 2.
    """
    z = (abs(estimate) - 6 / (n**3 - n)) * sqrt(n - 1)
    y, b = z**2, 1 / n
    bracket = 0.0131 - 0.00046 * y
    bracket = 0.0072 - 0.0831 * b + y * b * bracket
    bracket = 0.0879 + 0.0151 * b - y * bracket
    bracket = -0.0758 + b * (0.1033 + 0.3932 * b) - y * b * bracket
    bracket = 0.2274 + b * (0.2531 + 0.1745 * b) + y * bracket
    tail = float(scipy.stats.norm.sf(z)) + z * b * bracket * exp(-y / 2)
    if z > SERIES_REACH:
        tail = max(tail, t_p(estimate, n - 2) / 2, exp(-lgamma(n + 1)))
    return min(1.0, 2 * tail)


def _has_ties(first: Floats, second: Floats) -> bool:
    return min(len(np.unique(first)), len(np.unique(second))) < len(first)


def _exact_spearman_p(first: Floats, second: Floats) -> float:
    """Return the share of all n! orders whose |rho| reaches the observed, in whole numbers.

    Orders are counted by their sum of products of ranks: row by row, for every way in which the
    rows so far can have taken ranks, of which tied ones are alike.
    """
    ranks, others = (_whole_ranks(values) for values in (first, second))
    places, copies = np.unique(others, return_counts=True)
    size = int(np.sort(ranks) @ np.sort(others)) + 1
    orders = {tuple(copies.tolist()): np.eye(1, size)[0]}
    for rank in ranks.tolist():
        longer: dict[tuple[int, ...], Floats] = {}
        for left, counts in orders.items():
            for position, copy in enumerate(left):
                if copy:
                    rest = (*left[:position], copy - 1, *left[position + 1 :])
                    step = rank * int(places[position])
                    longer.setdefault(rest, np.zeros(size))[step:] += copy * counts[: size - step]
        orders = longer
    (counts,) = orders.values()
    distances = np.abs(len(ranks) * np.arange(size) - ranks.sum() * others.sum())
    reached = distances >= distances[int(ranks @ others)]
    return float(counts[reached].sum() / counts.sum())


def _whole_ranks(values: Floats) -> Integers:
    """Return ranks, doubled where ties halve them, shape (n,)."""
    doubled = np.rint(2 * scipy.stats.rankdata(values)).astype(np.intp)
    return np.asarray(doubled // np.gcd.reduce(doubled), dtype=np.intp)


def t_statistic(estimate: float, df: int) -> float:
    """Return Student's t of a correlation, infinite for a perfect one."""
    if abs(estimate) == 1:
        return float(np.copysign(np.inf, estimate))
    return estimate * sqrt(df / (1 - estimate**2))


def t_p(estimate: float, df: int) -> float:
    """Return the two-sided p of `t_statistic`."""
    return float(2 * scipy.stats.t.sf(abs(t_statistic(estimate, df)), df))
