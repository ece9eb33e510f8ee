"""Tails and quantiles of the reference distributions, straight from scipy.special.

The distribution objects of scipy.stats give the same numbers and cost a second to import.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from analysis.tidy.frame import Floats


def t_p_value(statistic: Floats, df: Floats) -> Floats:
    """Return the two-sided p-value of t; infinite degrees of freedom are the normal's."""
    size = -np.abs(statistic)
    finite = np.where(np.isfinite(df), df, 1.0)
    tail = np.where(np.isposinf(df), special.ndtr(size), special.stdtr(finite, size))
    return np.asarray(np.where(np.isnan(df), np.nan, 2 * tail), dtype=np.float64)


def t_quantile(probability: float, df: Floats) -> Floats:
    """Return the quantile of t; infinite degrees of freedom are the normal's."""
    finite = np.where(np.isfinite(df), df, 1.0)
    normal = special.ndtri(probability)
    quantile = np.where(np.isposinf(df), normal, special.stdtrit(finite, probability))
    return np.asarray(np.where(np.isnan(df), np.nan, quantile), dtype=np.float64)


def chi_squared_p_value(statistic: float, df: float) -> float:
    """Return the upper tail of chi-squared."""
    return float(special.chdtrc(df, statistic))


def chi_squared_quantile(probability: float, df: float) -> float:
    """Return the quantile of chi-squared."""
    return float(special.chdtri(df, 1 - probability))


def f_p_value(statistic: float, df: float, df_residual: float) -> float:
    """Return the upper tail of F; infinite denominator degrees of freedom are chi-squared's."""
    if np.isinf(df_residual):
        return chi_squared_p_value(df * statistic, df)
    return float(special.fdtrc(df, df_residual, statistic))
