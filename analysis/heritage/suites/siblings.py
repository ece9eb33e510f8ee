"""Three questions of prediction: a sibling, a new suite, a new lab.

A model can be left out with its suite still in view, or with its whole suite, or with all of its
lab. The first asks what a recipe foretells of its next model; the second and third what can be
said of a recipe or a maker never seen. Predictions are by least squares from the others; a level
never seen has the mean of the levels seen, weighted by models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from analysis.heritage.suites.models import DEPTH, SCALE
from analysis.tidy import glossary
from analysis.tidy.frame import Floats, level_codes, require_columns, require_conf_level

SIBLING, NEW_SUITE, NEW_LAB = "sibling", "new suite", "new lab"

#: What is left out together, by question.
UNITS = {SIBLING: "model_id", NEW_SUITE: "suite", NEW_LAB: "lab"}

#: Predictors compared, by question; the last is the one that the question is about.
PREDICTORS: dict[str, tuple[tuple[str, ...], ...]] = {
    SIBLING: (("lab",), (SCALE,), (DEPTH,), ("lab", DEPTH), ("suite",), ("suite", DEPTH)),
    NEW_SUITE: (("lab",), (SCALE,), (DEPTH,), ("lab", DEPTH)),
    NEW_LAB: ((SCALE,), (DEPTH,)),
}


def predictions(models: pd.DataFrame, *, conf_level: float = 0.95) -> pd.DataFrame:
    """Return how well each set of predictors answers each of the three questions.

    Parameters
    ----------
    models
        As `models.base_models` returns them.
    conf_level
        Nominal coverage.

    Returns
    -------
    One row per question and set of predictors: `condition` (the question), `unit` (left out
    together), `term` (predictors), `r_squared` (1 - SSE / SST, the latter about the mean of the
    models seen) with `conf_low`, `conf_high`, `conf_level` (t over the units left out, as of a
    ratio of means), `rmse`, `rmse_null` [nat], `n_hits` (right signs), `n_hits_null` (by the
    mean of the models seen), `n_obs` (models predicted), `n_groups` (units), `note`. A sibling
    is predicted only where its suite has another model.
    """
    rows = [
        answer(models, question, names, conf_level=conf_level)
        for question, sets in PREDICTORS.items()
        for names in sets
    ]
    result = pd.DataFrame(rows)
    glossary.checked(result.columns)
    return result


def left_out(models: pd.DataFrame, names: Sequence[str], unit: str) -> pd.DataFrame:
    """Return every model predicted from the models of other units.

    Parameters
    ----------
    models
        One row per model: `log_gain` [nat] and the predictors; text columns are factors.
    names
        Predictors.
    unit
        Column whose levels are left out one at a time.

    Returns
    -------
    The rows with `predicted` and `seen_mean` (mean of the models seen) [nat], and `is_known`:
    whether every level of a factor was seen.

    Raises
    ------
    ColumnError
        If a column is absent.
    """
    require_columns(models, ["log_gain", unit, *names])
    observed = models["log_gain"].to_numpy(dtype=np.float64)
    units = level_codes(models, unit)[0]
    predicted, means = np.empty(len(models)), np.empty(len(models))
    is_known = np.empty(len(models), dtype=np.bool_)
    columns = {name: models[name].to_numpy() for name in names}
    for level in np.unique(units):
        held = units == level
        design, known = _design(columns, ~held)
        means[held] = float(observed[~held].mean())
        coefficients = np.linalg.lstsq(design[~held], observed[~held] - observed[~held].mean())[0]
        predicted[held] = means[held] + design[held] @ coefficients
        is_known[held] = known[held]
    return models.assign(predicted=predicted, seen_mean=means, is_known=is_known)


def _design(
    columns: Mapping[str, NDArray[Any]], is_seen: NDArray[np.bool_]
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return columns centred over the models seen, and whether every level was seen."""
    blocks, known = [], np.ones(len(is_seen), dtype=np.bool_)
    for column in columns.values():
        if np.issubdtype(column.dtype, np.number):
            values = column.astype(np.float64)[:, None]
            blocks.append(values - values[is_seen].mean(axis=0))
            continue
        dummies = (column[:, None] == np.unique(column[is_seen].astype(str))).astype(np.float64)
        is_known = dummies.any(axis=1)
        centred = dummies - dummies[is_seen].mean(axis=0)
        blocks.append(np.where(is_known[:, None], centred, 0.0))
        known &= is_known
    return np.column_stack(blocks), known


def answer(
    models: pd.DataFrame, question: str, names: Sequence[str], *, conf_level: float = 0.95
) -> dict[str, Any]:
    """Return the row of `predictions` of one question and set of predictors."""
    require_conf_level(conf_level)
    unit = UNITS[question]
    result = left_out(models, names, unit)
    if question == SIBLING:
        result = result[result.groupby("suite")["suite"].transform("size") > 1]
    errors = (result["log_gain"] - result["predicted"]) ** 2
    spreads = (result["log_gain"] - result["seen_mean"]) ** 2
    hits = (result["predicted"] > 0) == (result["log_gain"] > 0)
    by_mean = (result["seen_mean"] > 0) == (result["log_gain"] > 0)
    low, high = _interval(errors, spreads, result[unit], conf_level)
    return {
        "condition": question,
        "unit": unit,
        "term": " + ".join(names),
        "r_squared": 1 - float(errors.sum() / spreads.sum()),
        "conf_low": low,
        "conf_high": high,
        "conf_level": conf_level,
        "rmse": float(np.sqrt(errors.mean())),
        "rmse_null": float(np.sqrt(spreads.mean())),
        "n_hits": int(hits.sum()),
        "n_hits_null": int(by_mean.sum()),
        "n_obs": len(result),
        "n_groups": result[unit].nunique(),
        "method": f"Least squares from the other units, one {unit} left out at a time",
        "note": _note(result),
    }


def _interval(
    errors: pd.Series, spreads: pd.Series, units: pd.Series, conf_level: float
) -> tuple[float, float]:
    """Return the ends of the interval of 1 - SSE / SST, linearised over the units left out."""
    sums = pd.DataFrame({"error": errors, "spread": spreads}).groupby(units).sum()
    ratio = float(sums["error"].sum() / sums["spread"].sum())
    influence = (sums["error"] - ratio * sums["spread"]) / sums["spread"].mean()
    std_error = float(influence.std(ddof=1) / np.sqrt(len(sums)))
    reach = float(stats.t.isf((1 - conf_level) / 2, len(sums) - 1)) * std_error
    return 1 - ratio - reach, 1 - ratio + reach


def _note(table: pd.DataFrame) -> str:
    unknown = int((~table["is_known"]).sum())
    if not unknown:
        return ""
    return f"{unknown} of {len(table)} models hold a level never seen; its effect is taken as zero."
