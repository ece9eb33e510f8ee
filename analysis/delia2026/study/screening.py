"""Main effects of a two-level screening, and how well their sum predicts other cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import scipy

from analysis.delia2026.study import horizons
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats

CONF_LEVEL = 0.95


def signs_of(runs: pd.DataFrame, low: pd.Series) -> Floats:
    """Return the sign of each factor in each run, (run, factor): -1 where the level is the low one.

    Parameters
    ----------
    runs
        One row per run, a column per factor.
    low
        The low level by factor.
    """
    return np.where(runs[list(low.index)].to_numpy() == low.to_numpy(), -1.0, 1.0)


def main_effects(runs: pd.DataFrame, response: str, low: pd.Series) -> pd.DataFrame:
    """Return the effect of each factor, high less low, against the variance between seeds.

    Parameters
    ----------
    runs
        One row per run of a balanced, orthogonal and replicated fraction, a column per factor.
    response
        Column of it.
    low
        The low level by factor.

    Returns
    -------
    One row per factor: `term`, `estimate`, `std_error`, `df`, `statistic`, `p_value`, `conf_low`,
    `conf_high`, `conf_level`, `n_obs`, `method` (``seeds``: the variance between runs of a cell).

    Raises
    ------
    DesignError
        If columns are not balanced and orthogonal, or cells have one run.
    """
    signs = signs_of(runs, low)
    n_runs, n_factors = signs.shape
    if not np.allclose(signs.T @ signs, n_runs * np.eye(n_factors)) or signs.sum(0).any():
        raise DesignError(
            "The factors of a screening must be balanced and orthogonal; they are not.",
            "Train the runs that are missing.",
        )
    variance, df = horizons.between_seeds(runs, response, list(low.index))
    horizons.need_seeds(df)
    estimates = 2 * signs.T @ runs[response].to_numpy(dtype=float) / n_runs
    std_error = 2 * np.sqrt(variance / n_runs)
    statistic = estimates / std_error
    half = scipy.stats.t.ppf((1 + CONF_LEVEL) / 2, df) * std_error
    return glossary.table(
        {
            "term": list(low.index),
            "estimate": estimates,
            "std_error": std_error,
            "df": float(df),
            "statistic": statistic,
            "p_value": 2 * scipy.stats.t.sf(np.abs(statistic), df),
            "conf_low": estimates - half,
            "conf_high": estimates + half,
            "conf_level": CONF_LEVEL,
            "n_obs": n_runs,
            "method": "seeds",
        }
    )


def largest_terms(effects: pd.DataFrame, n: int) -> list[str]:
    """Return the factors of the n largest effects."""
    order = effects["estimate"].abs().sort_values(ascending=False, kind="stable").index
    return [str(term) for term in effects.loc[order[:n], "term"]]


def foretold(
    screened: pd.DataFrame,
    others: pd.DataFrame,
    response: str,
    low: pd.Series,
    terms: Sequence[str],
) -> pd.DataFrame:
    """Return how well the sum of some main effects predicts cells that were not screened.

    Nothing is fitted to the other cells. Factors that do not vary there are at their low level.

    Parameters
    ----------
    screened, others
        One row per run; the factors and the response are columns.
    response
        What is predicted.
    low
        The low level by factor.
    terms
        Factors whose effects are added up.

    Returns
    -------
    One row: `term`, `r_squared` (one less the squared error over that of the other cells' own mean,
    which may be negative), `rmse`, `rmse_null`, `n_obs`, `method`.
    """
    effects = 2 * signs_of(screened, low).T @ screened[response].to_numpy(dtype=float)
    half = pd.Series(effects / len(screened) / 2, index=low.index)
    at = pd.DataFrame(-1.0, index=others.index, columns=low.index)
    for name in low.index.intersection(others.columns):
        at[name] = np.where(others[name] == low[name], -1.0, 1.0)
    expected = screened[response].mean() + at[list(terms)].to_numpy() @ half[list(terms)].to_numpy()
    values = others[response].to_numpy(dtype=float)
    squared = float(((values - expected) ** 2).mean())
    null = float(((values - values.mean()) ** 2).mean())
    return glossary.table(
        {
            "term": [response],
            "r_squared": [1 - squared / null],
            "rmse": [squared**0.5],
            "rmse_null": [null**0.5],
            "n_obs": [len(others)],
            "method": [f"sum of {len(terms)} main effects: {', '.join(terms)}"],
        }
    )
