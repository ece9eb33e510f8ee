"""Cross-validation by leaving out whole groups: what predictors say of a group never seen.

>>> from statsmodels.datasets import grunfeld
>>> from analysis.inference import cross_validation
>>> rows = grunfeld.load_pandas().data
>>> how = {"response": "invest", "blocks": {"value": ["value"]}, "group": "firm"}
>>> table = cross_validation.leave_one_group_out(rows, **how)
>>> table["estimate"].round(3).item()
0.735
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats

from analysis.inference.partition.subsets import Blocks, require_blocks
from analysis.tidy import glossary
from analysis.tidy.frame import (
    Floats,
    Integers,
    group_codes,
    level_codes,
    numbers,
    require_conf_level,
    require_variation,
    rows_by_group,
)


@dataclass(frozen=True, slots=True)
class Fold:
    """Prediction of the rows of one group from all others.

    Attributes
    ----------
    squared_error, squared_total
        Sums over the group's rows of squared distances to the prediction and to the training
        mean.
    n_unseen
        Rows of the group with a level absent from training.
    separable
        Whether training can tell the predictors apart.
    """

    squared_error: float
    squared_total: float
    n_unseen: int
    separable: bool


def leave_one_group_out(
    frame: pd.DataFrame,
    *,
    response: str,
    blocks: Blocks,
    group: str,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Return the predictive R squared of every subset of blocks for groups never seen.

    Each group in turn is predicted from least squares on the others. Predictive R squared is
    1 - SSE/SST over all rows, SST taken around the mean of the training rows: 0 is as good as
    that mean, below 0 is worse. A level absent from training has no coefficient: its effect is
    taken as zero, the average over training rows. Where training cannot tell predictors apart,
    the minimum-norm solution on standardised columns is used, and `note` says so.

    The interval treats the squared errors of groups as independent (a ratio estimate with
    G - 1 degrees of freedom); folds share training rows, so it is rather too narrow (Bates,
    Hastie and Tibshirani 2024, Journal of the American Statistical Association 119).

    Parameters
    ----------
    frame
        One row per unit, such as a model.
    response
        Column of finite numbers.
    blocks
        Block name to its columns, at most ten blocks. Text and categories are factors.
    group
        Column naming what is left out, such as the training suite.
    conf_level
        Nominal coverage of the interval.

    Returns
    -------
    One row per non-empty subset of blocks, smaller ones first: `block` (names joined by +),
    `estimate` [predictive R squared, at most 1], `std_error`, `df`, the interval, `n_obs`,
    `n_groups`, `note`.

    Raises
    ------
    ColumnError
        If a column is absent, unusable, in two blocks, or the response.
    DesignError
        If the response is constant, there are fewer than two groups, no blocks, or more than
        ten.
    """
    require_conf_level(conf_level)
    require_blocks(blocks, response)
    outcome = numbers(frame, response)
    require_variation(outcome, response)
    groups = rows_by_group(group_codes(frame, group))
    predictors = {
        block: [_predictor(frame, name) for name in names] for block, names in blocks.items()
    }
    rows = []
    for size in range(1, len(blocks) + 1):
        for chosen in combinations(blocks, size):
            columns = [column for block in chosen for column in predictors[block]]
            folds = [_fold(columns, outcome, held_out) for held_out in groups]
            rows.append({"block": " + ".join(chosen)} | _summary(folds, conf_level))
    result = pd.DataFrame(rows).assign(
        n_obs=len(frame),
        n_groups=len(groups),
        method=f"Predictive R squared, leaving out one {group} at a time",
    )
    glossary.checked(result.columns)
    return result


def _predictor(frame: pd.DataFrame, name: str) -> Floats | Integers:
    """Return the numbers of a column, or the level codes of a factor, shape (n,)."""
    if name in frame.columns and not pd.api.types.is_numeric_dtype(frame[name]):
        return level_codes(frame, name)[0]
    return numbers(frame, name)


def _fold(columns: Sequence[Floats | Integers], outcome: Floats, held_out: Integers) -> Fold:
    training = np.setdiff1d(np.arange(len(outcome)), held_out)
    encoded = [_encode(column, training, held_out) for column in columns]
    seen = np.column_stack([trained for trained, _, _ in encoded])
    new = np.column_stack([applied for _, applied, _ in encoded])
    unseen = np.any([absent for _, _, absent in encoded], axis=0)
    mean = outcome[training].mean()
    coefficients, _, rank, _ = np.linalg.lstsq(seen, outcome[training] - mean)
    wanted = sum(int(np.linalg.matrix_rank(trained)) for trained, _, _ in encoded)
    errors = outcome[held_out] - mean - new @ coefficients
    return Fold(
        squared_error=float(errors @ errors),
        squared_total=float(((outcome[held_out] - mean) ** 2).sum()),
        n_unseen=int(unseen.sum()),
        separable=int(rank) == wanted,
    )


def _encode(
    column: Floats | Integers, training: Integers, held_out: Integers
) -> tuple[Floats, Floats, np.ndarray[tuple[int, ...], np.dtype[np.bool_]]]:
    """Return centred training columns, the held-out rows in their terms, and who is unseen."""
    if np.issubdtype(column.dtype, np.floating):
        values = column.astype(np.float64)
        centre, scale = values[training].mean(), values[training].std()
        standard = (values - centre) / scale if scale > 0 else np.zeros_like(values)
        known = np.zeros(len(held_out), dtype=np.bool_)
        return standard[training, None], standard[held_out, None], known
    levels = np.unique(column[training])
    dummies = (column[:, None] == levels).astype(np.float64)
    centred = dummies - dummies[training].mean(axis=0)
    unseen = ~np.isin(column[held_out], levels)
    applied = np.where(unseen[:, None], 0.0, centred[held_out])
    return centred[training], applied, unseen


def _summary(folds: Sequence[Fold], conf_level: float) -> dict[str, object]:
    """Return predictive R squared over all folds, with its interval and note."""
    errors = np.array([fold.squared_error for fold in folds])
    totals = np.array([fold.squared_total for fold in folds])
    ratio = errors.sum() / totals.sum()
    influence = (errors - ratio * totals) / totals.mean()
    std_error = float(influence.std(ddof=1) / np.sqrt(len(folds)))
    df = len(folds) - 1
    reach = float(stats.t.isf((1 - conf_level) / 2, df)) * std_error
    return {
        "estimate": 1 - ratio,
        "std_error": std_error,
        "df": float(df),
        "conf_low": 1 - ratio - reach,
        "conf_high": 1 - ratio + reach,
        "conf_level": conf_level,
        "note": _note(folds),
    }


def _note(folds: Sequence[Fold]) -> str:
    notes = []
    n_unseen = sum(fold.n_unseen for fold in folds)
    if n_unseen:
        notes.append(
            f"{n_unseen} rows hold a level never seen in training; its effect is taken as zero."
        )
    inseparable = sum(not fold.separable for fold in folds)
    if inseparable:
        notes.append(
            f"In {inseparable} of {len(folds)} folds training cannot tell the predictors apart."
        )
    return " ".join(notes)
