"""Meta-analysis: one estimate per suite, pooled, with how much suites differ.

The common-effect model supposes one effect behind all estimates; the random-effects model a
normal distribution of effects with variance tau squared (DerSimonian and Laird 1986; REML:
Viechtbauer 2005, Journal of Educational and Behavioral Statistics 30, 261). With few suites the
Hartung-Knapp test keeps its size, the normal one does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats
from scipy.optimize import brentq

from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import (
    FEW_GROUPS,
    LEAST_SPREAD,
    Floats,
    numbers,
    require_conf_level,
    require_option,
)

MODELS = ("random", "common")
VARIANCES = ("reml", "dersimonian-laird")
TESTS = ("hartung-knapp", "normal")

#: Values of tau squared tried before the best is refined, as shares of the largest plausible.
TRIED = np.concatenate([[0.0], np.geomspace(1e-8, 1.0, 161)])


@dataclass(frozen=True, slots=True)
class Effects:
    """Estimates of k studies.

    Attributes
    ----------
    estimates
        Shape (k,).
    variances
        Squares of their standard errors, shape (k,).
    """

    estimates: Floats
    variances: Floats

    def pooled(self, tau_squared: float) -> float:
        """Return the weighted mean with weights 1 / (variance + tau squared)."""
        return float(np.average(self.estimates, weights=1 / (self.variances + tau_squared)))

    def heterogeneity(self, tau_squared: float) -> float:
        """Return the weighted sum of squares about the weighted mean (Cochran's Q at 0)."""
        deviations = self.estimates - self.pooled(tau_squared)
        return float((deviations**2 / (self.variances + tau_squared)).sum())


def pool(
    suites: pd.DataFrame,
    *,
    estimate: str = "estimate",
    std_error: str = "std_error",
    model: str = "random",
    variance: str = "reml",
    test: str = "hartung-knapp",
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Return the pooled estimate with its test, heterogeneity and prediction interval.

    Parameters
    ----------
    suites
        One row per independent study, such as a suite.
    estimate, std_error
        Columns with the estimates and their standard errors.
    model
        ``random`` or ``common``; the common-effect model is always tested with the normal.
    variance
        Of tau squared: ``reml`` or ``dersimonian-laird``.
    test
        ``hartung-knapp``, with t(k - 1), or ``normal``.
    conf_level
        Nominal coverage of all intervals.

    Returns
    -------
    One row: `estimate`, `std_error`, `statistic`, `df`, `p_value`, the interval,
    `predicted_low`, `predicted_high` (for the true effect of a new suite; missing for a common
    effect), `tau_squared` with the ends of its Q-profile interval, `q_statistic` and its
    p-value `p_value_q` (chi-squared, k - 1), `i_squared` [share], `n_groups` (k).

    Raises
    ------
    ColumnError
        If a column is absent or has missing values.
    DesignError
        If there are fewer than two rows or a standard error is not positive.
    """
    require_option("model", model, MODELS)
    require_option("variance", variance, VARIANCES)
    require_option("test", test, TESTS)
    require_conf_level(conf_level)
    effects = _effects(suites, estimate, std_error)
    if model == "random":
        tau_squared = {"reml": reml, "dersimonian-laird": dersimonian_laird}[variance](effects)
    else:
        tau_squared, test = 0.0, "normal"
    row = _tested(effects, tau_squared, test, conf_level, predicting=model == "random")
    k = len(effects.estimates)
    low, high = _tau_squared_interval(effects, conf_level)
    q_statistic = effects.heterogeneity(0.0)
    result = pd.DataFrame(
        [
            {
                "term": "pooled estimate",
                **row,
                "conf_level": conf_level,
                "tau_squared": tau_squared if model == "random" else np.nan,
                "tau_squared_low": low if model == "random" else np.nan,
                "tau_squared_high": high if model == "random" else np.nan,
                "q_statistic": q_statistic,
                "p_value_q": float(stats.chi2.sf(q_statistic, k - 1)),
                "i_squared": _i_squared(effects, tau_squared, model),
                "n_obs": k,
                "n_groups": k,
                "method": _name(model, variance, test),
                "note": f"Only {k} studies: tau squared is poorly known." if k < FEW_GROUPS else "",
            }
        ]
    )
    glossary.checked(result.columns)
    return result


def dersimonian_laird(effects: Effects) -> float:
    """Return the moment estimate of tau squared, (Q - (k - 1)) / C, not below 0."""
    excess = effects.heterogeneity(0.0) - (len(effects.estimates) - 1)
    return max(0.0, excess / _scale(1 / effects.variances))


def reml(effects: Effects) -> float:
    """Return the restricted maximum likelihood estimate of tau squared.

    The likelihood can have several maxima: a grid finds the highest, the root of its derivative
    refines it.
    """
    grid = TRIED * 10 * (float(effects.estimates.var(ddof=1)) + float(effects.variances.max()))
    best = int(np.argmax([_restricted_likelihood(effects, value) for value in grid]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    slopes = _restricted_slope(effects, low), _restricted_slope(effects, high)
    if slopes[0] <= 0:
        return float(low)
    if slopes[1] >= 0:
        return float(high)
    return float(
        brentq(lambda value: _restricted_slope(effects, value), low, high, xtol=1e-300, rtol=1e-14)
    )


def _effects(suites: pd.DataFrame, estimate: str, std_error: str) -> Effects:
    estimates, errors = numbers(suites, estimate), numbers(suites, std_error)
    if len(estimates) < 2:
        raise DesignError(
            f"A meta-analysis needs at least two studies; found {len(estimates)}.",
            "Differences between studies cannot be seen from one.",
        )
    if (errors < LEAST_SPREAD).any():
        raise DesignError(
            f"Standard errors must be positive; the smallest is {float(errors.min())!r}.",
            "A suite of one model has no standard error: leave it out, and say so.",
        )
    return Effects(estimates, errors**2)


def _tested(
    effects: Effects, tau_squared: float, test: str, conf_level: float, *, predicting: bool
) -> dict[str, float]:
    """Return the pooled estimate, its test, interval and prediction interval.

    Hartung-Knapp multiplies the variance by the weighted mean square about the pooled estimate
    (Hartung and Knapp 2001, Statistics in Medicine 20, 3875); not truncated at 1.
    """
    k = len(effects.estimates)
    estimate = effects.pooled(tau_squared)
    squared_error = 1 / float((1 / (effects.variances + tau_squared)).sum())
    df = np.inf
    if test == "hartung-knapp":
        squared_error *= effects.heterogeneity(tau_squared) / (k - 1)
        df = float(k - 1)
    if squared_error <= 0:
        raise DesignError(
            f"The estimates must differ for a Hartung-Knapp test; all {k} are equal.",
            "Use test='normal'.",
        )
    std_error = np.sqrt(squared_error)
    quantile = float(stats.t.isf((1 - conf_level) / 2, df))
    spread = quantile * np.sqrt(squared_error + tau_squared)
    return {
        "estimate": estimate,
        "std_error": float(std_error),
        "statistic": float(estimate / std_error),
        "df": df,
        "p_value": float(2 * stats.t.sf(abs(estimate / std_error), df)),
        "conf_low": float(estimate - quantile * std_error),
        "conf_high": float(estimate + quantile * std_error),
        "predicted_low": float(estimate - spread) if predicting else np.nan,
        "predicted_high": float(estimate + spread) if predicting else np.nan,
    }


def _scale(weights: Floats) -> float:
    return float(weights.sum() - (weights**2).sum() / weights.sum())


def _i_squared(effects: Effects, tau_squared: float, model: str) -> float:
    """Return the share of variance due to differences (Higgins and Thompson 2002)."""
    k = len(effects.estimates)
    if model == "common":
        q_statistic = effects.heterogeneity(0.0)
        return max(0.0, 1 - (k - 1) / q_statistic) if q_statistic > 0 else 0.0
    typical = (k - 1) / _scale(1 / effects.variances)
    return tau_squared / (tau_squared + typical)


def _restricted_likelihood(effects: Effects, tau_squared: float) -> float:
    """Return twice the restricted log-likelihood, up to a constant."""
    total = effects.variances + tau_squared
    return -(
        float(np.log(total).sum())
        + float(np.log((1 / total).sum()))
        + effects.heterogeneity(tau_squared)
    )


def _restricted_slope(effects: Effects, tau_squared: float) -> float:
    """Return the derivative of twice the restricted log-likelihood by tau squared."""
    weights = 1 / (effects.variances + tau_squared)
    deviations = effects.estimates - effects.pooled(tau_squared)
    squares = float((weights**2 * deviations**2).sum())
    return squares - float(weights.sum()) + float((weights**2).sum() / weights.sum())


def _tau_squared_interval(effects: Effects, conf_level: float) -> tuple[float, float]:
    """Return the tau squared at which Q has its tail levels (Viechtbauer 2007, Q-profile)."""
    df = len(effects.estimates) - 1
    alpha = (1 - conf_level) / 2
    high, low = (
        _falling_root(effects.heterogeneity, float(quantile))
        for quantile in (stats.chi2.ppf(alpha, df), stats.chi2.isf(alpha, df))
    )
    return low, high


def _falling_root(falling: Callable[[float], float], target: float) -> float:
    """Return where a falling function of tau squared meets a target, 0 if it starts below."""
    if falling(0.0) <= target:
        return 0.0
    high = 1.0
    while falling(high) > target:
        high *= 2
    return float(brentq(lambda value: falling(value) - target, 0.0, high, xtol=1e-300, rtol=1e-14))


def _name(model: str, variance: str, test: str) -> str:
    if model == "common":
        return "Common-effect meta-analysis; inverse variance weights; normal test"
    reference = "Hartung-Knapp t(k - 1)" if test == "hartung-knapp" else "normal test"
    estimator = "REML" if variance == "reml" else "DerSimonian-Laird"
    return f"Random-effects meta-analysis; {estimator} tau squared; {reference}"
