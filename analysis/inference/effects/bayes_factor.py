"""The JZS Bayes factor of a t test: how much likelier the data are with an effect than without.

Rouder and others (2009), Psychonomic Bulletin & Review 16, 225. Above 1 the data speak for the
effect, below 1 against it; a p-value cannot do the second. A row has the natural logarithm of its
factor as well, which is finite where the factor is beyond the largest number, and where
`pingouin.bayesfactor_ttest` (0.7) divides by zero.

>>> import numpy as np, pandas as pd
>>> from analysis.inference import bayes_factor
>>> frame = pd.DataFrame({"y": [0.9, 1.1, 1.3, 0.7, 1.2]})
>>> len(bayes_factor.t_test(frame, value="y"))
1
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from analysis.inference.effects.two_samples import two_samples, varies_within
from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError, DesignError
from analysis.tidy.frame import Floats, numbers, require_rows

#: R's "medium" scale.
EFFECT_SCALE = sqrt(2) / 2

#: Points of log g: the integrand falls like exp(-1 / g) to the left, like 1 / g to the right.
LOG_G = np.arange(-10.0, 90.0, 0.01)


def t_test(
    frame: pd.DataFrame,
    *,
    value: str,
    group: str | None = None,
    null_value: float = 0.0,
    scale: float = EFFECT_SCALE,
) -> pd.DataFrame:
    """Return the JZS Bayes factor of a mean, or of the difference of two means.

    The standardised effect has a Cauchy prior of the given scale; two groups share a variance.

    Parameters
    ----------
    frame
        One row per independent unit: average over models first when labs are the units.
    value
        Column of finite numbers. For pairs, give the differences.
    group
        Column with two levels; without it, the mean of all rows is tested.
    null_value
        Mean, or difference of means, under the null hypothesis.
    scale
        Scale of the prior, in standard deviations.

    Returns
    -------
    One row: `contrast`, `estimate` [standard deviations], `statistic` and `df` of the t test,
    `bayes_factor`, `log_bayes_factor`, `prior_scale`, `n_obs`.

    Raises
    ------
    AnalysisError
        If the scale is not positive.
    ColumnError
        If a column is absent or has missing values.
    DesignError
        If the group has not two levels, or there is no variation within groups.
    """
    _require_scale(scale)
    require_rows(frame, 3 if group else 2, "A t test")
    samples, contrast = _samples(frame, value, group)
    n_obs = sum(len(sample) for sample in samples)
    df = n_obs - len(samples)
    if not varies_within(samples):
        raise DesignError(
            f"Column {value!r} must vary within groups; it does not.",
            "Without variation no effect can be standardised.",
        )
    spread = sqrt(sum(float(((sample - sample.mean()) ** 2).sum()) for sample in samples) / df)
    difference = samples[0].mean() - (samples[1].mean() if group else 0.0) - null_value
    effective = 1 / sum(1 / len(sample) for sample in samples)
    statistic = difference / spread * sqrt(effective)
    return _row(
        term="mean" if group is None else "mean difference",
        contrast=contrast,
        estimate=difference / spread,
        statistic=statistic,
        df=float(df),
        log_bayes_factor=log_jzs(statistic, effective, df, scale=scale),
        prior_scale=scale,
        n_obs=n_obs,
        method="JZS Bayes factor; Cauchy prior on the standardised effect",
    )


def log_jzs(
    statistic: float, effective_n: float, df: float, *, scale: float = EFFECT_SCALE
) -> float:
    """Return the natural logarithm of the JZS Bayes factor that a t statistic implies.

    Equation 1 of Rouder and others (2009), summed over the logarithm of g.

    Parameters
    ----------
    statistic, df
        t and its degrees of freedom.
    effective_n
        n of one sample, n1 n2 / (n1 + n2) of two.
    scale
        Scale of the Cauchy prior, in standard deviations.
    """
    g = np.exp(LOG_G)
    inflation = 1 + effective_n * scale**2 * g
    likelihood = np.log1p(statistic**2 / (df * inflation)) - np.log1p(statistic**2 / df)
    prior = -0.5 * np.log(2 * np.pi) - 0.5 * LOG_G - 0.5 / g
    logs = prior - 0.5 * np.log(inflation) - (df + 1) / 2 * likelihood
    return float(logsumexp(logs) + np.log(LOG_G[1] - LOG_G[0]))


def _samples(frame: pd.DataFrame, value: str, group: str | None) -> tuple[list[Floats], str]:
    if group is None:
        return [numbers(frame, value)], f"mean of {value}"
    first, second, levels = two_samples(frame, value=value, group=group)
    return [first, second], f"mean of {value}: {levels[0]} - {levels[1]}"


def _require_scale(scale: float) -> None:
    if not 0 < scale < np.inf:
        raise AnalysisError(
            f"`scale` must be positive; found {scale!r}.", "R's medium scale is the default."
        )


def _row(*, log_bayes_factor: float, **columns: object) -> pd.DataFrame:
    with np.errstate(over="ignore"):
        factor = float(np.exp(log_bayes_factor))
    note = (
        "" if np.isfinite(factor) else "The factor exceeds the largest number; see its logarithm."
    )
    evidence = {"bayes_factor": factor, "log_bayes_factor": log_bayes_factor}
    result = pd.DataFrame([{**columns, **evidence, "note": note}])
    glossary.checked(result.columns)
    return result
