"""L* of measured models as frames: by every estimator, with an interval over prompts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.heritage.transition.l_star import ESTIMATORS, argmax_interior_gradient, steepest
from analysis.inference.resampling.bootstrap import draws, interval
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, numbers, require_columns, require_conf_level


def estimates(profiles: pd.DataFrame, *, value: str, by: Sequence[str]) -> pd.DataFrame:
    """Return L* of each profile by each estimator that reads a profile.

    Parameters
    ----------
    profiles
        One row per profile and layer: the columns `by`, `layer` (from 0, or from 1 where a
        published profile leaves out the first block) and `value`.
        A missing value makes every estimate of its profile NaN.
    value
        Column of the profile, any unit.
    by
        Columns that tell the profiles apart.

    Returns
    -------
    One row per profile and estimator: the columns `by`, `method` (a name in `ESTIMATORS`),
    `estimate` [layers], `n_obs` (layers), `note`.

    Raises
    ------
    ColumnError
        If a column is absent.
    DesignError
        If a profile has a hole, or a layer twice.
    """
    require_columns(profiles, [*by, "layer", value])
    rows = []
    for key, layers in profiles.groupby(list(by), sort=True, dropna=False):
        profile, first = _in_order(layers, value, str(key))
        named = dict(zip(by, key, strict=True))
        for method, estimator in ESTIMATORS.items():
            number = estimator(profile) + first
            note = "" if math.isfinite(number) else _reason(profile)
            rows.append(
                named | {"method": method, "estimate": number, "n_obs": len(profile), "note": note}
            )
    columns = [*by, "method", "estimate", "n_obs", "note"]
    glossary.checked(columns, also=by)
    return pd.DataFrame(rows, columns=columns)


def prompt_bootstrap(
    profiles: pd.DataFrame,
    *,
    value: str,
    rng: np.random.Generator,
    n_resamples: int = 1999,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Return the primary L* of one model with an interval over resampled prompts.

    The estimator reads the mean profile over prompts; of the normalised trace it is the primary L*.

    Parameters
    ----------
    profiles
        One row per prompt and layer: `prompt_id`, `layer`, `value`. A missing value anywhere
        makes the mean over prompts missing there, and with it the estimate.
    value
        Column of the profile.
    rng
        Source of the draws.
    n_resamples
        Resamples to draw.
    conf_level
        Nominal coverage of the interval.

    Returns
    -------
    One row: `term`, `estimate` [layers], `std_error`, percentile interval, `n_obs` (prompts),
    `n_resamples`, `n_failed`, `method`, `note`.

    Raises
    ------
    ColumnError
        If a column is absent.
    DesignError
        If there are fewer than two prompts, the prompts' layers are not 0 to L - 1, or
        too few resamples have an L*.
    """
    require_conf_level(conf_level)
    by_prompt = _matrix(profiles, value)
    replicates = _replicates(by_prompt, rng, n_resamples)
    estimate = argmax_interior_gradient(by_prompt.mean(axis=0))
    low, high, spread = math.nan, math.nan, math.nan
    if math.isfinite(estimate):
        low, high = interval(replicates, conf_level)
        spread = float(np.nanstd(replicates, ddof=1))
    result = pd.DataFrame(
        {
            "term": ["l_star"],
            "estimate": [estimate],
            "std_error": [spread],
            "conf_low": [low],
            "conf_high": [high],
            "conf_level": [conf_level],
            "n_obs": [len(by_prompt)],
            "n_resamples": [n_resamples],
            "n_failed": [int(np.isnan(replicates).sum())],
            "method": ["argmax_interior_gradient of the mean profile, percentile bootstrap"],
            "note": ["" if math.isfinite(estimate) else _reason(by_prompt.mean(axis=0))],
        }
    )
    glossary.checked(result.columns)
    return result


def prompt_distribution(
    profiles: pd.DataFrame, *, value: str, rng: np.random.Generator, n_resamples: int = 1999
) -> pd.DataFrame:
    """Return how often each layer is the primary L* when prompts are resampled.

    ``profiles``, ``value``, ``rng`` and errors are those of `prompt_bootstrap`.

    Returns
    -------
    One row per layer: `layer`, `probability` [share of the resamples]. The shares add up to
    less than 1 when resamples have no L*.
    """
    by_prompt = _matrix(profiles, value)
    replicates = _replicates(by_prompt, rng, n_resamples)
    n_layers = by_prompt.shape[1]
    named = replicates[np.isfinite(replicates)].astype(np.intp)
    counts = np.bincount(named, minlength=n_layers)
    result = pd.DataFrame({"layer": range(n_layers), "probability": counts / n_resamples})
    glossary.checked(result.columns)
    return result


def constant_share(models: pd.DataFrame) -> pd.DataFrame:
    """Predict L* of each model as a constant share of its depth, learnt from other suites.

    Parameters
    ----------
    models
        One row per model: `suite`, `n_layers`, `estimate` (its L*).

    Returns
    -------
    The rows with `fitted`: n_layers times the mean of estimate / n_layers over the models of
    all other suites [layers].

    Raises
    ------
    DesignError
        If there are fewer than two suites.
    """
    share = pd.Series(numbers(models, "estimate") / numbers(models, "n_layers"), models.index)
    suites = models["suite"]
    if suites.nunique() < 2:
        raise DesignError(
            f"A share learnt from other suites needs at least 2 suites; found {suites.nunique()}.",
            "Measure models of another suite.",
        )
    learnt = {suite: share[suites != suite].mean() for suite in suites.unique()}
    return models.assign(fitted=models["n_layers"] * suites.map(learnt))


def _replicates(by_prompt: Floats, rng: np.random.Generator, n_resamples: int) -> Floats:
    """Return the primary L* of the mean profile of each resample of prompts."""
    chosen = draws(len(by_prompt), n_resamples, rng)
    return steepest(by_prompt[chosen].mean(axis=1))


def _matrix(profiles: pd.DataFrame, value: str) -> Floats:
    """Return the profiles of the prompts as an array (prompts, layers)."""
    require_columns(profiles, ["prompt_id", "layer", value])
    rows = [
        _in_order(layers, value, str(prompt_id))[0]
        for prompt_id, layers in profiles.groupby("prompt_id", sort=True)
    ]
    if len(rows) < 2 or len({len(row) for row in rows}) > 1:
        raise DesignError(
            "At least two prompts must have profiles of one depth; found "
            f"{len(rows)} prompts with depths {sorted({len(row) for row in rows})}.",
            "Pass the rows of one run.",
        )
    return np.stack(rows)


def _in_order(layers: pd.DataFrame, value: str, name: str) -> tuple[Floats, int]:
    """Return one profile in the order of its layers, and its first layer."""
    ordered = layers.sort_values("layer")
    first = int(ordered["layer"].iloc[0])
    if ordered["layer"].tolist() != list(range(first, first + len(ordered))):
        raise DesignError(
            f"A profile must have each layer once; {name} has {ordered['layer'].tolist()}.",
            "Keep missing layers as rows without a value, and name every column that tells "
            "profiles apart.",
        )
    return np.asarray(ordered[value].to_numpy(dtype=np.float64, na_value=np.nan)), first


def _reason(profile: Floats) -> str:
    """Return why a profile has no L* by some estimator."""
    missing = int((~np.isfinite(profile)).sum())
    if missing:
        return f"{missing} of {len(profile)} values are missing."
    return "The profile has no such layer."
