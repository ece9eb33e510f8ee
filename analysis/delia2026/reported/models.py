"""The models that others measured, as frames: a source and model a row, and beside the paper's."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.delia2026.hierarchy import sensitivity
from analysis.delia2026.sign.exchange import NAMED_LAB
from analysis.store import Store

#: The pooling of tokens that is the paper's.
AS_PUBLISHED = "last_token"

#: Poolings in which the first token, massive in the middle of many models, does not count.
WITHOUT_FIRST = (AS_PUBLISHED, "mean_of_lengths_without_first", "length_of_mean")

PUBLISHED, REPORTED = "published", "reported"


def gains(store: Store, *poolings: str) -> pd.DataFrame:
    """Return one row per source and model that others measured.

    Parameters
    ----------
    store
        With the tables of ``collect reported``.
    *poolings
        Those that count; none for all.

    Returns
    -------
    The columns of view ``reported_gain``, and `log_bound` [nat], the logarithm of `bound`.
    """
    return store.query(
        """
        SELECT *, ln(bound) AS log_bound
          FROM raw.reported_gain
         WHERE len($poolings) = 0 OR list_contains($poolings, pooling)
         ORDER BY source_id, model_id
        """,
        poolings=list(poolings),
    )


def blocks(store: Store) -> pd.DataFrame:
    """Return one row per block after the first of models measured at the last token.

    Sources whose lengths may not be passed on have none. Columns: `source_id`, `model_id`,
    `layer`, `gain` [ratio], `log_gain` [nat], `n_layers`, `n_heads` and `bound` [ratio].
    """
    return store.query(
        """
        SELECT b.source_id, b.model_id, b.layer, exp(avg(b.log_gain)) AS gain,
               avg(b.log_gain) AS log_gain, m.n_layers, m.n_heads::DOUBLE AS n_heads,
               gain_bound(m.n_layers) AS bound
          FROM reported_block AS b
          JOIN reported_source AS s USING (source_id)
          JOIN raw.model AS m USING (model_id)
         WHERE s.pooling = $pooling AND b.layer > 0
         GROUP BY ALL
         ORDER BY b.source_id, b.model_id, b.layer
        """,
        pooling=AS_PUBLISHED,
    )


def joint(store: Store) -> pd.DataFrame:
    """Return the paper's base models and the reported ones, by the gain that the paper plots.

    One row per base model: the paper's, then those of others measured at the last token that are
    not among them. The gain is that of the penultimate block.

    Returns
    -------
    Columns of `sensitivity.models` but the standard error, and `source` (published or reported).
    """
    theirs = sensitivity.models(store).drop(columns="std_error").assign(source=PUBLISHED)
    rows = gains(store, AS_PUBLISHED)
    rows = rows[rows["base_model_id"].isna() & ~rows["model_id"].isin(theirs["model_id"])]
    rows = rows.assign(
        depth=np.log2(rows["n_layers"]),
        size=rows["log_parameters"],
        log_gain=np.log(rows["gain_penultimate_block"]),
        heritage=(rows["lab"] == NAMED_LAB).astype(float),
        source=REPORTED,
    )
    return pd.concat([theirs, rows[theirs.columns]], ignore_index=True)
