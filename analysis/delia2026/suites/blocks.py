"""The published gains of single blocks, and the quarter of its network that each block lies in.

Block 0 sets the scale of the stream and is left out, as are post-norm models, whose gain is 1 by
construction. Profiles end at the penultimate block: the files hold no gain of the last.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.store import Store

#: Quarters of the blocks 1 to L-2 of a model, in their order.
QUARTERS = ("first quarter", "second quarter", "third quarter", "last quarter")


def published_blocks(store: Store) -> pd.DataFrame:
    """Return the published log gains of blocks, one row per base model and block after 0.

    Returns
    -------
    `model_id`, `lab`, `suite`, `n_layers` [blocks], `layer`, `log_gain` [nat] (mean of the
    logarithms over the files that have the block) and `part`, the quarter of the model's published
    blocks after 0, the same number of blocks each as nearly as can be.
    """
    rows = store.query(
        """
        SELECT p.model_id, m.lab, m.suite, m.n_layers, p.layer, avg(ln(p.value)) AS log_gain
          FROM published_profile AS p
          JOIN raw.model AS m USING (model_id)
         WHERE p.metric = 'gain_block'
           AND p.layer > 0
           AND m.base_model_id IS NULL
           AND m.norm_position IS DISTINCT FROM 'post'
         GROUP BY ALL
         ORDER BY p.model_id, p.layer
        """
    )
    quarter = (4 * (rows["layer"] - 1)) // (rows["n_layers"] - 2)
    return rows.assign(part=np.array(QUARTERS, dtype=object)[quarter])


def counted(store: Store) -> dict[str, int]:
    """Return how many gains were published, and how many rows and models are left of them.

    Returns
    -------
    `published` (gains after block 0 in half precision), `published_models`, `blocks` and
    `models` (rows of `published_blocks`), and `depth`, the mean number of blocks over these rows,
    to which a model gives the more, the deeper it is.
    """
    rows = store.query(
        """
        SELECT count(*) AS n_gains, count(DISTINCT model_id) AS n_models
          FROM published_profile
         WHERE metric = 'gain_block' AND layer > 0 AND dtype = 'fp16'
        """
    )
    blocks = published_blocks(store)
    return {
        "published": int(rows["n_gains"].iloc[0]),
        "published_models": int(rows["n_models"].iloc[0]),
        "blocks": len(blocks),
        "models": int(blocks["model_id"].nunique()),
        "depth": round(blocks["n_layers"].mean()),
    }
