"""Published quantities beside their invariant partners: signs, and the freedom that is used.

Under LayerNorm the mean over features is free, so a raw gain is a convention and the centred one
is primary; RMSNorm removes nothing, so there the raw gain is (view ``primary_gain``).
"""

from __future__ import annotations

import pandas as pd

from analysis.store import Store
from analysis.tidy.defaults import BAND


def signs(store: Store, metric: str = "gain_last_block") -> pd.DataFrame:
    """Return the sign of each model measured here by the raw and by the centred gain.

    Parameters
    ----------
    store
        Measurements; primary runs count.
    metric
        Definition of gain, as in view ``primary_gain``.

    Returns
    -------
    One row per primary run: `model_id`, `norm_kind`, `gain_published`, `gain_centred`,
    `gain_primary` (geometric means over prompts [ratio]), `sign_published`, `sign_centred`,
    `sign_primary` (dampen or expand), `n_prompts`.
    """
    return store.query(
        """
        SELECT s.model_id, s.norm_kind, s.gain_published, s.gain_centred, s.gain_primary,
               s.sign_published, s.sign_centred, s.sign_primary, s.n_prompts
          FROM primary_sign AS s
          JOIN primary_run AS r USING (run_id)
         WHERE s.metric = $metric
         ORDER BY s.model_id, r.prompt_set
        """,
        metric=metric,
    )


def verdicts_by_gauge(store: Store) -> pd.DataFrame:
    """Return what one network would be called in each of its gauges, whose predictions agree.

    Returns
    -------
    One row per gauge: `model_id`, `gauge`, `gain_published` and `gain_centred` of the last block
    [ratio], `sign_published` and `sign_centred` (dampen, neutral or expand), and
    `largest_logit_change` against the trained weights, over the largest logit [1].
    """
    return store.query(
        """
        SELECT model_id, gauge,
               exp(arg_max(log_gain, layer))                            AS gain_published,
               exp(arg_max(log_gain_centred, layer))                    AS gain_centred,
               gain_sign(arg_max(log_gain, layer), $band)               AS sign_published,
               gain_sign(arg_max(log_gain_centred, layer), $band)       AS sign_centred,
               max(largest_logit_change)                                AS largest_logit_change
          FROM gauge_profile
         WHERE layer >= 0
         GROUP BY model_id, gauge
         ORDER BY model_id, gain_published
        """,
        band=BAND,
    )


def standings(store: Store) -> pd.DataFrame:
    """Return how many quantities are invariant, have a partner, or are conventions.

    Returns
    -------
    One row per `norm_kind` and `standing`, with `n_quantities` [1]; see view ``gauge_partner``.
    """
    return store.query(
        """
        SELECT norm_kind, standing, count(*) AS n_quantities
          FROM gauge_partner
         GROUP BY norm_kind, standing
         ORDER BY norm_kind, standing
        """
    )
