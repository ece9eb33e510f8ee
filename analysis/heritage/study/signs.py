"""The cells of a study whose response is below zero, beyond chance and many tests."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from analysis.inference.effects.multiplicity import adjust
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError

#: Responses that the registered statement of signs is about: growth less than by equal writes, and
#: a last block that shrinks the stream.
ASKED = ("excess", "last_log_gain")


def negative_cells(runs: pd.DataFrame, response: str, *, cell: str = "cell") -> pd.DataFrame:
    """Return a one-sided test of every cell against zero, adjusted over all cells by Holm.

    The variance between seeds is pooled over cells, so that a cell of two seeds has the degrees of
    freedom of all. Holm bounds the chance that any cell is called negative wrongly.

    Parameters
    ----------
    runs
        One row per run; rows without a response are left out.
    response, cell
        Columns of it.

    Returns
    -------
    One row per cell: `level` (the cell), `term`, `estimate` (its mean), `std_error`, `df`,
    `statistic`, `p_value`, `p_adjusted`, `n_tests`, `adjustment`, `alternative`, `n_obs`.

    Raises
    ------
    DesignError
        If no cell has two runs.
    """
    known = runs.dropna(subset=[response])
    grouped = known.groupby(cell)[response]
    df = int((grouped.size() - 1).sum())
    if df == 0:
        raise DesignError(
            "A test of signs must have two runs in some cell; found one in each.",
            "Train the cells with another seed.",
        )
    pooled = float(((known[response] - grouped.transform("mean")) ** 2).sum()) / df
    rows = grouped.agg(["mean", "size"]).reset_index()
    std_error = np.sqrt(pooled / rows["size"])
    statistic = rows["mean"] / std_error
    tests = pd.DataFrame(
        {
            "level": rows[cell],
            "term": response,
            "estimate": rows["mean"],
            "std_error": std_error,
            "df": df,
            "statistic": statistic,
            "p_value": stats.t.cdf(statistic, df),
            "alternative": "less",
            "n_obs": rows["size"],
            "family": response,
        }
    )
    result = adjust(tests, family="family").drop(columns="family")
    glossary.checked(result.columns)
    return result


def negative_counts(runs: pd.DataFrame, level: float) -> dict[str, int]:
    """Return how many cells are negative in which sense.

    Growth less than by equal writes is growth as long as the stream is longer at its end.

    Parameters
    ----------
    runs
        One row per run: `cell`, `n_layers`, `excess_simple` and the responses of `ASKED`.
    level
        Chance that one or more cells are called negative wrongly, for each response.

    Returns
    -------
    `n_cells`, the cells of each response of `ASKED` by its name, and `n_shorter`: those of either
    in which the stream is on average shorter after the last block than after block 0.
    """
    tables = {name: negative_cells(runs, name) for name in ASKED}
    by_name = {
        name: set(table.loc[table["p_adjusted"] < level, "level"]) for name, table in tables.items()
    }
    later = runs["excess_simple"] + np.log(runs["n_layers"].astype(float)) / 2
    means = later.groupby(runs["cell"]).mean()
    shorter = means.reindex(list(set().union(*by_name.values()))) < 0
    return {
        "n_cells": len(tables[ASKED[0]]),
        **{name: len(cells) for name, cells in by_name.items()},
        "n_shorter": int(shorter.sum()),
    }
