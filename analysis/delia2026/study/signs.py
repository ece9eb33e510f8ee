"""The cells of a study whose response is below zero, beyond chance and many tests."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy

from analysis.delia2026.study import horizons
from analysis.inference.effects.multiplicity import adjust
from analysis.tidy import glossary


def negative_cells(runs: pd.DataFrame, response: str) -> pd.DataFrame:
    """Return a one-sided test of every cell against zero, adjusted over all cells by Holm.

    The variance between seeds is pooled over cells, so that a cell of two seeds has the degrees of
    freedom of all. Holm bounds the chance that any cell is called negative wrongly.

    Parameters
    ----------
    runs
        One row per run; rows without a response are left out.
    response
        Column of it.

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
    variance, df = horizons.between_seeds(known, response)
    horizons.need_seeds(df)
    rows = known.groupby("cell")[response].agg(["mean", "size"]).reset_index()
    std_error = np.sqrt(variance / rows["size"])
    statistic = rows["mean"] / std_error
    tests = pd.DataFrame(
        {
            "level": rows["cell"],
            "term": response,
            "estimate": rows["mean"],
            "std_error": std_error,
            "df": df,
            "statistic": statistic,
            "p_value": scipy.stats.t.cdf(statistic, df),
            "alternative": "less",
            "n_obs": rows["size"],
            "family": response,
        }
    )
    return glossary.table(adjust(tests, family="family").drop(columns="family"))
