"""Which choice moves the estimate: the variance over specifications, shared out among choices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.inference.partition.shares import shapley_weights
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, level_codes, numbers, require_columns

CHOICES = ("gain", "figure", "models", "left_out", "outcome", "unit", "groups", "estimator")

#: Singular values of the dummies' cross-products below this share of the largest are zero.
RANK_TOLERANCE = 1e-10


def choice_shares(specifications: pd.DataFrame, choices: Sequence[str] = CHOICES) -> pd.DataFrame:
    """Return how much of the variance of the standardised estimates each choice explains.

    Duplicates share one vote: a row weighs one over the number of specifications with the same
    rows and estimator. `eta_squared` is what the choice explains alone; `share` its Shapley
    value in the additive model of all choices, summing to `r_squared`. What is left over is due
    to choices acting together.

    Parameters
    ----------
    specifications
        One row per specification: the choices, `standardised` and `n_duplicates`; rows without
        an estimate are ignored.
    choices
        Columns to share the variance out among.

    Returns
    -------
    One row per choice, the largest share first: `choice`, `n_levels`, `eta_squared`, `share`,
    `r_squared`, `n_obs` (distinct specifications).

    Raises
    ------
    ColumnError
        If a column is absent.
    DesignError
        If the estimates do not vary.
    """
    require_columns(specifications, [*choices, "standardised", "n_duplicates"])
    estimated = specifications[specifications["standardised"].notna()]
    weights = 1 / numbers(estimated.astype({"n_duplicates": "float64"}), "n_duplicates")
    response = numbers(estimated, "standardised")
    if not len(response) or np.ptp(response) == 0:
        raise DesignError(
            f"The estimates must vary; {len(response)} of them do not.",
            "With one estimate there is nothing to share out.",
        )
    dummies = [_dummies(estimated, name) for name in choices]
    explained = _explained(dummies, response, weights)
    shares = shapley_weights(len(choices)) @ explained
    result = pd.DataFrame(
        {
            "choice": list(choices),
            "n_levels": [columns.shape[1] for columns in dummies],
            "eta_squared": explained[2 ** np.arange(len(choices))],
            "share": shares,
            "r_squared": explained[-1],
            "n_obs": int(np.rint(weights.sum())),
        }
    )
    glossary.checked(result.columns)
    return result.sort_values("share", ascending=False, ignore_index=True)


def _dummies(specifications: pd.DataFrame, name: str) -> Floats:
    """Return one column per level that occurs, shape (n, levels)."""
    codes, levels = level_codes(specifications, name)
    return np.asarray(np.eye(len(levels))[codes], dtype=np.float64)


def _explained(dummies: Sequence[Floats], response: Floats, weights: Floats) -> Floats:
    """Return weighted R squared of every subset of choices, shape (2^k,); bit b is choice b."""
    share = weights / weights.sum()
    columns = np.column_stack(dummies)
    columns = columns - share @ columns
    outcome = response - share @ response
    products = (share[:, None] * columns).T @ columns
    sides = (share * outcome) @ columns
    block = np.repeat(np.arange(len(dummies)), [each.shape[1] for each in dummies])
    explained = np.zeros(2 ** len(dummies))
    for subset in range(1, len(explained)):
        inside = np.flatnonzero(subset >> block & 1)
        inverse = np.linalg.pinv(
            products[np.ix_(inside, inside)], rcond=RANK_TOLERANCE, hermitian=True
        )
        explained[subset] = sides[inside] @ inverse @ sides[inside]
    return np.asarray(explained / float(share @ outcome**2), dtype=np.float64)
