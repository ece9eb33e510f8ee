"""Correlation: Pearson, Spearman, partial, and what a printed r and n imply.

Rows are taken as independent. When they are not (models of one suite), resample the
suites instead: `analysis.inference.resampling.bootstrap`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, factorial, lgamma, sqrt
from numbers import Real

import numpy as np
import pandas as pd
import scipy

from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError, ColumnError, DesignError
from analysis.tidy.extra import extra
from analysis.tidy.frame import (
    Floats,
    numbers,
    require_conf_level,
    require_option,
    require_rows,
    require_variation,
)

METHODS = ("pearson", "spearman")
ENGINES = ("residuals", "pingouin")

#: Variance of Fisher's z, times (n - 3).
PEARSON_VARIANCE = 1.0
FIELLER_VARIANCE = 1.06

#: Rows up to which Spearman's p counts every order of them.
EXACT_SPEARMAN_ROWS = 9

#: Orders that are looked at together.
BATCH = 50_000

#: A correlation this close to 1 or -1 is perfect up to rounding.
ROUNDING = 1e-14


def correlate(
    frame: pd.DataFrame, *, x: str, y: str, method: str = "pearson", conf_level: float = 0.95
) -> pd.DataFrame:
    """Return the correlation of two columns with its test and interval.

    Pearson: t test with n - 2 degrees of freedom and Fisher's z interval, variance 1/(n - 3).
    Spearman: p by scipy, of all n! orders up to n = 9 (ties kept, |rho| rule), beyond that the t
    approximation, at least the 2/n! of a perfect order. Interval by Fisher's z with the variance
    1.06/(n - 3) of Fieller, Hartley and Pearson (1957), Biometrika 44, 470.

    Parameters
    ----------
    frame
        One row per independent unit.
    x, y
        Columns of finite numbers.
    method
        ``pearson`` or ``spearman``.
    conf_level
        Nominal coverage of the interval.

    Returns
    -------
    One row: `term`, `estimate` [-1 to 1], `statistic` and `df` of the t test (missing
    when p is exact), `p_value`, the interval, `n_obs`, `method`, `note`.

    Raises
    ------
    ColumnError
        If a column is absent or holds text, missing or infinite values.
    DesignError
        If there are fewer than 3 rows or a column is constant.

    Examples
    --------
    >>> import pandas as pd
    >>> import thermoscope as ts
    >>> frame = pd.DataFrame({"x": [1.0, 2, 3, 4, 5, 6], "g": [*"aabbcc"]})
    >>> frame["y"] = [1.1, 1.9, 3.2, 3.9, 5.3, 5.8]
    >>> round(ts.correlate(frame, x="x", y="y")["estimate"].item(), 3)
    0.994
    """
    require_option("method", method, METHODS)
    first, second = numbers(frame, x), numbers(frame, y)
    require_rows(frame, 3, "A correlation")
    require_variation(first, x)
    require_variation(second, y)
    if method == "pearson":
        estimate = _round(scipy.stats.pearsonr(first, second).statistic)
        return _row(
            f"{y} ~ {x}",
            estimate,
            n=len(frame),
            covariates=0,
            conf_level=conf_level,
            method="Pearson correlation",
        )
    return _spearman_row(f"{y} ~ {x}", first, second, conf_level)


def partial(
    frame: pd.DataFrame,
    *,
    x: str,
    y: str,
    covariates: Sequence[str],
    conf_level: float = 0.95,
    engine: str = "residuals",
) -> pd.DataFrame:
    """Return the Pearson correlation of two columns after removing covariates from both.

    The t test has n - 2 - k degrees of freedom for k covariates; the interval is Fisher's z with
    the variance 1/(n - 3 - k), computed here because pingouin rounds its own to two places.

    Parameters
    ----------
    frame
        One row per independent unit.
    x, y, covariates
        Columns of finite numbers, all different.
    conf_level
        Nominal coverage of the interval.
    engine
        What computes the estimate: ``residuals``, the correlation of what least squares leaves of
        x and y, or ``pingouin``, which agrees with it and whose import takes seconds.

    Returns
    -------
    One row with the columns of `correlate`.

    Raises
    ------
    AnalysisError
        If there is no such engine.
    ColumnError
        If a column is absent, named twice, or holds text, missing or infinite values.
    DesignError
        If there are fewer than 3 + k rows, a column is constant, or the covariates explain
        x or y, or one another, completely.

    Examples
    --------
    >>> import pandas as pd
    >>> import thermoscope as ts
    >>> frame = pd.DataFrame({"x": [1.0, 2, 3, 4, 5, 6], "g": [*"aabbcc"]})
    >>> frame["y"] = [1.1, 1.9, 3.2, 3.9, 5.3, 5.8]
    >>> frame["z"] = [2.0, 1, 4, 3, 6, 5]
    >>> round(ts.partial_correlation(frame, x="x", y="y", covariates=["z"])["estimate"].item(), 3)
    0.997
    """
    require_option("engine", engine, ENGINES)
    names = [x, y, *covariates]
    if len(set(names)) < len(names) or not covariates:
        raise ColumnError(
            f"A partial correlation needs x, y and at least one other column; found {names}.",
            "Name each column once.",
        )
    require_rows(frame, 3 + len(covariates), "A partial correlation")
    columns = pd.DataFrame({name: numbers(frame, name) for name in names})
    for name in names:
        require_variation(columns[name].to_numpy(), name)
    standardised = (columns - columns.mean()) / columns.std()
    if np.linalg.matrix_rank(standardised.to_numpy()) < columns.shape[1]:
        raise _dependent([str(name) for name in columns])
    estimate = (_pingouin_correlation if engine == "pingouin" else _residual_correlation)(
        standardised
    )
    return _row(
        f"{y} ~ {x} | {' + '.join(covariates)}",
        _round(estimate),
        n=len(frame),
        covariates=len(covariates),
        conf_level=conf_level,
        method="Partial correlation",
    )


def from_summary(r: float, n: int, *, conf_level: float = 0.95) -> pd.DataFrame:
    """Return the p-value and interval that a printed Pearson r with n rows implies.

    A printed r is rounded: call it for both ends of the rounding interval before calling a
    printed p wrong.

    Parameters
    ----------
    r
        Printed correlation.
    n
        Printed number of rows.
    conf_level
        Nominal coverage of the interval.

    Returns
    -------
    One row with the columns of `correlate`.

    Raises
    ------
    AnalysisError
        If r is outside [-1, 1].
    DesignError
        If n is below 3.
    """
    printed: tuple[object, ...] = (r, n)
    for number in printed:
        if not isinstance(number, Real):
            raise AnalysisError(
                f"A printed correlation and its rows are numbers; found {number!r}.",
                "Convert it with float() or int().",
            )
    if not -1 <= r <= 1:
        raise AnalysisError(
            f"A correlation must lie in [-1, 1]; found {r!r}.", "Check the printed value."
        )
    if n % 1 != 0 or n < 3:
        raise DesignError(
            f"A correlation needs a whole number of rows, at least 3; found {n!r}.",
            "Give the number of rows behind r; two points always lie on a line.",
        )
    return _row(
        "printed r",
        float(r),
        n=int(n),
        covariates=0,
        conf_level=conf_level,
        method="Pearson correlation as printed",
    )


def _residual_correlation(standardised: pd.DataFrame) -> float:
    """Return the correlation of the first two columns after least squares on the others."""
    values = standardised.to_numpy()
    pair, others = values[:, :2], values[:, 2:]
    left = pair - others @ np.linalg.lstsq(others, pair, rcond=None)[0]
    return float(left[:, 0] @ left[:, 1] / sqrt(np.prod((left**2).sum(axis=0))))


def _pingouin_correlation(standardised: pd.DataFrame) -> float:
    """Return the same from pingouin."""
    partial_corr = extra("pingouin", "stats", "The engine").partial_corr

    x, y, *others = map(str, standardised.columns)
    # A perfect correlation and 3 + k rows have no interval in pingouin.
    with np.errstate(divide="ignore", invalid="ignore"):
        try:
            return float(partial_corr(standardised, x=x, y=y, covar=others)["r"].iloc[0])
        except ValueError as error:  # A covariate is x or y up to five digits.
            raise _dependent([x, y, *others]) from error


def _dependent(names: list[str]) -> DesignError:
    return DesignError(
        f"No column may be a linear combination of the others; {names} are.",
        "Drop the covariate that repeats another, or that x or y is made of.",
    )


def _row(
    term: str, estimate: float, *, n: int, covariates: int, conf_level: float, method: str
) -> pd.DataFrame:
    """Return the row of a correlation tested with Student's t."""
    df = n - 2 - covariates
    statistic = _t_statistic(estimate, df)
    return _result(
        term=term,
        estimate=estimate,
        statistic=statistic,
        df=float(df),
        p_value=_t_p(estimate, df),
        interval=_fisher_z(estimate, n - 3 - covariates, PEARSON_VARIANCE, conf_level),
        conf_level=conf_level,
        n_obs=n,
        method=f"{method}; t test; Fisher z interval",
        note=_notes(estimate, n - 3 - covariates),
    )


def _spearman_row(term: str, first: Floats, second: Floats, conf_level: float) -> pd.DataFrame:
    n = len(first)
    estimate = _round(
        scipy.stats.pearsonr(scipy.stats.rankdata(first), scipy.stats.rankdata(second)).statistic
    )
    is_exact, nan = n <= EXACT_SPEARMAN_ROWS, float("nan")
    test = "exact permutation p" if is_exact else "t approximation"
    return _result(
        term=term,
        estimate=estimate,
        statistic=nan if is_exact else _t_statistic(estimate, n - 2),
        df=nan if is_exact else float(n - 2),
        p_value=_exact_spearman_p(first, second)
        if is_exact
        else max(_t_p(estimate, n - 2), 2 * exp(-lgamma(n + 1))),
        interval=_fisher_z(estimate, n - 3, FIELLER_VARIANCE, conf_level),
        conf_level=conf_level,
        n_obs=n,
        method=f"Spearman rank correlation; {test}; Fisher z interval, Fieller variance",
        note=_notes(estimate, n - 3),
    )


def _exact_spearman_p(first: Floats, second: Floats) -> float:
    """Return the share of all n! orders whose |rho| reaches the observed."""
    # Whole numbers about their mean, so that equal sums of products are equal.
    ranks, others = (2 * scipy.stats.rankdata(it) - len(it) - 1 for it in (first, second))
    tested = scipy.stats.permutation_test(
        (ranks,),
        lambda ordered, axis: np.abs(ordered @ others),
        permutation_type="pairings",
        vectorized=True,
        n_resamples=factorial(len(ranks)),
        batch=BATCH,
        alternative="greater",
    )
    return float(tested.pvalue)


def _t_statistic(estimate: float, df: int) -> float:
    """Return Student's t of a correlation, infinite for a perfect one."""
    if abs(estimate) == 1:
        return float(np.copysign(np.inf, estimate))
    return estimate * sqrt(df / (1 - estimate**2))


def _t_p(estimate: float, df: int) -> float:
    """Return the two-sided p of `_t_statistic`."""
    return float(2 * scipy.stats.t.sf(abs(_t_statistic(estimate, df)), df))


def _round(estimate: float) -> float:
    perfect = 1 - abs(estimate) < ROUNDING
    return float(np.sign(estimate)) if perfect else float(estimate)


def _fisher_z(
    estimate: float, denominator: int, variance: float, conf_level: float
) -> tuple[float, float]:
    """Return Fisher's z interval; without a degree of freedom it is the whole range."""
    require_conf_level(conf_level)
    if abs(estimate) == 1:
        return estimate, estimate
    if denominator < 1:
        return -1.0, 1.0
    reach = float(scipy.stats.norm.isf((1 - conf_level) / 2)) * sqrt(variance / denominator)
    centre = float(np.arctanh(estimate))
    return float(np.tanh(centre - reach)), float(np.tanh(centre + reach))


def _notes(estimate: float, denominator: int) -> str:
    if abs(estimate) == 1:
        return "Perfect correlation: the interval has no width and says nothing."
    if denominator < 1:
        return "Too few rows for Fisher's z: the interval is the whole range."
    return ""


def _result(*, interval: tuple[float, float], **columns: object) -> pd.DataFrame:
    row = {**columns, "conf_low": interval[0], "conf_high": interval[1]}
    order = [
        "term",
        "estimate",
        "statistic",
        "df",
        "p_value",
        "conf_low",
        "conf_high",
        "conf_level",
        "n_obs",
        "method",
        "note",
    ]
    return glossary.table([row], columns=order)
