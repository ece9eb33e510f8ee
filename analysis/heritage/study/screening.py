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
    """Return the effect of each factor, high less low, against seeds and by Lenth's method.

    Parameters
    ----------
    runs, response, low
        As in `cells_of`.
    conf_level
        Coverage of each interval.

    Returns
    -------
    Two rows per factor, by `method`: ``seeds`` (the variance between runs of a cell) and ``Lenth``
    (the spread of all contrasts of the cells, most of which are taken to be nothing). `term`,
    `estimate`, `std_error`, `df`, `statistic`, `p_value`, `conf_low`, `conf_high`, `conf_level`,
    `n_obs`.

    Raises
    ------
    DesignError
        As `cells_of`.

    References
    ----------
    R. V. Lenth, "Quick and easy analysis of unreplicated factorials" (1989).
    """
    cells = cells_of(runs, response, low)
    estimates = 2 * cells.signs.T @ cells.means / len(cells.means)
    pseudo = lenth_error(all_contrasts(cells.signs, cells.means))
    parts = []
    for method, std_error, of in (
        ("seeds", 2 * np.sqrt(cells.error / cells.n_runs), float(cells.df)),
        ("Lenth", pseudo, (len(cells.means) - 1) / 3),
    ):
        statistic = estimates / std_error
        half = stats.t.ppf((1 + conf_level) / 2, of) * std_error
        parts.append(
            pd.DataFrame(
                {
                    "term": list(low.index),
                    "estimate": estimates,
                    "std_error": std_error,
                    "df": of,
                    "statistic": statistic,
                    "p_value": 2 * stats.t.sf(np.abs(statistic), of),
                    "conf_low": estimates - half,
                    "conf_high": estimates + half,
                    "conf_level": conf_level,
                    "n_obs": cells.n_runs,
                    "method": method,
                }
            )
        )
    result = pd.concat(parts, ignore_index=True)
    glossary.checked(result.columns)
    return result


def additivity(runs: pd.DataFrame, response: str, low: pd.Series) -> pd.DataFrame:
    """Return how much of the differences between cells the main effects make, summed.

    The rest is what factors do together: contrasts of the cells that are no main effect. In a
    fraction each is a sum of interactions that cannot be told apart.

    Parameters
    ----------
    runs, response, low
        As in `cells_of`.

    Returns
    -------
    One row: `term` (the response), `r_squared` (share of the variance between cells that the main
    effects make, what seeds make of either taken off), `statistic`, `df_numerator`, `df` and
    `p_value` (F of the other contrasts against seeds), `n_obs`, `n_groups` (cells), `method`.

    Raises
    ------
    DesignError
        As `cells_of`, and if there are as many factors as contrasts.
    """
    cells = cells_of(runs, response, low)
    n_factors, n_other = cells.signs.shape[1], len(cells.means) - 1 - cells.signs.shape[1]
    if n_other < 1:
        raise DesignError(
            "A screening must have fewer factors than contrasts to show whether effects add up; "
            f"it has {n_factors} of either.",
            "Give it more cells.",
        )
    effects = 2 * cells.signs.T @ cells.means / len(cells.means)
    of_effects = cells.n_runs / 4 * float(effects @ effects)
    of_cells = cells.n_runs * float(cells.means.var())
    statistic = (of_cells - of_effects) / n_other / cells.error
    alone = of_effects - n_factors * cells.error
    result = pd.DataFrame(
        {
            "term": [response],
            "r_squared": [alone / (of_cells - (n_factors + n_other) * cells.error)],
            "statistic": [statistic],
            "df_numerator": [float(n_other)],
            "df": [float(cells.df)],
            "p_value": [float(stats.f.sf(statistic, n_other, cells.df))],
            "n_obs": [cells.n_runs],
            "n_groups": [len(cells.means)],
            "method": ["F of the contrasts that are no main effect, against seeds"],
        }
    )
    glossary.checked(result.columns)
    return result


def all_contrasts(cells: Floats, means: Floats) -> Floats:
    """Return every contrast of a regular fraction, main effects and groups of interactions.

    Parameters
    ----------
    cells
        Signs of each cell, (cell, factor); a power of two of them.
    means
        Mean response of each cell.

    Returns
    -------
    Differences "high less low", one less than there are cells.
    """
    columns: dict[bytes, Floats] = {}
    for column in cells.T:
        key = (column * column[0]).tobytes()
        if key not in columns:
            for one in [np.ones(len(cells)), *list(columns.values())]:
                product = one * column
                columns.setdefault((product * product[0]).tobytes(), product)
    signs = np.column_stack(list(columns.values()))
    return np.asarray(2 * signs.T @ means / len(means))


def lenth_error(contrasts: Floats) -> float:
    """Return Lenth's pseudo standard error: 1.5 medians of the contrasts that are not large."""
    sizes = np.abs(contrasts)
    first = 1.5 * float(np.median(sizes))
    return 1.5 * float(np.median(sizes[sizes < 2.5 * first])) if first > 0 else 0.0


def largest_terms(effects: pd.DataFrame, n: int) -> list[str]:
    """Return the factors of the n largest effects."""
    seeds = effects[effects["method"] == "seeds"]
    order = seeds["estimate"].abs().sort_values(ascending=False, kind="stable").index
    return [str(term) for term in seeds.loc[order[:n], "term"]]


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
