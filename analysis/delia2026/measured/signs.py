"""Whether a model dampens or expands, given what its prompts leave open."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import scipy

from analysis.store import Store
from analysis.tidy.defaults import BAND
from analysis.tidy.errors import AnalysisError
from analysis.tidy.frame import nearest

#: Fewest prompts that an interval is given for: with less the normal assumption is all it rests on.
MINIMUM_PROMPTS = 5

#: What a row is about, and under which conditions it was measured.
KEYS = ["model_id", "prompt_set", "rendering", "special_tokens"]


def signs(store: Store, metric: str, *, band: float = BAND) -> pd.DataFrame:
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
    band
        Half width of the neutral band [nat], at least 0.

    Returns
    -------
    One row per primary run: `model_id`, `prompt_set`, `rendering` and `special_tokens` of its
    prompts, `estimate` (mean log gain) and Student's 95 % interval `conf_low`, `conf_high` of
    it [nat], `n_obs` (prompts), `sign`. With fewer than `MINIMUM_PROMPTS` prompts no interval
    is given and the sign is not identified.

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
        SELECT r.model_id, r.prompt_set, r.rendering, r.special_tokens, g.metric, g.log_gain
          FROM raw.prompt_gain AS g
          JOIN primary_run AS p USING (run_id)
          JOIN run AS r ON r.run_id = p.run_id AND r.prompt_set = p.prompt_set
         ORDER BY r.model_id, r.prompt_set, g.metric, g.prompt_id
        """
    )
    known = sorted(gains["metric"].unique())
    if metric not in known:
        hint = f"Did you mean {nearest(metric, known)!r}?" if known else "Measure a model first."
        raise AnalysisError(f"A gain must be one that was measured; {metric!r} is not.", hint)
    rows = gains[gains["metric"] == metric].groupby(KEYS, sort=True)["log_gain"]
    return pd.DataFrame(
        dict(zip(KEYS, key, strict=True)) | _prompt_sign(values.to_numpy(dtype=np.float64), band)
        for key, values in rows
    )


def models_without_gain(store: Store, metric: str) -> list[str]:
    """Return the models whose primary runs over prompts have no gain of a definition.

    A network of one block, for example, has neither a body nor a block before the last.
    """
    rows = store.query(
        """
        SELECT DISTINCT model_id
          FROM primary_run
          ANTI JOIN (SELECT run_id FROM raw.prompt_gain WHERE metric = $metric) USING (run_id)
         WHERE kind = 'prompts'
         ORDER BY model_id
        """,
        metric=metric,
    )
    return [str(model_id) for model_id in rows["model_id"]]


def _prompt_sign(log_gains: np.ndarray, band: float) -> dict[str, float | int | str]:
    """Return mean, interval and sign of the log gains of one run's prompts."""
    estimate, low, high = float(log_gains.mean()), math.nan, math.nan
    if len(log_gains) >= MINIMUM_PROMPTS:
        low, high = map(float, scipy.stats.ttest_1samp(log_gains, 0.0).confidence_interval(0.95))
    sign = "not identified"
    if high < 0 and estimate < -band:
        sign = "dampen"
    if low > 0 and estimate > band:
        sign = "expand"
    return {
        "estimate": estimate,
        "conf_low": low,
        "conf_high": high,
        "n_obs": len(log_gains),
        "sign": sign,
    }
