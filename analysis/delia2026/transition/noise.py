"""What L* would be if there were nothing to find: estimators on profiles of pure noise.

An estimator names a layer of any profile. How often it names which layer of independent noise,
and how far a prediction then lies off, is the yardstick for what it names of a network.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from analysis.delia2026.transition import l_star
from analysis.tidy import glossary
from analysis.tidy.frame import Floats, numbers

#: Predictions that read no profile, as functions of depth and heads.
PREDICTIONS: dict[str, Callable[[float, float], float]] = {
    "formula": l_star.formula,
    "half_depth": lambda n_layers, _: l_star.half_depth(n_layers),
}


def steepest_anywhere(profiles: Floats) -> Floats:
    """Return the block of the largest |np.gradient| of each row, ends included.

    `l_star.argmax_abs_gradient` of many finite profiles at once. At the two ends the
    gradient is a difference of neighbours, inside it is half a difference over two layers: on
    noise an end is four times as variable, and named more often than any other block.

    >>> steepest_anywhere(np.array([[0.0, 3.0, 4.0, 4.0], [0.0, 0.0, 9.0, 9.0]])).tolist()
    [0.0, 1.0]
    """
    slopes = np.abs(np.gradient(profiles, axis=1))
    steepest: Floats = np.argmax(slopes, axis=1).astype(np.float64)
    return steepest


def errors_by_chance(
    models: pd.DataFrame, *, n_prompts: int, rng: np.random.Generator, n_draws: int = 4_000
) -> pd.DataFrame:
    """Return how far predictions lie from an L* that is read off noise.

    Each draw gives every model a noise profile per prompt, takes the largest gradient of each,
    and averages over prompts, as Fig. 5 does with its models.

    Parameters
    ----------
    models
        One row per model: `n_layers`, `n_heads`.
    n_prompts
        Profiles per model that are averaged.
    rng
        Source of the noise.
    n_draws
        Draws.

    Returns
    -------
    One row per draw and prediction: `prediction` (a name in `PREDICTIONS`), `error_over_depth`,
    the mean over models of |predicted - L*| / L [share of depth].
    """
    depths, heads = numbers(models, "n_layers"), numbers(models, "n_heads")
    layers = np.stack([_means_by_chance(int(depth), n_prompts, n_draws, rng) for depth in depths])
    rows = []
    for name, predict in PREDICTIONS.items():
        predicted = np.array([predict(*design) for design in zip(depths, heads, strict=True)])
        misses = np.abs(predicted[:, None] - layers) / depths[:, None]
        rows.append(pd.DataFrame({"prediction": name, "error_over_depth": misses.mean(axis=0)}))
    return glossary.table(pd.concat(rows, ignore_index=True))


def share_as_small(draws: pd.DataFrame, *, prediction: str, observed: float) -> float:
    """Return the chance that noise gives an error as small as observed: (b + 1) / (B + 1).

    ``draws`` is what `errors_by_chance` returns.
    """
    errors = draws.loc[draws["prediction"] == prediction, "error_over_depth"]
    return float((int((errors <= observed).sum()) + 1) / (len(errors) + 1))


def _means_by_chance(
    n_layers: int, n_prompts: int, n_draws: int, rng: np.random.Generator
) -> Floats:
    """Return the mean layer over the prompts of each draw, shape (n_draws,)."""
    noise = rng.normal(size=(n_draws * n_prompts, n_layers))
    means: Floats = steepest_anywhere(noise).reshape(n_draws, n_prompts).mean(axis=1)
    return means
