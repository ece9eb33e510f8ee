"""What is a property of the network at all: one network in several coordinates, same predictions.

A change of the weights that leaves every logit as it is (a gauge) moves most measures of the
stream. What moves says something of how the weights are written down, not of what is computed.
"""

from __future__ import annotations

import pandas as pd

from analysis.store import Store

#: Order of the gauges in legends: those of a LayerNorm's mean, and those of Gemma 4's numbers.
GAUGES = ("trained", "shrinking", "flat", "growing")
GAUGES_OF_SCALARS = ("stored", "level", "folded")


def profiles(store: Store) -> pd.DataFrame:
    """Return the stream of one network in every gauge, from table ``gauge_profile``.

    Returns
    -------
    One row per gauge and layer: `gauge`, `layer` (-1 is the input of block 0), `norm` and
    `norm_centred` [activation units]; `log_gain` and `log_gain_centred`, missing before block 0
    (means over prompts, last token) [nat]; `largest_logit_change`, over the largest logit [1].
    """
    return store.query(
        """
        SELECT gauge, layer, norm, norm_centred, log_gain, log_gain_centred, largest_logit_change
          FROM gauge_profile
         ORDER BY list_position($gauges, gauge), layer
        """,
        gauges=list(GAUGES),
    )


def profiles_of_scalars(store: Store) -> pd.DataFrame:
    """Return the stream of a tiny Gemma 4 under every choice of its blocks' stored numbers.

    Returns
    -------
    One row per gauge and layer of table ``layer_scale_profile``: `gauge`, `layer`, `layer_scale`
    [1], `norm`, `norm_net` (without the numbers) [activation units], `log_gain` [nat], and three
    differences of logits over the largest logit [1].
    """
    return store.query(
        """
        SELECT * EXCLUDE (model_id)
          FROM layer_scale_profile
         ORDER BY list_position($gauges, gauge), layer
        """,
        gauges=list(GAUGES_OF_SCALARS),
    )


def scalar_summary(store: Store) -> pd.DataFrame:
    """Return how many blocks behind the first shorten and lengthen the stream in each gauge.

    Returns
    -------
    One row per gauge of `profiles_of_scalars`: `gauge`; `n_shrink` and `n_grow` of `n_blocks`, all
    blocks but the first, by a log gain beyond rounding; `gain_last_block` [ratio]; and the three
    differences of logits over the largest logit [1].
    """
    return store.query(
        """
        SELECT gauge,
               count(*) FILTER (WHERE log_gain < -1e-9)  AS n_shrink,
               count(*) FILTER (WHERE log_gain > 1e-9)   AS n_grow,
               count(*)                                  AS n_blocks,
               exp(arg_max(log_gain, layer))             AS gain_last_block,
               max(logit_change)                         AS logit_change,
               max(logit_change_one_epsilon)             AS logit_change_one_epsilon,
               max(logit_change_float32)                 AS logit_change_float32
          FROM layer_scale_profile
         WHERE layer > 0
         GROUP BY gauge
         ORDER BY list_position($gauges, gauge)
        """,
        gauges=list(GAUGES_OF_SCALARS),
    )


def norm_kinds(store: Store) -> pd.DataFrame:
    """Return in how many of the paper's models the sign of the raw gain is free.

    The mean over features is free at every depth where every norm is a LayerNorm in front of a
    sub-layer, so a gain takes any value there. Where the norms stand behind the sub-layers it is
    free after every block but the last, so the gain of the penultimate block is; see view
    ``gain_freedom``.

    Returns
    -------
    One row: `n_models`, models with a published gain of their last or penultimate block;
    `n_free`, those of them in which it is free, and `n_behind`, those of these whose norms stand
    behind the sub-layers [1].
    """
    return store.query(
        """
        SELECT count(*) FILTER (WHERE is_free)                              AS n_free,
               count(*) FILTER (WHERE is_free AND norm_position = 'post')   AS n_behind,
               count(*)                                                     AS n_models
          FROM gain_freedom
        """
    )


def raw_against_centred(store: Store) -> pd.DataFrame:
    """Return how far raw and centred gain agree in the LayerNorm models measured here.

    Returns
    -------
    One row: `n_models`, `n_gains` (prompt by block, block 0 included), `n_same_sign` and `n_shrink`
    (raw gain below 1) of them, and `largest_difference` of the two log gains after block 0 [nat].
    """
    return store.query(
        """
        SELECT count(DISTINCT model_id)                                 AS n_models,
               count(*)                                                 AS n_gains,
               count(*) FILTER (WHERE (log_gain < 0) = (log_gain_centred < 0)) AS n_same_sign,
               count(*) FILTER (WHERE log_gain < 0)                     AS n_shrink,
               max(abs(log_gain - log_gain_centred)) FILTER (WHERE layer > 0) AS largest_difference
          FROM function_gain
         WHERE norm_kind = 'LayerNorm'
        """
    )


def largest_mean_share(store: Store) -> pd.DataFrame:
    """Return how much of the stream's squared norm lies along the mean over features at most.

    Returns
    -------
    One row per `place` (``embedding`` or ``blocks``) with `share` and `share_upper` [1], the
    largest median and the largest 90th percentile over tokens of the models and depths measured
    here, LayerNorm models only.
    """
    return store.query(
        """
        SELECT CASE layer WHEN -1 THEN 'embedding' ELSE 'blocks' END AS place,
               max(share)       AS share,
               max(share_upper) AS share_upper
          FROM mean_share
          JOIN raw.model USING (model_id)
         WHERE norm_kind = 'LayerNorm'
         GROUP BY place
        """
    )
