"""Correlation without a normal distribution: exact permutation p, bootstrap interval.

For rows that are not independent give the bootstrap their cluster, and test with
`analysis.inference.resampling.permutation.permutation_test`, which exchanges whole units.
"""

from __future__ import annotations

from itertools import permutations
from math import factorial

import numpy as np
import pandas as pd
from scipy import stats

from analysis.inference.association.ranks import MOST_ENUMERATED
from analysis.inference.resampling.bootstrap import cluster_bootstrap
from analysis.tidy import glossary
from analysis.tidy.frame import (
    Floats,
    generator,
    numbers,
    require_count,
    require_option,
    require_rows,
    require_variation,
)

#: Sums of products of values or of ranks.
METHODS = ("pearson", "spearman")

#: Sums of products closer than this, relatively, are tied.
TIE = 1e-12


def permutation(
    frame: pd.DataFrame,
    *,
    x: str,
    y: str,
    method: str = "pearson",
    rng: np.random.Generator | None = None,
    n_permutations: int = 9999,
) -> pd.DataFrame:
    """Return the permutation p-value of a correlation, two-sided by |r|.

    Up to nine rows all n! orders of y are evaluated; beyond, `n_permutations` are drawn and
    p = (b + 1) / (B + 1).

    Parameters
    ----------
    frame
        One row per independent unit.
    x, y
        Columns of finite numbers.
    method
        ``pearson`` or ``spearman``.
    rng
        Source of the draws; needed beyond nine rows.
    n_permutations
        Orders to draw.

    Returns
    -------
    One row: `estimate` [-1 to 1], `null_value` 0, `p_value`, `smallest_p`, `n_permutations`,
    `n_obs`, and `conf_low`, `conf_high`, `conf_level`, which are missing.

    Raises
    ------
    AnalysisError
        If `rng` is needed and absent.
    ColumnError
        If a column is absent or has missing values.
    DesignError
        If there are fewer than 3 rows or a column is constant.
    """
    first, second = _standardised(frame, x, y, method)
    enumerated = len(first) <= MOST_ENUMERATED
    orders = _every_order(second) if enumerated else _drawn_orders(second, rng, n_permutations)
    reached = np.abs(orders @ first)
    estimate = float(first @ second)
    n_reached = int((reached >= abs(estimate) - TIE).sum())
    n_orders = len(orders)
    result = pd.DataFrame(
        {
            "term": [f"{y} ~ {x}"],
            "estimate": [estimate],
            "null_value": [0.0],
            "p_value": [n_reached / n_orders if enumerated else (n_reached + 1) / (n_orders + 1)],
            "smallest_p": [
                float((reached >= reached.max() - TIE).mean()) if enumerated else 1 / (n_orders + 1)
            ],
            "conf_low": [np.nan],
            "conf_high": [np.nan],
            "conf_level": [np.nan],
            "alternative": ["two-sided"],
            "n_permutations": [n_orders],
            "n_obs": [len(first)],
            "method": [
                f"{method.capitalize()} correlation; permutation test, "
                f"{'enumerated' if enumerated else 'sampled'}"
            ],
            "note": [""],
        }
    )
    glossary.checked(result.columns)
    return result


def bootstrap(
    frame: pd.DataFrame,
    *,
    x: str,
    y: str,
    rng: np.random.Generator,
    method: str = "pearson",
    interval: str = "bca",
    cluster: str | None = None,
    n_resamples: int = 1999,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Return a correlation with its bootstrap interval, whole clusters resampled.

    Parameters
    ----------
    frame
        One row per observation.
    x, y
        Columns of finite numbers.
    rng
        Source of the draws.
    method
        ``pearson`` or ``spearman``.
    interval
        ``bca`` or ``percentile``.
    cluster
        Column naming the independent units; None when each row is one.
    n_resamples
        Resamples to draw; one with a constant column is counted in `n_failed`.
    conf_level
        Nominal coverage of the interval.

    Returns
    -------
    One row with the columns of `bootstrap.cluster_bootstrap`.

    Raises
    ------
    ColumnError
        If a column is absent or has missing values.
    DesignError
        If there are fewer than 3 rows or two clusters, a column is constant, or too few resamples
        have a correlation.
    """
    _standardised(frame, x, y, method)

    def correlation(rows: pd.DataFrame) -> float:
        first, second = _standardised(rows, x, y, method)
        return float(first @ second)

    result = cluster_bootstrap(
        frame,
        correlation,
        cluster=cluster,
        rng=rng,
        n_resamples=n_resamples,
        conf_level=conf_level,
        method=interval,
    )
    return result.assign(
        term=f"{y} ~ {x}", method=f"{method.capitalize()} correlation; " + result["method"]
    )


def _standardised(frame: pd.DataFrame, x: str, y: str, method: str) -> tuple[Floats, Floats]:
    """Return both columns, or their ranks, centred and of length 1: their product is r."""
    require_option("method", method, METHODS)
    require_rows(frame, 3, "A correlation")
    columns = []
    for name in (x, y):
        values = numbers(frame, name)
        require_variation(values, name)
        values = stats.rankdata(values) if method == "spearman" else values
        centred = values - values.mean()
        columns.append(centred / np.linalg.norm(centred))
    return columns[0], columns[1]


def _every_order(values: Floats) -> Floats:
    orders = np.fromiter(
        (value for order in permutations(values.tolist()) for value in order),
        dtype=np.float64,
        count=factorial(len(values)) * len(values),
    )
    return orders.reshape(-1, len(values))


def _drawn_orders(values: Floats, rng: np.random.Generator | None, n_permutations: int) -> Floats:
    rng = generator(rng, f"the orders of {len(values)} rows are sampled")
    require_count("n_permutations", n_permutations)
    return rng.permuted(np.tile(values, (n_permutations, 1)), axis=1)
