"""Two independent binomial counts: score statistics, and tails at their largest.

A hypothesis about the risk difference or the odds ratio leaves one probability free. An exact
unconditional test takes the largest tail probability over that nuisance parameter; an interval
holds the values whose two one-sided tests do not reject (Chan and Zhang 1999, Biometrics 55,
1202, for the difference; Agresti and Min 2002, Biostatistics 3, 379, for the odds ratio).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import expit, gammaln, xlog1py, xlogy

from analysis.tidy.frame import Floats

#: Statistics closer than this are tied. Tables that mirror each other differ in the last digit,
#: for which scipy's barnard_exact (1.17) does not allow: its two-sided p can be too small.
TIE = 1e-9

#: Points at which the nuisance parameter is tried, before zooming in on the best.
NUISANCE_POINTS = 401
ZOOM_POINTS = 21
ZOOMS = 4

#: Distance of the outermost of these points from 0 and 1, where a probability is certain.
EDGE = 1e-9

#: Values tried from the outside in for an end of the interval, and halvings of the step found.
SCANNED = 151
HALVINGS = 40

#: A log odds ratio as large as this has no finite end of the interval.
WIDEST_LOG_ODDS = 15.0


@dataclass(frozen=True, slots=True)
class Measure:
    """A way to compare two probabilities, as a curve of pairs for every value it can take.

    Attributes
    ----------
    statistic
        Score statistic of every pair of counts at a value, shape (n1 + 1, n2 + 1).
    pairs
        Pairs of probabilities that have a value, at points 0 to 1 of the nuisance parameter.
    """

    statistic: Callable[[tuple[int, int], float], Floats]
    pairs: Callable[[float, Floats], tuple[Floats, Floats]]


def difference_statistic(sizes: tuple[int, int], value: float) -> Floats:
    """Return the score statistic of p1 - p2 = value for every pair of counts.

    The restricted estimate is the root of a cubic (Farrington and Manning 1990, Statistics in
    Medicine 9, 1447, appendix).
    """
    first, second = _shares(sizes)
    ratio = sizes[1] / sizes[0]
    a = 1 + ratio
    b = -(1 + ratio + first + ratio * second + value * (ratio + 2))
    c = value**2 + value * (2 * first + ratio + 1) + first + ratio * second
    d = -first * value * (1 + value)
    v = b**3 / (3 * a) ** 3 - b * c / (6 * a**2) + d / (2 * a)
    u = np.where(v < 0, -1.0, 1.0) * np.sqrt(np.maximum(b**2 / (3 * a) ** 2 - c / (3 * a), 0.0))
    cosine = np.divide(v, u**3, out=np.ones_like(u), where=u != 0)
    angle = (np.pi + np.arccos(np.clip(cosine, -1.0, 1.0))) / 3
    restricted = 2 * u * np.cos(angle) - b / (3 * a)
    p1 = np.clip(restricted, max(0.0, value), min(1.0, 1 + value))
    p2 = np.clip(p1 - value, 0.0, 1.0)
    variance = p1 * (1 - p1) / sizes[0] + p2 * (1 - p2) / sizes[1]
    return _ratio(first - second - value, np.sqrt(variance))


def odds_statistic(sizes: tuple[int, int], value: float) -> Floats:
    """Return the score statistic of log odds ratio = value for every pair of counts.

    The restricted estimate is the root of a quadratic (Cornfield 1956; Agresti and Min 2002).
    """
    first, second = np.meshgrid(np.arange(sizes[0] + 1.0), np.arange(sizes[1] + 1.0), indexing="ij")
    ratio, excess = float(np.exp(value)), float(np.expm1(value))
    total = first + second
    linear = sizes[0] * ratio + sizes[1] - total * excess
    root = np.sqrt(linear**2 + 4 * sizes[1] * excess * total)
    p2 = np.where(
        linear > 0, 2 * total / (linear + root), (root - linear) / (2 * sizes[1] * excess or 1.0)
    )
    p2 = np.clip(p2, 0.0, 1.0)
    p1 = np.clip(p2 * ratio / (1 + p2 * excess), 0.0, 1.0)
    variances = sizes[0] * p1 * (1 - p1), sizes[1] * p2 * (1 - p2)
    spread = np.sqrt(_ratio(variances[0] * variances[1], variances[0] + variances[1]))
    return _ratio(first - sizes[0] * p1, spread)


def _difference_pairs(value: float, points: Floats) -> tuple[Floats, Floats]:
    low, high = max(0.0, -value), min(1.0, 1 - value)
    p2 = low + (high - low) * points
    return np.clip(p2 + value, 0.0, 1.0), p2


def _odds_pairs(value: float, points: Floats) -> tuple[Floats, Floats]:
    """Return pairs spread evenly along the curve: the two log odds lie half the value apart."""
    middle = np.log(points) - np.log1p(-points)
    return expit(middle + value / 2), expit(middle - value / 2)


RISK_DIFFERENCE = Measure(difference_statistic, _difference_pairs)
LOG_ODDS_RATIO = Measure(odds_statistic, _odds_pairs)


def largest_tail(region: Floats, measure: Measure, value: float) -> float:
    """Return the largest probability of a set of tables over the nuisance parameter.

    Parameters
    ----------
    region
        1 for the tables in the set, else 0, shape (n1 + 1, n2 + 1).
    measure, value
        The hypothesis.
    """
    points = np.linspace(EDGE, 1 - EDGE, NUISANCE_POINTS)
    best = 0.0
    for _ in range(ZOOMS):
        found = _probability(region, *measure.pairs(value, points))
        peak = int(found.argmax())
        best = max(best, float(found[peak]))
        low, high = points[max(peak - 1, 0)], points[min(peak + 1, len(points) - 1)]
        points = np.linspace(low, high, ZOOM_POINTS)
    return min(best, 1.0)


def interval(
    counts: tuple[int, int],
    sizes: tuple[int, int],
    measure: Measure,
    *,
    alphas: tuple[float, float],
    limits: tuple[float, float],
) -> tuple[float, float]:
    """Return the smallest and the largest value that one-sided exact tests do not reject.

    Parameters
    ----------
    counts, sizes
        Successes and units of the two groups.
    measure
        What is compared.
    alphas
        Level of the test that gives the lower end and the upper; 0 leaves that end open.
    limits
        Least and largest value the measure can take.
    """

    def tail(value: float, *, side: int) -> float:
        statistic = side * measure.statistic(sizes, value)
        region = (statistic >= statistic[counts] - TIE).astype(np.float64)
        return largest_tail(region, measure, value)

    low, high = limits
    return (
        first_accepted(partial(tail, side=1), low, high, alphas[0]),
        first_accepted(partial(tail, side=-1), high, low, alphas[1]),
    )


def first_accepted(
    tail: Callable[[float], float], start: float, stop: float, alpha: float
) -> float:
    """Return the first value from start to stop whose tail exceeds alpha.

    The tail jumps where tables change places, so it may pass alpha more than once.

    Parameters
    ----------
    tail
        Largest tail probability at a value; exceeds alpha at `stop`.
    start, stop
        Limit at which the search begins, and the limit opposite.
    alpha
        Level of the test; 0 accepts every value.
    """
    if alpha == 0:
        return start
    values = np.linspace(start, stop, SCANNED)
    reached = next(place for place, value in enumerate(values) if tail(value) > alpha)
    if reached == 0:
        return start
    rejected, accepted = float(values[reached - 1]), float(values[reached])
    for _ in range(HALVINGS):
        middle = (rejected + accepted) / 2
        if tail(middle) > alpha:
            accepted = middle
        else:
            rejected = middle
    return accepted


def _probability(region: Floats, p1: Floats, p2: Floats) -> Floats:
    """Return the probability of the region at every pair of probabilities, shape (points,)."""
    sizes = region.shape[0] - 1, region.shape[1] - 1
    first, second = _binomial(sizes[0], p1), _binomial(sizes[1], p2)
    found: Floats = ((first @ region) * second).sum(axis=1)
    return found


def _binomial(size: int, probabilities: Floats) -> Floats:
    """Return binomial probabilities of 0..size, shape (points, size + 1)."""
    counts = np.arange(size + 1.0)
    ways = gammaln(size + 1) - gammaln(counts + 1) - gammaln(size - counts + 1)
    column = probabilities[:, None]
    logs = ways + xlogy(counts, column) + xlog1py(size - counts, -column)
    return np.asarray(np.exp(logs), dtype=np.float64)


def _shares(sizes: tuple[int, int]) -> tuple[Floats, Floats]:
    first, second = np.meshgrid(
        np.arange(sizes[0] + 1.0) / sizes[0], np.arange(sizes[1] + 1.0) / sizes[1], indexing="ij"
    )
    return first, second


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Return the ratio, 0 where both vanish up to rounding and infinite where one does."""
    vanishing = np.abs(denominator) < TIE
    return np.divide(
        numerator,
        denominator,
        out=np.where(np.abs(numerator) < TIE, 0.0, np.copysign(np.inf, numerator)),
        where=~vanishing,
    )
