"""What heritage, geometry and scale say of a suite or a lab that the fit has not seen.

Models of a unit left out are predicted from the fit to all others, with the variances of that fit
as if known. Given y of the others, the new y* is normal (Goldberger 1962, Journal of the American
Statistical Association 57, 369):

    E = X* b + C' V^-1 (y - X b),    b = (X' V^-1 X)^-1 X' V^-1 y
    S = V* - C' V^-1 C + R (X' V^-1 X)^-1 R',    R = X* - C' V^-1 X

with C the covariance of the others with the new ones: models of one lab are correlated, which only
a member with heritage may use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.heritage.hierarchy.frames import DataSet
from analysis.heritage.hierarchy.models import (
    EVERYTHING,
    NOTHING,
    UNITS,
    Specification,
    collect,
    fit_member,
    require_models,
    specify,
    standardised,
)
from analysis.mixed.model import MixedModel
from analysis.mixed.reading.merge import take
from analysis.mixed.reading.statistics import Statistics
from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError
from analysis.tidy.frame import Floats, Integers

#: Members compared by prediction.
COMPARED = (NOTHING, "heritage", "geometry", "scale", EVERYTHING)

#: Groups that lie above models.
ABOVE_MODELS = ("lab", "suite", "family")


@dataclass(frozen=True, slots=True)
class Fold:
    """One unit left out.

    Attributes
    ----------
    level
        The unit.
    is_held
        Which models are its own, shape (models,).
    specification
        What the other models can carry.
    """

    level: str
    is_held: NDArray[np.bool_]
    specification: Specification


@dataclass(frozen=True, slots=True)
class Forecast:
    """Normal distribution of the gains of m models left out, and what they were.

    Attributes
    ----------
    mean
        Shape (m,) [nat].
    covariance
        Shape (m, m).
    observed
        Shape (m,) [nat].
    training_mean
        Mean of the models that the fit has seen [nat].
    """

    mean: Floats
    covariance: Floats
    observed: Floats
    training_mean: float

    @property
    def squared_error(self) -> float:
        """Sum of squared distances of the observed from the predicted."""
        return float(((self.observed - self.mean) ** 2).sum())

    @property
    def squared_null(self) -> float:
        """The same from the mean of the others."""
        return float(((self.observed - self.training_mean) ** 2).sum())

    @property
    def log_score(self) -> float:
        """Logarithm of the joint density at the observed (Good 1952)."""
        away = self.observed - self.mean
        _, log_determinant = np.linalg.slogdet(self.covariance)
        distance = away @ np.linalg.solve(self.covariance, away)
        return float(-(distance + log_determinant + len(away) * np.log(2 * np.pi)) / 2)


def predictive_gain(data_set: DataSet, unit: str) -> pd.DataFrame:
    """Return how well each member predicts the models of suites or labs left out.

    Parameters
    ----------
    data_set
        Rows; they are averaged to one log gain per model first.
    unit
        What is left out: ``suite`` or ``lab``.

    Returns
    -------
    One row per member: `data_set`, `metric`, `group` (the unit), `block`, `r_squared` (1 - SSE /
    SST, the latter around the mean of the models seen; negative when that mean predicts better),
    `rmse` and `rmse_null` [nat], `log_score` (mean over models of the log density) and
    `log_score_gain` (over the member without predictors), `n_better` (units for which it is
    above 0), `n_obs` (models), `n_groups` (units), `note`. What cannot be
    computed is missing, and `note` says why.
    """
    averaged = models_of(data_set)
    reached = _all_forecasts(averaged, unit)
    null = reached[NOTHING]
    rows = []
    for block, outcome in reached.items():
        row: dict[str, object] = {"block": block, "note": outcome}
        if not isinstance(outcome, str):
            row["note"] = _note(averaged, unit, block)
            row |= _scores(outcome)
            row |= {} if isinstance(null, str) else _against(outcome, null)
        rows.append(row)
    numeric = ["r_squared", "rmse", "rmse_null", "log_score", "log_score_gain", "n_better"]
    result = (
        pd.DataFrame(rows)
        .reindex(columns=["block", *numeric, "note"])
        .assign(
            data_set=data_set.name,
            metric=data_set.metric,
            group=unit,
            n_obs=len(averaged.rows),
            n_groups=averaged.rows[unit].nunique(),
            method=f"Normal forecast of the models of one {unit} at a time, variances by REML",
        )
        .astype(dict.fromkeys(numeric, "float64"))
    )
    glossary.checked(result.columns)
    return result


def models_of(data_set: DataSet) -> DataSet:
    """Return the data set averaged to one row per model, weights and covariates used up."""
    rows = data_set.rows
    weights = pd.Series(1.0, rows.index) if data_set.weights is None else rows[data_set.weights]
    sums = (
        rows.assign(weight=weights, weighted=weights * rows["log_gain"])
        .groupby("model_id")[["weight", "weighted"]]
        .sum()
    )
    models = rows.drop_duplicates("model_id").set_index("model_id", drop=False).sort_index()
    averaged = models.assign(log_gain=sums["weighted"] / sums["weight"]).reset_index(drop=True)
    above = tuple(group for group in data_set.groups if group in ABOVE_MODELS)
    return replace(data_set, rows=averaged, groups=above, covariates=(), weights=None)


def conditional_forecast(
    design: Floats, covariance: Floats, shared: Floats, gains: Floats, held: Integers
) -> Forecast:
    """Return the normal distribution of the gains held out given the others (see the module).

    Parameters
    ----------
    design
        Intercept and predictors, shape (n, p).
    covariance
        Of the gains, shape (n, n).
    shared
        The part of it through which the others speak of the new ones, shape (n, n).
    gains
        Shape (n,) [nat].
    held
        Places of the gains held out.
    """
    seen = np.setdiff1d(np.arange(len(gains)), held)
    within = covariance[np.ix_(seen, seen)]
    across = shared[np.ix_(seen, held)]
    solved = np.linalg.solve(within, np.column_stack([design[seen], gains[seen], across]))
    p = design.shape[1]
    precise, weighted, bridge = solved[:, :p], solved[:, p], solved[:, p + 1 :]
    information = design[seen].T @ precise
    coefficients = np.linalg.solve(information, design[seen].T @ weighted)
    remaining = design[held] - bridge.T @ design[seen]
    return Forecast(
        mean=remaining @ coefficients + bridge.T @ gains[seen],
        covariance=covariance[np.ix_(held, held)]
        - across.T @ bridge
        + remaining @ np.linalg.solve(information, remaining.T),
        observed=gains[held],
        training_mean=float(gains[seen].mean()),
    )


def _all_forecasts(averaged: DataSet, unit: str) -> dict[str, list[Forecast] | str]:
    """Return every member's forecasts of all units, or why there are none."""
    levels = sorted(set(averaged.rows[unit]))
    if len(levels) < 2:
        reason = f"One {unit} only: nothing is left to learn from when it is left out."
        return dict.fromkeys(COMPARED, reason)
    try:
        statistics = collect(averaged, specify(averaged), units=(*UNITS, "model_id"))
    except AnalysisError as error:
        return dict.fromkeys(COMPARED, error.problem)
    folds = [_fold(averaged, unit, level) for level in levels]
    return {block: _forecasts(averaged, statistics, folds, block) for block in COMPARED}


def _fold(averaged: DataSet, unit: str, level: str) -> Fold:
    is_held = (averaged.rows[unit] == level).to_numpy(dtype=np.bool_)
    return Fold(level, is_held, specify(replace(averaged, rows=averaged.rows[~is_held])))


def _forecasts(
    averaged: DataSet, statistics: Statistics, folds: Sequence[Fold], block: str
) -> list[Forecast] | str:
    """Return one member's forecasts, or why there are none; too few models are found first."""
    forecasts = []
    at = ""
    try:
        for fold in folds:
            at = fold.level
            require_models(fold.specification, block, int((~fold.is_held).sum()))
        for fold in folds:
            at = fold.level
            forecasts.append(_forecast(averaged, statistics, fold, block))
    except AnalysisError as error:
        return f"Without {at}: {error.problem}"
    return forecasts


def _forecast(averaged: DataSet, statistics: Statistics, fold: Fold, block: str) -> Forecast:
    """Return the forecast of the models held out, variances from the others."""
    rows, specification = averaged.rows, fold.specification
    held_ids = set(rows.loc[fold.is_held, "model_id"])
    ids = statistics.factors["model_id"]
    cells = [cell for cell, code in enumerate(ids.codes) if ids.levels[code] not in held_ids]
    remaining = take(statistics, np.array(cells, dtype=np.intp))
    model = fit_member(specification, block, remaining, len(cells))
    design = _design(standardised(rows, specification), specification, block, ~fold.is_held)
    together = model.found.variance * np.eye(len(rows))
    for group in specification.groups:
        together += _of_group(model, group, rows)
    shared = _of_group(model, "lab", rows) if "heritage" in block else np.zeros_like(together)
    gains = rows["log_gain"].to_numpy(dtype=np.float64)
    return conditional_forecast(design, together, shared, gains, np.flatnonzero(fold.is_held))


def _design(
    scaled: pd.DataFrame, specification: Specification, block: str, is_seen: NDArray[np.bool_]
) -> Floats:
    """Return intercept and predictors of all models; a level never seen has no effect."""
    columns = [np.ones(len(scaled))]
    for name in specification.terms(block):
        if name != "heritage":
            columns.append(scaled[name].to_numpy())
            continue
        levels = sorted(set(scaled.loc[is_seen, name]))
        is_known = scaled[name].isin(levels).to_numpy()
        for level in levels[1:]:
            dummy = (scaled[name] == level).to_numpy(dtype=np.float64)
            columns.append(np.where(is_known, dummy - dummy[is_seen].mean(), 0.0))
    return np.column_stack(columns)


def _of_group(model: MixedModel, group: str, rows: pd.DataFrame) -> Floats:
    """Return the covariance of models through one group, zero when the fit does not have it."""
    known = {modes.block.group: modes for modes in model.inference.modes}
    if group not in known:
        return np.zeros((len(rows), len(rows)))
    labels = rows[group].to_numpy()
    shared = (labels[:, None] == labels[None, :]).astype(np.float64)
    return np.asarray(float(known[group].covariance[0, 0]) * shared, dtype=np.float64)


def _scores(entries: Sequence[Forecast]) -> dict[str, float]:
    n_models = sum(len(each.observed) for each in entries)
    squared = sum(each.squared_error for each in entries)
    null = sum(each.squared_null for each in entries)
    return {
        "r_squared": 1 - squared / null,
        "rmse": float(np.sqrt(squared / n_models)),
        "rmse_null": float(np.sqrt(null / n_models)),
        "log_score": sum(each.log_score for each in entries) / n_models,
    }


def _against(entries: Sequence[Forecast], null: Sequence[Forecast]) -> dict[str, float]:
    gains = np.array(
        [each.log_score - other.log_score for each, other in zip(entries, null, strict=True)]
    )
    n_models = sum(len(each.observed) for each in entries)
    return {"log_score_gain": gains.sum() / n_models, "n_better": float((gains > 0).sum())}


def _note(averaged: DataSet, unit: str, block: str) -> str:
    """Return in how many folds heritage says nothing of the unit left out."""
    if "heritage" not in block:
        return ""
    rows = averaged.rows
    unseen = [
        level
        for level, held in rows.groupby(unit)
        if not set(held["heritage"]) <= set(rows.loc[rows[unit] != level, "heritage"])
        or rows.loc[rows[unit] != level, "heritage"].nunique() < 2
    ]
    if not unseen:
        return ""
    return f"Heritage has no coefficient without {', '.join(map(str, unseen))}: taken as zero."
