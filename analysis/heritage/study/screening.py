"""Main effects of a two-level screening, and what they foretell of other cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats


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


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of a balanced, orthogonal and replicated fraction.

    Attributes
    ----------
    signs
        (cell, factor), from `signs_of`.
    means
        Mean response of each cell.
    n_runs
        Of all cells together.
    error, df
        Variance between runs of a cell, and its degrees of freedom.
    """

    signs: Floats
    means: Floats
    n_runs: int
    error: float
    df: int


def cells_of(runs: pd.DataFrame, response: str, low: pd.Series) -> Cells:
    """Return the cells of a screening.

    Parameters
    ----------
    runs
        One row per run, a column per factor.
    response
        Column of it.
    low
        The low level by factor.

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
    values = runs[response].to_numpy(dtype=float)
    cells, place = np.unique(signs, axis=0, return_inverse=True)
    counts = np.bincount(place.ravel())
    means = np.bincount(place.ravel(), values) / counts
    df = n_runs - len(cells)
    if df == 0:
        raise DesignError(
            "A screening must be replicated to be compared with chance; each cell has one run.",
            "Train it with another seed.",
        )
    error = float(((values - means[place.ravel()]) ** 2).sum()) / df
    return Cells(cells, means, n_runs, error, df)


def main_effects(
    runs: pd.DataFrame, response: str, low: pd.Series, *, conf_level: float = 0.95
) -> pd.DataFrame:
    """Return the effect of each factor, high less low, against the variance between seeds.

    Parameters
    ----------
    runs, response, low
        As in `cells_of`.
    conf_level
        Coverage of each interval.

    Returns
    -------
    One row per factor: `term`, `estimate`, `std_error`, `df`, `statistic`, `p_value`, `conf_low`,
    `conf_high`, `conf_level`, `n_obs`, `method` (``seeds``: the variance between runs of a cell).

    Raises
    ------
    DesignError
        As `cells_of`.
    """
    cells = cells_of(runs, response, low)
    estimates = 2 * cells.signs.T @ cells.means / len(cells.means)
    std_error = 2 * np.sqrt(cells.error / cells.n_runs)
    statistic = estimates / std_error
    half = stats.t.ppf((1 + conf_level) / 2, cells.df) * std_error
    result = pd.DataFrame(
        {
            "term": list(low.index),
            "estimate": estimates,
            "std_error": std_error,
            "df": float(cells.df),
            "statistic": statistic,
            "p_value": 2 * stats.t.sf(np.abs(statistic), cells.df),
            "conf_low": estimates - half,
            "conf_high": estimates + half,
            "conf_level": conf_level,
            "n_obs": cells.n_runs,
            "method": "seeds",
        }
    )
    glossary.checked(result.columns)
    return result


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
    """Return how well the sum of some main effects foretells cells that were not screened.

    Nothing is fitted to the other cells. Factors that do not vary there are at their low level.

    Parameters
    ----------
    screened, others
        One row per run; the factors and the response are columns.
    response
        What is foretold.
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
    result = pd.DataFrame(
        {
            "term": [response],
            "r_squared": [1 - squared / null],
            "rmse": [squared**0.5],
            "rmse_null": [null**0.5],
            "n_obs": [len(others)],
            "method": [f"sum of {len(terms)} main effects: {', '.join(terms)}"],
        }
    )
    glossary.checked(result.columns)
    return result
