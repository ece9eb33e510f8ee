"""p-values and intervals of several contrasts together: Tukey and the multivariate t.

Each keeps the chance of any false rejection among the contrasts at the level asked for. Tukey's
is for all pairs of means (Kramer's, where their variances differ); the multivariate t is for any
contrasts and uses their correlations (Hothorn, Bretz and Westfall 2008, Biometrical Journal 50,
346).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from analysis.mixed.inference.fixed_effects import ContrastTests
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, require_option

ADJUSTMENTS = ("none", "tukey", "mvt")

#: Directions over which the multivariate t is averaged; its tail along each is exact.
DIRECTIONS = 2**15

#: Cells of size in which directions stand for each other by their mean.
CELLS = 2**11

#: Eigenvalues of a correlation matrix below this are zero.
NULL = 1e-10


@dataclass(frozen=True, slots=True)
class Adjusted:
    """Several tests as a family.

    Attributes
    ----------
    p_values
        Adjusted p-values.
    low, high
        Ends of intervals that hold together at the level.
    """

    p_values: Floats
    low: Floats
    high: Floats


def adjusted(
    tests: ContrastTests,
    method: str,
    conf_level: float,
    *,
    n_means: int | None,
    correlation: Floats,
) -> Adjusted:
    """Return the tests of a family, adjusted for their number.

    Parameters
    ----------
    tests
        The tests, each on its own.
    method
        ``tukey`` or ``mvt``.
    conf_level
        Coverage of all intervals together.
    n_means
        Means of which the contrasts are all pairs, None when they are something else.
    correlation
        Of the contrasts, shape (m, m).
    """
    require_option("adjust", method, ADJUSTMENTS)
    size, df = np.abs(tests.statistics), tests.df
    tail = _tukey(n_means) if method == "tukey" else _largest_t(correlation)
    p_values = np.array([tail(t, each) for t, each in zip(size, df, strict=True)])
    reach = _critical(tail, df, conf_level)
    half = reach * tests.std_errors
    return Adjusted(p_values, tests.estimates - half, tests.estimates + half)


Tail = Callable[[float, float], float]


def _tukey(n_means: int | None) -> Tail:
    """Return the chance that the largest of all pairs' |t| reaches a value."""
    if n_means is None:
        raise DesignError(
            "Tukey's adjustment must be of all pairs of means; these are not.",
            "Ask for pairs=True, or for adjust='mvt'.",
        )
    from scipy.stats import studentized_range

    def tail(t: float, df: float) -> float:
        return float(studentized_range.sf(t * np.sqrt(2), n_means, df))

    return tail


def _largest_t(correlation: Floats) -> Tail:
    """Return the chance that the largest |t| of correlated contrasts reaches a value.

    A normal vector is a direction times an independent length: along a direction the largest
    contrast is a multiple of the length, whose tail over an independent chi is F's. The average
    over quasi-random directions, always the same, leaves about five digits. The tail hardly bends
    within a cell of sizes, so the mean of those in it stands for all.
    """
    from scipy.stats import qmc

    values, vectors = np.linalg.eigh(correlation)
    usable = values > NULL * values.max()
    root = vectors[:, usable] * np.sqrt(values[usable])
    rank = root.shape[1]
    uniform = qmc.Sobol(rank, rng=np.random.default_rng(0)).random(DIRECTIONS)
    normal = special.ndtri(np.clip(uniform, 1e-12, 1 - 1e-12))
    directions = normal / np.linalg.norm(normal, axis=1, keepdims=True)
    sizes = np.abs(directions @ root.T).max(axis=1)
    cell = (sizes * CELLS).astype(int)
    count, total = np.bincount(cell), np.bincount(cell, sizes)
    weights, largest = count[count > 0] / DIRECTIONS, total[count > 0] / count[count > 0]

    def tail(t: float, df: float) -> float:
        squares = (t / largest) ** 2
        if np.isinf(df):
            return float(weights @ special.chdtrc(rank, squares))
        return float(weights @ special.fdtrc(rank, df, squares / rank))

    return tail


def _critical(tail: Tail, df: Floats, conf_level: float) -> Floats:
    """Return the value that the largest |t| exceeds with the chance left, for every df."""
    from scipy.optimize import brentq

    def excess(t: float, df: float) -> float:
        return tail(t, df) - (1 - conf_level)

    # The fewer df, the larger the value: that of more df lies beneath it, or as high but for
    # rounding, and mostly close.
    distinct, place = np.unique(-np.round(df, 6), return_inverse=True)
    values: list[float] = []
    for each_df in -distinct:
        low, high = (0.99 * values[-1], 1.02 * values[-1]) if values else (1e-6, 4.0)
        while excess(high, each_df) > 0:
            low, high = high, 2 * high
        values.append(brentq(excess, low, high, (each_df,), xtol=1e-8))
    return np.array(values)[place]
