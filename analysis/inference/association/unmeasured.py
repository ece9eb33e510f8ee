"""How strong something unmeasured would have to be to explain a regression coefficient away.

Cinelli and Hazlett (2020), Journal of the Royal Statistical Society B 82, 39: an omitted trait
biases a coefficient by std_error sqrt(df) sqrt(R_y^2 R_d^2 / (1 - R_d^2)), where R_d^2 is its
partial R squared with the predictor and R_y^2 with the response. The robustness value is the R
squared which, with both, would bring the estimate to zero (or to where its interval reaches zero).
The E-value says the same as a risk ratio, for a response cut in two (VanderWeele and Ding 2017,
Annals of Internal Medicine 167, 268): the association that the trait would need with both.

>>> import numpy as np, pandas as pd
>>> from analysis.inference import unmeasured
>>> round(unmeasured.partial_r_squared(statistic=2.0, df=16.0), 3)
0.2
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy import stats

from analysis.tidy.errors import AnalysisError

#: Log risk ratio per standard deviation of the response (Chinn 2000; VanderWeele and Ding).
LOG_RATIO = 0.91


@dataclass(frozen=True, slots=True)
class Trait:
    """An unmeasured trait by what it explains of what the model leaves.

    Attributes
    ----------
    treatment, outcome
        Partial R squared with the predictor, and with the response given it.
    """

    treatment: float
    outcome: float


def partial_r_squared(statistic: float, df: float) -> float:
    """Return the share of the response's remaining variance that a predictor explains."""
    return statistic**2 / (statistic**2 + df)


def robustness_value(
    statistic: float, df: float, *, q: float = 1.0, alpha: float | None = None
) -> float:
    """Return the partial R squared that a trait needs with both predictor and response.

    Parameters
    ----------
    statistic, df
        t of the coefficient, and its residual degrees of freedom.
    q
        Share of the estimate to be explained away.
    alpha
        Level at which the rest must stop to be significant; None for the estimate itself.

    Raises
    ------
    AnalysisError
        If there are fewer than two degrees of freedom.
    """
    if df < 2:
        raise AnalysisError(
            f"A robustness value needs two degrees of freedom or more; there are {df}.",
            "Use fewer predictors.",
        )
    f = q * abs(statistic) / math.sqrt(df)
    critical = 0.0
    if alpha is not None:
        critical = float(stats.t.isf(alpha / 2, df - 1)) / math.sqrt(df - 1)
    beyond = f - critical
    if beyond <= 0:
        return 0.0
    if critical > 0 and f > 1 / critical:
        return (f**2 - critical**2) / (1 + f**2)
    return (math.sqrt(beyond**4 + 4 * beyond**2) - beyond**2) / 2


def adjusted(estimate: float, std_error: float, df: float, trait: Trait) -> tuple[float, float]:
    """Return the coefficient and its standard error were a trait measured that weakens it."""
    outside = 1 - trait.treatment
    bias = std_error * math.sqrt(df) * math.sqrt(trait.outcome * trait.treatment / outside)
    error = std_error * math.sqrt((1 - trait.outcome) / outside * df / (df - 1))
    return math.copysign(1, estimate) * (abs(estimate) - bias), error


def like_a_benchmark(treatment: float, outcome: float, *, times: float = 1.0) -> Trait:
    """Return a trait that is so many times as strong as a measured predictor.

    Parameters
    ----------
    treatment, outcome
        Partial R squared of the measured predictor with the predictor of interest, and with the
        response given that.
    times
        How many times as strong, for both.

    Raises
    ------
    AnalysisError
        If no trait can be as strong.
    """
    bound = times * treatment / (1 - treatment)
    overlap = times * treatment**2 / ((1 - times * treatment) * (1 - treatment))
    if not (0 <= bound < 1 and 0 <= overlap < 1):
        raise AnalysisError(
            f"A trait cannot be {times:g} times as strong as one with partial R squared "
            f"{treatment:.3g}: it would explain the predictor wholly.",
            "Ask for fewer times.",
        )
    scaled = (math.sqrt(times) + math.sqrt(overlap)) ** 2 / (1 - overlap)
    return Trait(bound, min(1.0, scaled * outcome / (1 - outcome)))


def e_value(risk_ratio: float) -> float:
    """Return the risk ratio that a trait needs with predictor and response alike."""
    ratio = max(risk_ratio, 1 / risk_ratio)
    return ratio + math.sqrt(ratio * (ratio - 1))


def e_values(estimate: float, low: float, high: float, deviation: float) -> tuple[float, float]:
    """Return the E-values of a difference of means and of the end of its interval nearest zero.

    Parameters
    ----------
    estimate, low, high
        Difference and interval [unit of the response].
    deviation
        Standard deviation of the response [its unit].
    """
    nearest = 0.0 if low <= 0 <= high else min((low, high), key=abs)
    found = [e_value(math.exp(LOG_RATIO * each / deviation)) for each in (estimate, nearest)]
    return found[0], found[1]
