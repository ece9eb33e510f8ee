"""Profiles over depth of the models measured here: the frames behind their figures.

Each function returns one row per model and layer, averaged over the prompts of the primary
runs; each ``*_found`` states what its figure shows, in words for a sentence.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.store import Store
from analysis.tidy import prose


def stream(store: Store) -> pd.DataFrame:
    """Return the length of the stream at the last token, and the gain of each block.

    Returns
    -------
    One row per model and layer, -1 for the input of block 0: `family`, `suite`, `model_id`,
    `layer`, `log_norm` and `log_gain` [nat], the latter missing at layer -1.
    """
    return store.query(
        """
        SELECT m.family, m.suite, l.model_id, l.layer,
               avg(ln(nullif(l.last_token, 0))) AS log_norm,
               avg(g.log_gain)                  AS log_gain
          FROM stream_length AS l
          JOIN primary_run AS r USING (run_id)
          JOIN model AS m ON m.model_id = l.model_id
          LEFT JOIN last_token_gain AS g
            ON g.run_id = l.run_id
           AND g.prompt_id = l.prompt_id
           AND g.layer = l.layer
         GROUP BY m.family, m.suite, l.model_id, l.layer
         ORDER BY m.family, m.suite, l.model_id, l.layer
        """
    )


def stream_found(store: Store) -> dict[str, str]:
    """Return by how much the stream grows, and how many models have massive tokens, in words."""
    ends = stream(store).groupby("model_id", sort=True)["log_norm"].agg(["first", "last"])
    growth = np.exp(ends["last"] - ends["first"])
    massive = store.query(
        """
        SELECT count(DISTINCT a.model_id) AS n_models
          FROM massive_activation AS a
          JOIN primary_run AS r USING (run_id)
        """
    )["n_models"].item()
    return {
        "least": prose.number(growth.min(), 1),
        "most": prose.number(growth.max(), 1),
        "massive_models": prose.share_of(int(massive), len(growth)),
    }


def updates(store: Store) -> pd.DataFrame:
    """Return how large the updates of each sub-layer are and which way they point.

    Returns
    -------
    One row per model, layer and part (attention or ffn): `family`, `suite`, `model_id`,
    `n_layers`, `layer`, `part`, `log_ratio` [nat] and `cosine` [1] over the body tokens.
    """
    return store.query(
        """
        SELECT m.family, m.suite, u.model_id, m.n_layers, u.layer, u.part,
               avg(u.log_ratio_body) AS log_ratio,
               avg(u.cosine_body)    AS cosine
          FROM update_profile AS u
          JOIN primary_run AS r USING (run_id)
          JOIN model AS m ON m.model_id = u.model_id
         WHERE u.part <> 'block'
         GROUP BY m.family, m.suite, u.model_id, m.n_layers, u.layer, u.part
         ORDER BY m.family, m.suite, u.model_id, u.layer, u.part
        """
    )


def updates_found(blocks: pd.DataFrame) -> dict[str, str]:
    """Return how often each part writes against the stream, and its largest update, in words.

    ``blocks`` is what `updates` returns.
    """
    words = {}
    for part, rows in blocks.groupby("part", sort=True):
        later = rows[rows["layer"] > 0]
        words[f"{part}_against"] = prose.share_of(int((later["cosine"] < 0).sum()), len(later))
        words[f"{part}_largest"] = prose.number(float(np.exp(later["log_ratio"].max())))
    return words


def attention(store: Store) -> pd.DataFrame:
    """Return how evenly each layer attends and how much of it goes to the first token.

    Returns
    -------
    One row per model and layer: `family`, `suite`, `model_id`, `layer`, `relative_entropy`
    [1], `sink_share` [1], `sink_share_off_diagonal` [1], `distance` [tokens].
    """
    return store.query(
        """
        SELECT m.family, m.suite, a.model_id, a.layer,
               avg(a.relative_entropy)        AS relative_entropy,
               avg(a.sink_share)              AS sink_share,
               avg(a.sink_share_off_diagonal) AS sink_share_off_diagonal,
               avg(a.distance)                AS distance
          FROM attention_profile AS a
          JOIN primary_run AS r USING (run_id)
          JOIN model AS m ON m.model_id = a.model_id
         GROUP BY m.family, m.suite, a.model_id, a.layer
         ORDER BY m.family, m.suite, a.model_id, a.layer
        """
    )


def attention_found(layers: pd.DataFrame) -> dict[str, str]:
    """Return how entropy changes over depth and what the first token takes, in words.

    ``layers`` is what `attention` returns.
    """
    ends = layers.groupby("model_id", sort=True)["relative_entropy"].agg(["first", "last"])
    return {
        "falls": prose.share_of(int((ends["last"] < ends["first"]).sum()), len(ends)),
        "least": prose.percent(layers["sink_share"].min()),
        "most": prose.percent(layers["sink_share"].max()),
    }


def geometry(store: Store) -> pd.DataFrame:
    """Return how alike the vectors of a prompt's tokens are, over depth.

    Returns
    -------
    One row per model and layer, -1 for the input of block 0: `family`, `suite`, `model_id`,
    `layer`, `anisotropy` (mean cosine over pairs of tokens without the first) [1],
    `relative_rank` (effective rank over the most it can be) [1].
    """
    return store.query(
        """
        WITH depths AS (
            SELECT g.model_id,
                   CASE g.site WHEN 'block_input' THEN -1 ELSE g.layer END AS layer,
                   g.mean_cosine_body,
                   g.relative_rank
              FROM geometry_profile AS g
              JOIN primary_run AS r USING (run_id)
             WHERE g.site = 'block_output'
                OR (g.site = 'block_input' AND g.layer = 0)
        )
        SELECT m.family, m.suite, d.model_id, d.layer,
               avg(d.mean_cosine_body) AS anisotropy,
               avg(d.relative_rank)    AS relative_rank
          FROM depths AS d
          JOIN model AS m USING (model_id)
         GROUP BY m.family, m.suite, d.model_id, d.layer
         ORDER BY m.family, m.suite, d.model_id, d.layer
        """
    )


def geometry_found(layers: pd.DataFrame) -> dict[str, str]:
    """Return whether tokens grow alike over depth, in words; ``layers`` is from `geometry`."""
    models = layers.groupby("model_id", sort=True)
    cosine = models["anisotropy"].agg(["first", "last"])
    rank = models["relative_rank"].agg(["first", "last"])
    return {
        "rises": prose.share_of(int((cosine["last"] > cosine["first"]).sum()), len(cosine)),
        "least": prose.number(cosine["last"].min()),
        "most": prose.number(cosine["last"].max()),
        "rank_falls": prose.share_of(int((rank["last"] < rank["first"]).sum()), len(rank)),
    }


def circuit(store: Store) -> pd.DataFrame:
    """Return the size of what the heads write for what they read, with the norm folded in.

    Returns
    -------
    One row per model and layer: `family`, `suite`, `model_id`, `layer`, `sigma_max` [weight
    units] and `stable_rank` [1] of W_O W_V diag(gain), median over the layer's heads, and
    `value_sigma_max` [weight units] of W_V alone.
    """
    return store.query(
        """
        SELECT m.family, m.suite, ov.model_id, ov.layer,
               ov.sigma_max, ov.stable_rank, v.sigma_max AS value_sigma_max
          FROM layer_head AS ov
          JOIN primary_run AS r USING (run_id)
          JOIN model AS m ON m.model_id = ov.model_id
          LEFT JOIN layer_head AS v
            ON v.run_id = ov.run_id
           AND v.layer = ov.layer
           AND v.matrix = 'V'
           AND v.slicing = 'correct'
           AND NOT v.is_folded
         WHERE ov.matrix = 'OV'
           AND ov.is_folded
           AND ov.slicing = 'correct'
         ORDER BY m.family, m.suite, ov.model_id, ov.layer
        """
    )


def circuit_found(layers: pd.DataFrame) -> dict[str, str]:
    """Return how the circuit varies over depth and whether W_V tells it, in words.

    ``layers`` is what `circuit` returns.
    """
    models = layers.groupby("model_id", sort=True)
    extremes = models["sigma_max"].agg(["min", "max"])
    spread = extremes["max"] / extremes["min"]
    agree = models["sigma_max"].idxmax() == models["value_sigma_max"].idxmax()
    return {
        "least": prose.number(spread.min(), 1),
        "most": prose.number(spread.max(), 1),
        "same_layer": prose.share_of(int(agree.sum()), len(agree)),
    }
