"""Whether a model dampens or expands, given what its prompts leave open."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from analysis.inference.resampling.bootstrap import draws, interval
from analysis.store import Store
from analysis.tidy.defaults import BAND
from analysis.tidy.errors import AnalysisError
from analysis.tidy.frame import nearest


def signs(
    store: Store,
    metric: str,
    *,
    rng: np.random.Generator,
    band: float = BAND,
    n_resamples: int = 1999,
) -> pd.DataFrame:
    """Return the sign of the mean log gain of each measured model, from its prompts.

    A model dampens or expands when its interval excludes a log gain of 0 and the mean lies
    farther from 0 than the band; otherwise its sign is not identified. With ``band=0`` the
    interval decides alone.

    Parameters
    ----------
    store
        Measurements; primary runs count.
    metric
        Definition of gain, as in the view `prompt_gain`.
    rng
        Source of the draws.
    band
        Half width of the neutral band [nat], at least 0.
    n_resamples
        Resamples of the prompts.

    Returns
    -------
    One row per primary run: `model_id`, `prompt_set`, `estimate` (mean log gain) and its 95 %
    percentile interval `conf_low`, `conf_high` [nat], `n_obs` (prompts), `sign`.

    Raises
    ------
    AnalysisError
        If no gain of that definition was measured, or the band is no length.
    """
    if not 0 <= band < math.inf:
        raise AnalysisError(
            f"A band must be a finite log gain of at least 0; found {band:g}.",
            f"Give 0 for none, or {BAND:g} for the rounding of half precision.",
        )
    gains = store.query(
        """
        SELECT g.model_id, r.prompt_set, g.metric, g.log_gain
          FROM prompt_gain AS g
          JOIN primary_run AS r USING (run_id)
         ORDER BY g.model_id, r.prompt_set, g.metric, g.prompt_id
        """
    )
    known = sorted(gains["metric"].unique())
    if metric not in known:
        hint = f"Did you mean {nearest(metric, known)!r}?" if known else "Measure a model first."
        raise AnalysisError(f"A gain must be one that was measured; {metric!r} is not.", hint)
    meant = gains[gains["metric"] == metric]
    rows = []
    for (model_id, prompt_set), prompts in meant.groupby(["model_id", "prompt_set"], sort=True):
        values = prompts["log_gain"].to_numpy(dtype=np.float64)
        means = values[draws(len(values), n_resamples, rng)].mean(axis=1)
        estimate = float(values.mean())
        low, high = interval(means, estimate, 0.95)
        rows.append(
            {
                "model_id": model_id,
                "prompt_set": prompt_set,
                "estimate": estimate,
                "conf_low": low,
                "conf_high": high,
                "n_obs": len(values),
                "sign": _sign(estimate, low, high, band),
            }
        )
    return pd.DataFrame(rows)


def without_gain(store: Store, metric: str) -> list[str]:
    """Return the models whose primary runs over prompts have no gain of a definition.

    A network of one block, for example, has neither a body nor a block before the last.
    """
    found = store.query(
        """
        SELECT DISTINCT model_id
          FROM primary_run
          ANTI JOIN (SELECT run_id FROM prompt_gain WHERE metric = $metric) USING (run_id)
         WHERE kind = 'prompts'
         ORDER BY model_id
        """,
        metric=metric,
    )
    return [str(model_id) for model_id in found["model_id"]]


def _sign(estimate: float, low: float, high: float, band: float) -> str:
    """Return the sign that interval and band leave."""
    if high < 0 and estimate < -band:
        return "dampen"
    if low > 0 and estimate > band:
        return "expand"
    return "not identified"
