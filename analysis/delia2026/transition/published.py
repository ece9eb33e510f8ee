"""The published values of L*, what is predicted for them, and how far it lies off."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import scipy

from analysis.audit import evidence
from analysis.audit.evidence import digitised
from analysis.audit.evidence.checks import Label
from analysis.delia2026.transition import frames as l_star_frames
from analysis.delia2026.transition import l_star
from analysis.delia2026.transition import noise as l_star_noise
from analysis.store import Store, shared

SIGN_CHANGES = "l_star_sign_change_20260106_111315.json"

#: Prompts behind each point of Fig. 5, whose L* are multiples of one fifth.
PROMPTS = 5
SEED = 20260106

FIGURE = Label("figure", "Fig. 5 as read off")
FITTED = Label("script", "script 20, its four models")
HEADS = Label("heads", "script 20, the trace summed over heads")
CHANGES = Label("notebook", "notebook 17, the only validation file in the repository")


@shared
def readings(store: Store) -> Mapping[Label, pd.DataFrame]:
    """Return the published values of L*, by where they come from.

    Returns
    -------
    Frames with one row per model: `model_id`, `lab`, `suite`, `n_layers`, `n_heads`, `estimate`
    (L*), `formula` and `half_depth` (what they predict) [layers], `file`, `caveats`. Some may
    have no rows.
    """
    frames = {
        FIGURE: digitised.points(store, "Fig. 5").rename(columns={"value": "estimate"}),
        FITTED: stated(store, evidence.TRACES),
        HEADS: steepest(store, "trace_multi_head"),
        CHANGES: stated(store, SIGN_CHANGES),
    }
    return {name: add_predictions(rows) for name, rows in frames.items()}


def errors(store: Store) -> pd.DataFrame:
    """Return how far each prediction lies from each published set of L*, by both measures.

    Returns
    -------
    One row per set and prediction: `condition`, `prediction` (formula, half_depth, or
    constant_share: the mean L* / L of the other suites), `n_models`, `error_over_depth` (what the
    paper calls MAPE) and `error_over_layer` (the mean absolute percentage error; missing where
    an L* is 0) [share].
    """
    rows = []
    for condition, models in readings(store).items():
        if models["suite"].nunique() < 2:
            continue
        fitted = l_star_frames.constant_share(models).rename(columns={"fitted": "constant_share"})
        rows += [
            {
                "condition": condition,
                "prediction": name,
                "n_models": len(fitted),
                "error_over_depth": float(misses(fitted, name, "n_layers").mean(skipna=False)),
                "error_over_layer": float(misses(fitted, name, "estimate").mean(skipna=False)),
            }
            for name in ("formula", "half_depth", "constant_share")
        ]
    columns = [
        "condition",
        "prediction",
        "n_models",
        "error_over_depth",
        "error_over_layer",
    ]
    return pd.DataFrame(rows, columns=columns)


def chance(store: Store) -> pd.DataFrame:
    """Return the errors that L* read off noise would give for the models of Fig. 5.

    One row per draw and prediction, as
    `analysis.delia2026.transition.noise.errors_by_chance`; no rows without the points of the
    figure.
    """
    models = readings(store)[FIGURE]
    if models.empty:
        return pd.DataFrame(columns=["prediction", "error_over_depth"])
    rng = np.random.default_rng(SEED)
    return l_star_noise.errors_by_chance(models, n_prompts=PROMPTS, rng=rng)


def stated(store: Store, file: str) -> pd.DataFrame:
    """Return one row per model: the L* that a file states."""
    stated = evidence.figures(store, "l_star_empirical", [file])
    designs = store.facts("SELECT model_id, n_heads FROM raw.model")
    return stated.merge(designs, on="model_id").rename(columns={"mean": "estimate"})


def steepest(
    store: Store,
    metric: str,
    estimator: Callable[[Sequence[float]], float] = l_star.argmax_abs_gradient,
) -> pd.DataFrame:
    """Return one row per model: the layer an estimator names on a published trace."""
    profiles = store.facts(
        """
        SELECT p.model_id, m.lab, m.suite, m.n_layers, m.n_heads, p.file, p.caveats,
               list(p.value ORDER BY p.layer) AS profile
          FROM published_profile AS p
          JOIN raw.model AS m USING (model_id)
         WHERE p.metric = $metric
         GROUP BY ALL
         ORDER BY p.model_id
        """,
        metric=metric,
    )
    layers = [estimator(profile) for profile in profiles["profile"]]
    return profiles.drop(columns="profile").assign(estimate=np.asarray(layers, dtype=np.float64))


def add_predictions(models: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with what each prediction that reads no profile names [layers]."""
    shapes = (models[name].astype("float64") for name in ("n_layers", "n_heads"))
    designs = list(zip(*shapes, strict=True))
    predicted = {
        name: np.array([predict(*design) for design in designs], dtype=np.float64)
        for name, predict in l_star_noise.PREDICTIONS.items()
    }
    return models.assign(**predicted)


def misses(models: pd.DataFrame, prediction: str, over: str) -> pd.Series:
    """Return |predicted - found| over depth or over L* per model [share]; missing over 0."""
    away = (models[prediction] - models["estimate"]).abs()
    return away / models[over].astype(float).replace(0.0, math.nan)


def mean_error(values: pd.Series) -> dict[str, float]:
    """Return the mean and its 95 % t interval over models; no interval for fewer than three.

    Where a value is missing, so is the mean.
    """
    n, centre = len(values), float(values.mean(skipna=False))
    if n < 3 or math.isnan(centre):
        return {"estimate": centre}
    reach = float(scipy.stats.t.ppf(0.975, n - 1) * values.std(ddof=1) / math.sqrt(n))
    return {"estimate": centre, "conf_low": centre - reach, "conf_high": centre + reach}
