"""Equivalence: two one-sided tests that an effect lies within stated bounds.

A large p-value does not show the absence of an effect; a small one here does show that it lies
between the bounds (Schuirmann 1987, Journal of Pharmacokinetics and Biopharmaceutics 15, 657).
The p-value is the larger of the two one-sided ones; the interval has level 1 - 2 alpha, and lies
within the bounds exactly when p is below alpha.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy

from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError, DesignError
from analysis.tidy.frame import numbers, require_columns, require_conf_level


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

    Examples
    --------
    >>> import pandas as pd
    >>> import thermoscope as ts
    >>> frame = pd.DataFrame({"x": [1.0, 2, 3, 4, 5, 6], "g": [*"aabbcc"]})
    >>> frame["y"] = [1.1, 1.9, 3.2, 3.9, 5.3, 5.8]
    >>> terms = ts.least_squares(frame, "y ~ x").tidy()
    >>> ts.equivalence_test(terms, low=0.5, high=1.5)["p_value"].round(4).tolist()
    [0.9429, 0.0004]
    """
    _require_bounds(low, high, alpha)
    require_columns(terms, ["term"])
    centre, std_error = numbers(terms, "estimate"), numbers(terms, "std_error")
    require_columns(terms, ["df"])
    unlimited = (terms["df"] == np.inf).fillna(False).astype(bool)
    finite = terms.assign(df=terms["df"].mask(unlimited, 0.0))
    df = np.where(unlimited, np.inf, numbers(finite, "df"))
    if (std_error <= 0).any() or (df <= 0).any():
        raise DesignError(
            "Standard errors and degrees of freedom must be positive; the smallest are "
            f"{float(std_error.min())!r} and {float(df.min())!r}.",
            "Drop the terms that could not be estimated.",
        )
    above, below = (centre - low) / std_error, (centre - high) / std_error
    p_above, p_below = scipy.stats.t.sf(above, df), scipy.stats.t.cdf(below, df)
    reach = scipy.stats.t.isf(alpha, df) * std_error
    result = pd.DataFrame(
        {
            "term": terms["term"].to_numpy(),
            "estimate": centre,
            "std_error": std_error,
            "bound_low": low,
            "bound_high": high,
            "statistic": np.where(p_above >= p_below, above, below),
            "df": df,
            "p_value": np.maximum(p_above, p_below),
            "conf_low": centre - reach,
            "conf_high": centre + reach,
            "conf_level": 1 - 2 * alpha,
            "method": "Two one-sided t tests",
            "note": "",
        }
    )
    for name in ("n_obs", "n_groups"):
        if name in terms.columns:
            result[name] = terms[name].to_numpy()
    return glossary.table(result)


def _require_bounds(low: float, high: float, alpha: float) -> None:
    if not low < high:
        raise AnalysisError(
            f"Bounds must be low < high; found {low!r} and {high!r}.",
            "State them before looking at the data: the smallest effect that would matter.",
        )
    require_conf_level(1 - alpha)
    if not alpha < 0.5:
        raise AnalysisError(f"`alpha` must be below 0.5; found {alpha!r}.", "Five percent is 0.05.")
