"""Exact inference for counts: Fisher's test of a 2x2 table, and one proportion.

Conventions are those of R's fisher.test, except that interval ends are found to machine
precision (R's stop at a tolerance of 1e-4 on the odds scale).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real

import numpy as np
import pandas as pd
import scipy

from analysis.inference.counts.contingency import odds_contrast, two_by_two
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, Integers, require_conf_level, require_option

ALTERNATIVES = ("two-sided", "less", "greater")

#: Tables with the same margins that are gone through one by one.
MOST_TABLES = 1_000_000

#: Probabilities this close (relative) to the observed one count as equal, as in R.
RELATIVE_TIE = 1e-7


@dataclass(frozen=True, slots=True)
class ConditionalTable:
    """A 2x2 table given its margins: the distribution of its first cell."""

    support: Integers  #: Values the first cell can take, ascending, shape (k,).
    #: Log of the hypergeometric weight of each value, up to a constant, shape (k,).
    log_weights: Floats
    observed: int  #: Value the first cell takes.

    def probabilities(self, log_odds_ratio: float) -> Floats:
        """Return the noncentral hypergeometric probabilities of the support, shape (k,)."""
        logs = self.log_weights + log_odds_ratio * self.support
        weights = np.exp(logs - logs.max())
        return np.asarray(weights / weights.sum(), dtype=np.float64)

    def at_most(self, log_odds_ratio: float) -> float:
        """Return the probability of the observed value or less."""
        return float(self.probabilities(log_odds_ratio)[self.support <= self.observed].sum())

    def at_least(self, log_odds_ratio: float) -> float:
        """Return the probability of the observed value or more."""
        return float(self.probabilities(log_odds_ratio)[self.support >= self.observed].sum())

    def mean(self, log_odds_ratio: float) -> float:
        """Return the expected first cell."""
        return float(self.probabilities(log_odds_ratio) @ self.support)


def fisher_exact(
    frame: pd.DataFrame,
    *,
    row: str | None = None,
    column: str | None = None,
    alternative: str = "two-sided",
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Return the conditional odds ratio of a 2x2 table with its exact test and interval.

    The estimate maximises the likelihood conditional on both margins (noncentral
    hypergeometric), so it is not ad/bc. The two-sided p sums the probabilities that do not
    exceed the observed one. Fisher (1935); Cornfield (1956).

    Parameters
    ----------
    frame
        Either the counts, two rows by two columns, or, with `row` and `column`, one row per
        independent unit.
    row, column
        Columns with two levels each. Levels stand in category order, else sorted.
    alternative
        ``two-sided``, ``less`` (odds ratio below 1) or ``greater``.
    conf_level
        Nominal coverage of the interval; the exact interval covers at least that.

    Returns
    -------
    One row: `contrast` (which odds over which), `estimate` [odds ratio, 0 or infinite when a
    cell is empty], `p_value`, `smallest_p` for these margins, the interval, `n_obs`.

    Raises
    ------
    ColumnError
        If a named column is absent or has missing values, or a count is not a whole number.
    DesignError
        If the table is not 2x2, a margin is zero, or a million tables or more have its margins.

    Examples
    --------
    >>> import pandas as pd
    >>> import thermoscope as ts
    >>> frame = pd.DataFrame({"lab": [*"aaaabbbb"], "shrinks": [1, 1, 1, 0, 0, 0, 0, 0]})
    >>> round(ts.fisher_test(frame, row="lab", column="shrinks")["p_value"].item(), 4)
    0.1429
    """
    require_option("alternative", alternative, ALTERNATIVES)
    require_conf_level(conf_level)
    counts = two_by_two(frame, row, column)
    table = _conditional(counts.to_numpy())
    low, high = _odds_ratio_interval(table, alternative, conf_level)
    return glossary.table(
        {
            "term": ["odds ratio"],
            "contrast": [odds_contrast(counts)],
            "estimate": [_odds_ratio(table)],
            "null_value": [1.0],
            "p_value": [_p_values(table, alternative)[table.support == table.observed][0]],
            "smallest_p": [_p_values(table, alternative).min()],
            "conf_low": [low],
            "conf_high": [high],
            "conf_level": [conf_level],
            "alternative": [alternative],
            "n_obs": [int(counts.to_numpy().sum())],
            "method": ["Fisher's exact test; conditional maximum likelihood; exact interval"],
            "note": [_note(table)],
        }
    )


def one_sided_p(
    frame: pd.DataFrame, *, row: str | None = None, column: str | None = None
) -> tuple[float, float]:
    """Return the p of the alternatives ``less`` and ``greater``, without the interval.

    Arguments, values and errors are those of `fisher_exact`.
    """
    table = _conditional(two_by_two(frame, row, column).to_numpy())
    at_observed = table.support == table.observed
    less, greater = (_p_values(table, side)[at_observed][0] for side in ("less", "greater"))
    return float(less), float(greater)


def proportion(successes: int, n: int, *, conf_level: float = 0.95) -> pd.DataFrame:
    """Return a proportion with its Clopper-Pearson interval.

    Parameters
    ----------
    successes, n
        Counts, 0 <= successes <= n and n >= 1.
    conf_level
        Nominal coverage of the interval; it covers at least that.

    Returns
    -------
    One row: `estimate` [proportion], the interval, `n_obs`.

    Raises
    ------
    DesignError
        If the counts are not whole numbers in that range.
    """
    require_conf_level(conf_level)
    counts: tuple[object, ...] = (successes, n)
    whole = all(isinstance(count, Real) and count % 1 == 0 for count in counts)
    if not whole or not 0 <= successes <= n or n < 1:
        raise DesignError(
            f"A proportion needs whole numbers 0 <= successes <= n, n >= 1; "
            f"found {successes!r} of {n!r}.",
            "Count units, not shares.",
        )
    # scipy's binomtest finds these quantiles to 2e-12, 5e-9 of the end of 1 in 500.
    alpha = (1 - conf_level) / 2
    failures = n - successes
    low = float(scipy.stats.beta.ppf(alpha, successes, failures + 1)) if successes else 0.0
    high = float(scipy.stats.beta.isf(alpha, successes + 1, failures)) if failures else 1.0
    return glossary.table(
        {
            "term": ["proportion"],
            "estimate": [successes / n],
            "conf_low": [low],
            "conf_high": [high],
            "conf_level": [conf_level],
            "n_obs": [int(n)],
            "method": ["Clopper-Pearson interval"],
            "note": [""],
        }
    )


def _conditional(cells: Integers) -> ConditionalTable:
    (a, b), (c, d) = cells.tolist()
    first_row, second_row, first_column = a + b, c + d, a + c
    least, most = max(0, first_column - second_row), min(first_row, first_column)
    if most - least >= MOST_TABLES:
        raise DesignError(
            f"The test goes through every table with these margins, at most {MOST_TABLES}; there "
            f"are {most - least + 1}.",
            "Use scipy.stats.chi2_contingency: so many units need no exact test.",
        )
    support = np.arange(least, most + 1)
    log_weights = -(
        scipy.special.gammaln(support + 1)
        + scipy.special.gammaln(first_row - support + 1)
        + scipy.special.gammaln(first_column - support + 1)
        + scipy.special.gammaln(second_row - first_column + support + 1)
    )
    return ConditionalTable(support, log_weights, a)


def _p_values(table: ConditionalTable, alternative: str) -> Floats:
    """Return the p-value of every table with these margins, shape (k,)."""
    probabilities = table.probabilities(0.0)
    if alternative == "less":
        p_values = np.cumsum(probabilities)
    elif alternative == "greater":
        p_values = np.cumsum(probabilities[::-1])[::-1]
    else:
        ascending = np.sort(probabilities)
        not_likelier = np.searchsorted(ascending, probabilities * (1 + RELATIVE_TIE), side="right")
        p_values = np.cumsum(ascending)[not_likelier - 1]
    return np.minimum(p_values, 1.0)


def _odds_ratio(table: ConditionalTable) -> float:
    if table.observed == table.support[0]:
        return 0.0
    if table.observed == table.support[-1]:
        return float("inf")
    return float(np.exp(_root(lambda log_odds: table.mean(log_odds) - table.observed)))


def _odds_ratio_interval(
    table: ConditionalTable, alternative: str, conf_level: float
) -> tuple[float, float]:
    """Return the odds ratios at which the observed cell is just not too large or too small."""
    alpha = (1 - conf_level) / (2 if alternative == "two-sided" else 1)
    low, high = 0.0, float("inf")
    if alternative != "less" and table.observed > table.support[0]:
        low = float(np.exp(_root(lambda log_odds: table.at_least(log_odds) - alpha)))
    if alternative != "greater" and table.observed < table.support[-1]:
        high = float(np.exp(_root(lambda log_odds: alpha - table.at_most(log_odds))))
    return low, high


def _root(rising: Callable[[float], float]) -> float:
    """Return the zero of a rising function of the log odds ratio, to machine precision."""
    low, high = -1.0, 1.0
    while rising(low) > 0:
        low *= 2
    while rising(high) < 0:
        high *= 2
    return float(scipy.optimize.brentq(rising, low, high, xtol=1e-15, rtol=8.9e-16, maxiter=500))


def _note(table: ConditionalTable) -> str:
    if table.observed in (table.support[0], table.support[-1]):
        return "A cell is empty: the odds ratio lies on the boundary, the interval is open there."
    return ""
