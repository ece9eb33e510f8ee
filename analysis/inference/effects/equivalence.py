"""Equivalence: two one-sided tests that an effect lies within stated bounds.

A large p-value does not show the absence of an effect; a small one here does show that it lies
between the bounds (Schuirmann 1987, Journal of Pharmacokinetics and Biopharmaceutics 15, 657).
The p-value is the larger of the two one-sided ones; the interval has level 1 - 2 alpha, and lies
within the bounds exactly when p is below alpha.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import pandas as pd
from scipy import stats

from analysis.inference.effects.two_samples import two_samples
from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError, DesignError
from analysis.tidy.frame import (
    LEAST_SPREAD,
    Floats,
    numbers,
    require_columns,
    require_conf_level,
    require_flags,
    require_rows,
    require_variation,
)


def estimates(terms: pd.DataFrame, *, low: float, high: float, alpha: float = 0.05) -> pd.DataFrame:
    """Return the equivalence test of every estimate with a standard error and t reference.

    For the rows of a mixed model or a regression, whose `tidy` frame it takes as it is.

    Parameters
    ----------
    terms
        One row per term, with `term`, `estimate`, `std_error` and `df` (infinite for a normal).
    low, high
        Bounds within which the effect counts as none, in the unit of the estimates.
    alpha
        Level of each one-sided test.

    Returns
    -------
    One row per term: `bound_low`, `bound_high`, `statistic` (t of the one-sided test with the
    larger p), `df`, `p_value`, the interval of level 1 - 2 alpha, `method`, `note`, and `n_obs`
    and `n_groups` where the frame has them.

    Raises
    ------
    AnalysisError
        If the bounds are not low < high, or alpha is not between 0 and 0.5.
    ColumnError
        If a column is absent or has missing values.
    DesignError
        If a standard error or a number of degrees of freedom is not positive.
    """
    _require_bounds(low, high, alpha)
    require_columns(terms, ["term"])
    centre, std_error = numbers(terms, "estimate"), numbers(terms, "std_error")
    df = _degrees_of_freedom(terms)
    if (std_error <= 0).any() or (df <= 0).any():
        raise DesignError(
            "Standard errors and degrees of freedom must be positive; the smallest are "
            f"{float(std_error.min())!r} and {float(df.min())!r}.",
            "Drop the terms that could not be estimated.",
        )
    result = _result(
        term=terms["term"].to_numpy(),
        centre=centre,
        std_error=std_error,
        df=df,
        bounds=(low, high),
        alpha=alpha,
        method="Two one-sided t tests",
    )
    for name in ("n_obs", "n_groups"):
        if name in terms.columns:
            result[name] = terms[name].to_numpy()
    return result


def means(
    frame: pd.DataFrame,
    *,
    value: str,
    low: float,
    high: float,
    group: str | None = None,
    equal_variance: bool = False,
    alpha: float = 0.05,
) -> pd.DataFrame:
    """Return the equivalence test of a mean, or of the difference of two means.

    Parameters
    ----------
    frame
        One row per independent unit.
    value
        Column of finite numbers. For pairs, give the differences.
    low, high
        Bounds, in the unit of the value.
    group
        Column with two levels: the mean of the first less that of the second. Without it, the
        mean of all rows.
    equal_variance
        Pool the variances (Student) instead of Welch's degrees of freedom.
    alpha
        Level of each one-sided test.

    Returns
    -------
    One row with the columns of `estimates`, `contrast` and `n_obs`.

    Raises
    ------
    AnalysisError
        If the bounds are not low < high, alpha is not between 0 and 0.5, or `equal_variance` is
        neither True nor False.
    ColumnError
        If a column is absent or has missing values.
    DesignError
        If the group has not two levels, or a group has fewer than two rows or no variation.
    """
    _require_bounds(low, high, alpha)
    require_flags(equal_variance=equal_variance)
    if group is None:
        samples, contrast = [numbers(frame, value)], f"mean of {value}"
    else:
        first, second, levels = two_samples(frame, value=value, group=group)
        samples, contrast = [first, second], f"mean of {value}: {levels[0]} - {levels[1]}"
    for sample in samples:
        _require_spread(sample, value)
    centre = samples[0].mean() - (samples[1].mean() if group else 0.0)
    std_error, df = _standard_error(samples, equal_variance)
    result = _result(
        term=np.array(["mean" if group is None else "mean difference"]),
        centre=np.array([centre]),
        std_error=np.array([std_error]),
        df=np.array([df]),
        bounds=(low, high),
        alpha=alpha,
        method=f"Two one-sided {_name(samples, equal_variance)} t tests",
    )
    result.insert(1, "contrast", contrast)
    result["n_obs"] = len(frame)
    glossary.checked(result.columns)
    return result


def correlation(
    frame: pd.DataFrame, *, x: str, y: str, low: float, high: float, alpha: float = 0.05
) -> pd.DataFrame:
    """Return the equivalence test of a Pearson correlation, on Fisher's z scale.

    Parameters
    ----------
    frame
        One row per independent unit.
    x, y
        Columns of finite numbers.
    low, high
        Bounds of the correlation, between -1 and 1.
    alpha
        Level of each one-sided test.

    Returns
    -------
    One row with the columns of `estimates` and `n_obs`; `std_error` is that of Fisher's z,
    1 / sqrt(n - 3), and `statistic` is normal; estimate, bounds and interval are correlations.

    Raises
    ------
    AnalysisError
        If the bounds are not -1 < low < high < 1, or alpha is not between 0 and 0.5.
    ColumnError
        If a column is absent or has missing values.
    DesignError
        If there are fewer than 4 rows or a column is constant.
    """
    _require_bounds(low, high, alpha)
    if not -1 < low < high < 1:
        raise AnalysisError(
            f"Bounds of a correlation must lie between -1 and 1; found {low!r} and {high!r}.",
            "Such as low=-0.3, high=0.3.",
        )
    require_rows(frame, 4, "The equivalence test of a correlation")
    first, second = numbers(frame, x), numbers(frame, y)
    require_variation(first, x)
    require_variation(second, y)
    r = float(np.clip(stats.pearsonr(first, second).statistic, -1.0, 1.0))
    with np.errstate(divide="ignore"):
        centre = np.arctanh(r)
    result = _result(
        term=np.array([f"{y} ~ {x}"]),
        centre=np.array([centre]),
        std_error=np.array([1 / sqrt(len(first) - 3)]),
        df=np.array([np.inf]),
        bounds=(float(np.arctanh(low)), float(np.arctanh(high))),
        alpha=alpha,
        method="Two one-sided tests of Fisher's z",
    )
    on_scale = ["estimate", "bound_low", "bound_high", "conf_low", "conf_high"]
    result[on_scale] = np.tanh(result[on_scale])
    result["n_obs"] = len(first)
    return result


def _result(
    *,
    term: np.ndarray,
    centre: Floats,
    std_error: Floats,
    df: Floats,
    bounds: tuple[float, float],
    alpha: float,
    method: str,
) -> pd.DataFrame:
    above = (centre - bounds[0]) / std_error
    below = (centre - bounds[1]) / std_error
    p_above, p_below = stats.t.sf(above, df), stats.t.cdf(below, df)
    reach = stats.t.isf(alpha, df) * std_error
    result = pd.DataFrame(
        {
            "term": term,
            "estimate": centre,
            "std_error": std_error,
            "bound_low": bounds[0],
            "bound_high": bounds[1],
            "statistic": np.where(p_above >= p_below, above, below),
            "df": df,
            "p_value": np.maximum(p_above, p_below),
            "conf_low": centre - reach,
            "conf_high": centre + reach,
            "conf_level": 1 - 2 * alpha,
            "method": method,
            "note": "",
        }
    )
    glossary.checked(result.columns)
    return result


def _standard_error(samples: list[Floats], equal_variance: bool) -> tuple[float, float]:
    """Return the standard error of the mean or difference, and its degrees of freedom."""
    sizes = np.array([len(sample) for sample in samples])
    variances = np.array([sample.var(ddof=1) for sample in samples])
    free = sizes - 1
    if equal_variance or len(samples) == 1:
        pooled = float((free * variances).sum() / free.sum())
        return sqrt(pooled * float((1 / sizes).sum())), float(free.sum())
    shares = variances / sizes
    return sqrt(float(shares.sum())), float(shares.sum() ** 2 / (shares**2 / free).sum())


def _name(samples: list[Floats], equal_variance: bool) -> str:
    if len(samples) == 1:
        return "one-sample"
    return "Student" if equal_variance else "Welch"


def _degrees_of_freedom(frame: pd.DataFrame) -> Floats:
    """Return df, infinite values allowed."""
    require_columns(frame, ["df"])
    unlimited = (frame["df"] == np.inf).fillna(False).astype(bool)
    finite = frame.assign(df=frame["df"].mask(unlimited, 0.0))
    return np.where(unlimited, np.inf, numbers(finite, "df"))


def _require_bounds(low: float, high: float, alpha: float) -> None:
    if not low < high:
        raise AnalysisError(
            f"Bounds must be low < high; found {low!r} and {high!r}.",
            "State them before looking at the data: the smallest effect that would matter.",
        )
    require_conf_level(1 - alpha)
    if not alpha < 0.5:
        raise AnalysisError(
            f"`alpha` must be below 0.5; found {alpha!r}.", "Five per cent is 0.05."
        )


def _require_spread(sample: Floats, value: str) -> None:
    if len(sample) < 2 or np.ptp(sample) < LEAST_SPREAD:
        raise DesignError(
            f"Every group needs two rows of {value!r} or more that differ; one has {len(sample)} "
            "rows of one value.",
            "Its standard error cannot be estimated.",
        )
