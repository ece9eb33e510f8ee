"""Bayes factors: how much likelier the data are with an effect than without.

Default priors: JZS for a t test (Rouder and others 2009, Psychonomic Bulletin & Review 16, 225),
a stretched beta for a correlation (Ly, Verhagen and Wagenmakers 2016, Journal of Mathematical
Psychology 72, 19), Gunel and Dickey (1974, Biometrika 61, 545) for a 2x2 table. Above 1 the data
speak for the effect, below 1 against it; a p-value cannot do the second. Every row has the natural
logarithm of its factor as well, which is finite where the factor is beyond the largest number.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import betaln, expit, gammaln, log_expit, logsumexp

from analysis.inference.counts.contingency import odds_contrast, two_by_two
from analysis.inference.effects.two_samples import two_samples, varies_within
from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError, DesignError
from analysis.tidy.frame import Floats, numbers, require_rows, require_variation

#: R's "medium" scales.
EFFECT_SCALE = sqrt(2) / 2
CORRELATION_SCALE = 1 / 3

#: Points of log g: the integrand falls like exp(-1 / g) to the left, like 1 / g to the right.
LOG_G = np.arange(-10.0, 90.0, 0.01)

#: Points of the logit of t: the integrand falls like exp(-|logit|) or faster to either side.
LOGIT_T = np.arange(-50.0, 100.0, 0.01)

#: Tables with given margins that are enumerated at most.
MOST_TABLES = 1_000_000

SAMPLING = ("poisson", "joint multinomial", "independent multinomial", "hypergeometric")


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


def jzs(statistic: float, effective_n: float, df: float, *, scale: float = EFFECT_SCALE) -> float:
    """Return the JZS Bayes factor that a t statistic implies (Rouder and others 2009, eq. 1).

    Parameters
    ----------
    statistic, df
        t and its degrees of freedom.
    effective_n
        n of one sample, n1 n2 / (n1 + n2) of two.
    scale
        Scale of the Cauchy prior, in standard deviations.

    Returns
    -------
    The factor, infinite beyond 1.8e308: see `log_jzs`.
    """
    return _exponential(log_jzs(statistic, effective_n, df, scale=scale))


def log_jzs(
    statistic: float, effective_n: float, df: float, *, scale: float = EFFECT_SCALE
) -> float:
    """Return the natural logarithm of the JZS Bayes factor that a t statistic implies.

    Parameters
    ----------
    statistic, effective_n, df, scale
        As in `jzs`.
    """
    g = np.exp(LOG_G)
    inflation = 1 + effective_n * scale**2 * g
    likelihood = np.log1p(statistic**2 / (df * inflation)) - np.log1p(statistic**2 / df)
    prior = -0.5 * np.log(2 * np.pi) - 0.5 * LOG_G - 0.5 / g
    logs = prior - 0.5 * np.log(inflation) - (df + 1) / 2 * likelihood
    return float(logsumexp(logs) + np.log(LOG_G[1] - LOG_G[0]))


def correlation(
    frame: pd.DataFrame, *, x: str, y: str, scale: float = CORRELATION_SCALE
) -> pd.DataFrame:
    """Return the Bayes factor of a Pearson correlation (Ly and others 2016, equation 25).

    The correlation has a beta(1 / scale, 1 / scale) prior stretched to (-1, 1).

    Parameters
    ----------
    frame
        One row per independent unit.
    x, y
        Columns of finite numbers.
    scale
        Scale of the prior; 1 is uniform.

    Returns
    -------
    One row: `estimate` [-1 to 1], `bayes_factor`, `log_bayes_factor`, `prior_scale`, `n_obs`.

    Raises
    ------
    AnalysisError
        If the scale is not positive.
    ColumnError
        If a column is absent or has missing values.
    DesignError
        If there are fewer than 3 rows or a column is constant, or the correlation is perfect.
    """
    _require_scale(scale)
    require_rows(frame, 3, "A correlation")
    first, second = numbers(frame, x), numbers(frame, y)
    require_variation(first, x)
    require_variation(second, y)
    r = float(stats.pearsonr(first, second).statistic)
    if abs(r) > 1 - 1e-14:
        raise DesignError(
            f"{x!r} and {y!r} must not lie on a line; their correlation is {r:g}.",
            "The Bayes factor is infinite.",
        )
    return _row(
        term=f"{y} ~ {x}",
        estimate=r,
        log_bayes_factor=log_of_correlation(r, len(first), scale=scale),
        prior_scale=scale,
        n_obs=len(first),
        method="Bayes factor of a correlation; stretched beta prior",
    )


def log_of_correlation(r: float, n: int, *, scale: float = CORRELATION_SCALE) -> float:
    """Return the natural logarithm of the Bayes factor that a Pearson correlation implies.

    Equation 25 of Ly and others (2016), its hypergeometric function by Euler's integral over the
    logit of t, so that nothing overflows.

    Parameters
    ----------
    r
        Correlation, between -1 and 1.
    n
        Number of rows, at least 3.
    scale
        Scale of the prior; 1 is uniform.
    """
    a, c = (n - 1) / 2, (n + 2 / scale) / 2
    away = (1 - r) * (1 + r) + r**2 * expit(-LOGIT_T)
    logs = a * log_expit(LOGIT_T) + (c - a) * log_expit(-LOGIT_T) - a * np.log(away)
    hypergeometric = logsumexp(logs) + np.log(LOGIT_T[1] - LOGIT_T[0]) - betaln(a, c - a)
    constant = (1 - 2 / scale) * np.log(2) + np.log(np.pi) / 2 - betaln(1 / scale, 1 / scale)
    return float(constant + gammaln(c - 0.5) - gammaln(c) + hypergeometric)


def contingency(
    frame: pd.DataFrame,
    *,
    row: str | None = None,
    column: str | None = None,
    concentration: float = 1.0,
) -> pd.DataFrame:
    """Return the Gunel-Dickey Bayes factors of a 2x2 table, one per way it can have been sampled.

    Poisson: nothing was fixed; joint multinomial: the total; independent multinomial: the sizes
    of the groups in rows; hypergeometric: both margins. Jamil and others (2017), Behavior
    Research Methods 49, 638.

    Parameters
    ----------
    frame
        Either the counts, groups in rows, or, with `row` and `column`, one row per unit.
    row, column
        Columns with two levels each.
    concentration
        Of the Dirichlet or gamma prior of every cell; 1 is R's default.

    Returns
    -------
    Four rows: `sampling`, `estimate` [sample odds ratio, infinite when a cell is empty],
    `bayes_factor`, `log_bayes_factor`, `prior_scale` (the concentration), `n_obs`.

    Raises
    ------
    AnalysisError
        If the concentration does not exceed 1/2: the marginal priors would have none.
    ColumnError
        If a named column is absent or has missing values, or a count is not a whole number.
    DesignError
        If the table is not 2x2, a margin is zero, or more than a million tables have its margins.
    """
    if not 0.5 < concentration < np.inf:
        raise AnalysisError(
            f"`concentration` must exceed 0.5; found {concentration!r}.",
            "1 gives every table of probabilities the same weight.",
        )
    counts = two_by_two(frame, row, column)
    _require_few_tables(counts)
    logs = _gunel_dickey(counts.to_numpy().astype(np.float64), concentration)
    (a, b), (c, d) = counts.to_numpy().tolist()
    result = pd.concat(
        [
            _row(
                term="odds ratio",
                contrast=odds_contrast(counts),
                estimate=a * d / (b * c) if b * c else float("inf"),
                sampling=plan,
                log_bayes_factor=logs[plan],
                prior_scale=concentration,
                n_obs=a + b + c + d,
                method="Gunel-Dickey Bayes factor of a 2x2 table",
            )
            for plan in SAMPLING
        ],
        ignore_index=True,
    )
    glossary.checked(result.columns)
    return result


def _samples(frame: pd.DataFrame, value: str, group: str | None) -> tuple[list[Floats], str]:
    if group is None:
        return [numbers(frame, value)], f"mean of {value}"
    first, second, levels = two_samples(frame, value=value, group=group)
    return [first, second], f"mean of {value}: {levels[0]} - {levels[1]}"


def _gunel_dickey(cells: Floats, concentration: float) -> dict[str, float]:
    """Return the log Bayes factor for dependence under every sampling plan.

    The marginal priors have concentration 2a - 1 in each of the two rows and columns.
    """
    n, prior = float(cells.sum()), np.full((2, 2), concentration)
    margin = np.full(2, 2 * concentration - 1)
    rows, columns = cells.sum(axis=1), cells.sum(axis=0)
    dependent = _log_dirichlet(cells + prior) - _log_dirichlet(prior)
    of_rows = _log_dirichlet(rows + margin) - _log_dirichlet(margin)
    of_columns = _log_dirichlet(columns + margin) - _log_dirichlet(margin)
    joint = dependent - of_rows - of_columns

    within_rows = sum(
        _log_dirichlet(cells[row] + prior[row]) - _log_dirichlet(prior[row]) for row in (0, 1)
    )
    total = 4 * concentration
    rate = total / n
    marginal_total = total - 1
    poisson = (
        joint
        + gammaln(n + total)
        - gammaln(total)
        - gammaln(n + marginal_total)
        + gammaln(marginal_total)
        - np.log1p(1 / rate)
    )
    return {
        "poisson": float(poisson),
        "joint multinomial": float(joint),
        "independent multinomial": float(within_rows - of_columns),
        "hypergeometric": _log_hypergeometric(cells, concentration),
    }


def _log_hypergeometric(cells: Floats, concentration: float) -> float:
    """Return the log Bayes factor given both margins: of the first cell alone."""
    rows, first = cells.sum(axis=1), float(cells[:, 0].sum())
    support = np.arange(max(0.0, first - rows[1]), min(rows[0], first) + 1)
    tables = np.array([support, rows[0] - support, first - support, rows[1] - first + support])
    ways = -gammaln(tables + 1).sum(axis=0)
    dependent = ways + gammaln(tables + concentration).sum(axis=0)
    found = int(cells[0, 0] - support[0])
    posterior = dependent[found] - logsumexp(dependent)
    return float(posterior - (ways[found] - logsumexp(ways)))


def _require_few_tables(counts: pd.DataFrame) -> None:
    cells = counts.to_numpy()
    possible = int(min(cells.sum(axis=0).min(), cells.sum(axis=1).min())) + 1
    if possible > MOST_TABLES:
        raise DesignError(
            f"At most {MOST_TABLES} tables with these margins are enumerated; there are "
            f"{possible}.",
            "With so many units the interval of the odds ratio says all there is to know.",
        )


def _log_dirichlet(concentrations: Floats) -> float:
    """Return the log of the Dirichlet normalising constant."""
    return float(gammaln(concentrations).sum() - gammaln(concentrations.sum()))


def _require_scale(scale: float) -> None:
    if not 0 < scale < np.inf:
        raise AnalysisError(
            f"`scale` must be positive; found {scale!r}.", "R's medium scale is the default."
        )


def _row(*, log_bayes_factor: float, **columns: object) -> pd.DataFrame:
    factor = _exponential(log_bayes_factor)
    note = (
        "" if np.isfinite(factor) else "The factor exceeds the largest number; see its logarithm."
    )
    evidence = {"bayes_factor": factor, "log_bayes_factor": log_bayes_factor}
    result = pd.DataFrame([{**columns, **evidence, "note": note}])
    glossary.checked(result.columns)
    return result


def _exponential(logarithm: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp(logarithm))
