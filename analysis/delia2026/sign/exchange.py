"""EleutherAI against the others, whole suites or labs exchanged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.inference.resampling import permutation

#: The lab that the paper sets against all others.
NAMED_LAB = "EleutherAI"

#: What a heritage other than the named lab's is called.
OTHER = "other"


def heritage(labs: pd.Series[str]) -> NDArray[np.str_]:
    """Return of each lab whether it is the named one or another, in a word."""
    return np.where(labs == NAMED_LAB, NAMED_LAB, OTHER)


def compared(models: pd.DataFrame) -> pd.DataFrame:
    """Return the models with what is compared, one row per model.

    Parameters
    ----------
    models
        One row per model: `lab`, `sign_strict`, `gain_mean` [1].

    Returns
    -------
    The rows with `heritage` (the named lab or other), `dampens` (1 or 0) and `log_gain` [nat].
    """
    return models.assign(
        heritage=heritage(models["lab"]),
        dampens=(models["sign_strict"] == "dampen").astype(float),
        log_gain=np.log(models["gain_mean"].astype("float64")),
    )


def cluster_means(
    models: pd.DataFrame, unit: str = "suite", columns: Sequence[str] = ("dampens", "log_gain")
) -> pd.DataFrame:
    """Return one row per unit and heritage: the means of some columns."""
    return models.groupby([unit, "heritage"], as_index=False)[list(columns)].mean()


def exchange(rows: pd.DataFrame, column: str = "dampens", unit: str = "suite") -> pd.Series[Any]:
    """Return the test of the named lab's mean of a column less the others', units exchanged whole.

    Parameters
    ----------
    rows
        One row per model, as `compared` has them, or per unit, as `cluster_means` has them.
    column
        What is compared.
    unit
        Column of what is exchanged whole.

    Returns
    -------
    The row of `permutation.permutation_test`: `estimate` (in the column's unit), two-sided
    `p_value`, `smallest_p` and the others.

    Raises
    ------
    AnalysisError
        If the rows leave nothing to exchange.
    """

    def difference(frame: pd.DataFrame) -> float:
        ours, values = frame["heritage"].to_numpy() == NAMED_LAB, frame[column].to_numpy()
        return float(values[ours].mean() - values[~ours].mean())

    row: pd.Series[Any] = permutation.permutation_test(
        rows, difference, label="heritage", unit=unit
    ).iloc[0]
    return row
