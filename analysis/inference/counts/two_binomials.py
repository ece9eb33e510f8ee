"""Two independent binomial counts: score statistics, and tails at their largest.

A hypothesis about the odds ratio leaves one probability free. An exact unconditional test takes
the largest tail probability over that nuisance parameter (Agresti and Min 2002, Biostatistics 3,
379). Near the boundary a probability p and its complement q are computed apart:
1 - p has no digits left where p is 1 up to rounding.

>>> import numpy as np, pandas as pd
>>> from analysis.inference import two_binomials
>>> two_binomials.score_statistic((3, 2), 0.0).shape
(4, 3)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import gammaln, xlogy

from analysis.tidy.frame import Floats

#: Statistics closer than this, relative to their size, are tied. Tables that mirror each other
#: differ in the last digit, for which scipy's barnard_exact (1.17) does not allow: its two-sided
#: p can be too small.
TIE = 1e-9

#: Points at which the nuisance parameter is tried on each half, before zooming in on the peaks.
NUISANCE_POINTS = 128
ZOOM_POINTS = 21
ZOOMS = 4

#: Peaks lower than this share of the highest are not zoomed in on, at first and later.
PEAK, ZOOMED_PEAK = 0.9, 0.999

#: A largest probability below this share of a bar, before zooming in, stays below it.
PLAIN = 0.5


@dataclass(frozen=True, slots=True)
class Pairs:
    """Probabilities of success in two groups, and of failure, one array each.

    Attributes
    ----------
    p1, q1, p2, q2
        Success and failure in the first group and in the second, of one shape.
    """

    p1: Floats
    q1: Floats
    p2: Floats
    q2: Floats


def score_statistic(sizes: tuple[int, int], value: float) -> Floats:
    """Return the score statistic of log odds ratio = value for every pair of counts.

    The restricted estimate is the root of a quadratic (Cornfield 1956; Agresti and Min 2002). Of
    the four differences between a count and its expectation, equal but for rounding, that of the
    least expectation is taken.
    """
    first, second = _counts(sizes)
    at = _odds_restricted(sizes, first + second, sum(sizes) - first - second, value)
    expected = np.stack([sizes[0] * at.p1, sizes[0] * at.q1, sizes[1] * at.p2, sizes[1] * at.q2])
    found = np.stack([first, sizes[0] - first, second, sizes[1] - second])
    signed = (found - expected) * np.array([1.0, -1.0, -1.0, 1.0])[:, None, None]
    excess = np.take_along_axis(signed, expected.argmin(axis=0)[None], axis=0)[0]
    variances = sizes[0] * at.p1 * at.q1, sizes[1] * at.p2 * at.q2
    total = variances[0] + variances[1]
    variance = np.divide(variances[0], total, out=np.zeros_like(total), where=total > 0)
    variance = variance * variances[1]
    return _ratio(excess, np.sqrt(variance))


def _pairs(value: float, points: Floats, complements: Floats) -> Pairs:
    """Return the pairs whose mean is the point: neither probability rushes past anywhere."""
    return _odds_restricted((1, 1), 2 * points, 2 * complements, value)


def lead(statistic: Floats, found: tuple[int, int]) -> Floats:
    """Return by how much each table is as extreme as the table found; 0 and more is in the tail."""
    bar = float(statistic[found])
    above: Floats = statistic - bar + TIE * max(1.0, abs(bar))
    return above


def largest_tail(region: Floats, value: float, *, bar: float | None = None) -> float:
    """Return the largest probability of a set of tables over the nuisance parameter.

    Parameters
    ----------
    region
        1 for the tables in the set, else 0, shape (n1 + 1, n2 + 1).
    value
        The log odds ratio supposed.
    bar
        If only the side of a bar matters: no more digits are looked for where it is plain.
    """
    points = _coarse_points()
    sizes = region.shape[0] - 1, region.shape[1] - 1
    found = _weighed(region, *_coarse_binomials(value, sizes))
    best = float(found.max())
    inner = np.arange(1, len(points) - 1)
    is_peak = (found[inner] > found[inner - 1]) & (found[inner] >= found[inner + 1])
    peaks = inner[is_peak & (found[inner] >= PEAK * best)]
    low, high = points[peaks - 1], points[peaks + 1]
    for _ in range(ZOOMS):
        if not len(low) or (bar is not None and not PLAIN * bar < best <= bar):
            break
        zoomed = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, ZOOM_POINTS)
        found = _weighed(region, *_binomials(value, sizes, zoomed.ravel()))
        found = found.reshape(zoomed.shape)
        best = max(best, float(found.max()))
        kept = np.flatnonzero(found.max(axis=1) >= ZOOMED_PEAK * best)
        top = found[kept].argmax(axis=1)
        low = zoomed[kept, np.maximum(top - 1, 0)]
        high = zoomed[kept, np.minimum(top + 1, ZOOM_POINTS - 1)]
    return min(best, 1.0)


@lru_cache(maxsize=1)
def _coarse_points() -> Floats:
    """Return points 0 to 1, close together at 0, 1/2 and 1, where the curve of odds may turn."""
    half = (1 - np.cos(np.linspace(0, np.pi, NUISANCE_POINTS + 1))) / 4
    return np.concatenate([half, 1 - half[-2::-1]])


@lru_cache(maxsize=128)
def _coarse_binomials(value: float, sizes: tuple[int, int]) -> tuple[Floats, Floats]:
    """Return the probabilities of both counts at the coarse points; many regions ask for them."""
    return _binomials(value, sizes, _coarse_points())


def _binomials(value: float, sizes: tuple[int, int], points: Floats) -> tuple[Floats, Floats]:
    at = _pairs(value, points, 1 - points)
    return _binomial(sizes[0], at.p1, at.q1), _binomial(sizes[1], at.p2, at.q2)


def _weighed(region: Floats, first: Floats, second: Floats) -> Floats:
    """Return the probability of the region at every point, shape (points,)."""
    found: Floats = ((first @ region) * second).sum(axis=1)
    return found


def _binomial(size: int, p: Floats, q: Floats) -> Floats:
    """Return binomial probabilities of 0..size, shape (points, size + 1)."""
    counts = np.arange(size + 1.0)
    logs = _log_ways(size) + xlogy(counts, p[:, None]) + xlogy(size - counts, q[:, None])
    return np.asarray(np.exp(logs), dtype=np.float64)


@lru_cache(maxsize=64)
def _log_ways(size: int) -> Floats:
    counts = np.arange(size + 1.0)
    ways: Floats = gammaln(size + 1) - gammaln(counts + 1) - gammaln(size - counts + 1)
    return ways


def _counts(sizes: tuple[int, int]) -> tuple[Floats, Floats]:
    first, second = np.meshgrid(np.arange(sizes[0] + 1.0), np.arange(sizes[1] + 1.0), indexing="ij")
    return first, second


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Return the ratio, 0 where nothing varies."""
    out = np.zeros_like(numerator)
    np.divide(numerator, denominator, out=out, where=denominator > 0)
    return out


def _odds_restricted(
    sizes: tuple[int, int], successes: Floats, failures: Floats, value: float
) -> Pairs:
    """Return the pairs of a log odds ratio whose expected successes add up to those given."""
    (n1, n2), ratio = sizes, float(np.exp(value))
    return Pairs(
        p1=_second_probability(n2, n1, successes, failures, 1 / ratio),
        q1=_second_probability(n2, n1, failures, successes, ratio),
        p2=_second_probability(n1, n2, successes, failures, ratio),
        q2=_second_probability(n1, n2, failures, successes, 1 / ratio),
    )


def _second_probability(
    n1: int, n2: int, successes: Floats, failures: Floats, ratio: float
) -> Floats:
    """Return p2 of an odds ratio, given the sum of n1 p1 and n2 p2 and the sum of n1 q1 and n2 q2.

    No term under the root is negative, so no digit cancels there.
    """
    over = n1 - successes
    linear = ratio * over + (n2 + successes)
    both = n1 * n2 + successes * failures
    root = np.sqrt((n2 - successes) ** 2 + 2 * ratio * both + (ratio * over) ** 2)
    return np.where(
        linear >= 0,
        2 * successes / (np.maximum(linear, 0.0) + root),
        (root - linear) / (2 * n2 * (ratio - 1) or 1.0),
    )
