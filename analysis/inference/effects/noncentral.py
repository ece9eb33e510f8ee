"""Intervals for a noncentrality: the values at which the statistic found is just not extreme.

Steiger and Fouladi (1997), in What if there were no significance tests?, p. 221.

>>> import numpy as np, pandas as pd
>>> from analysis.inference import noncentral
>>> [round(it, 2) for it in noncentral.noncentrality_t(2.0, 10.0, 0.95)]
[-0.18, 4.1]
"""

from __future__ import annotations

from collections.abc import Callable

import scipy

from analysis.tidy.errors import DesignError

#: Roots are found to this distance.
TOLERANCE = 1e-12


def noncentrality_t(statistic: float, df: float, conf_level: float) -> tuple[float, float]:
    """Return the interval of the noncentrality of a t statistic.

    Parameters
    ----------
    statistic, df
        t and its degrees of freedom.
    conf_level
        Nominal two-sided coverage.

    Raises
    ------
    DesignError
        If the noncentral distribution cannot be computed so far out.
    """

    def cdf(noncentrality: float) -> float:
        return float(scipy.stats.nct.cdf(statistic, df, noncentrality))

    distance = 1.0
    alpha = (1 - conf_level) / 2
    while cdf(statistic - distance) < 1 - alpha or cdf(statistic + distance) > alpha:
        distance *= 2
    bracket = (statistic - distance, statistic + distance)
    return _root(cdf, 1 - alpha, bracket), _root(cdf, alpha, bracket)


def noncentrality_f(
    statistic: float, df: float, df_residual: float, conf_level: float
) -> tuple[float, float]:
    """Return the interval of the noncentrality of an F statistic, at least 0.

    Parameters
    ----------
    statistic, df, df_residual
        F and its degrees of freedom.
    conf_level
        Nominal two-sided coverage.

    Raises
    ------
    DesignError
        If the noncentral distribution cannot be computed so far out.
    """

    def cdf(noncentrality: float) -> float:
        if noncentrality == 0:
            return float(scipy.stats.f.cdf(statistic, df, df_residual))
        return float(scipy.stats.ncf.cdf(statistic, df, df_residual, noncentrality))

    alpha = (1 - conf_level) / 2
    high = (statistic * df) + 1.0
    while cdf(high) > alpha:
        high *= 2
    lower = _root(cdf, 1 - alpha, (0.0, high)) if cdf(0.0) > 1 - alpha else 0.0
    upper = _root(cdf, alpha, (0.0, high)) if cdf(0.0) > alpha else 0.0
    return lower, upper


def _root(cdf: Callable[[float], float], probability: float, bracket: tuple[float, float]) -> float:
    """Return the noncentrality at which the statistic has a probability of this below it."""
    try:
        root = scipy.optimize.brentq(
            lambda value: cdf(value) - probability, *bracket, xtol=TOLERANCE
        )
    except ValueError as error:
        raise DesignError(
            "The interval of a standardised size needs a noncentral distribution that can be "
            f"computed; from noncentrality {bracket[0]:.3g} to {bracket[1]:.3g} it cannot.",
            "Where groups vary so little within, report the difference itself.",
        ) from error
    return float(root)
