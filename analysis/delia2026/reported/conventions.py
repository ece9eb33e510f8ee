"""Whether sources count blocks alike: one model in several, and each moved by one block.

A body gain hardly tells: moved by one block it changes as little as another prompt changes it. What
each block does tells: two sources of one model, or of two of one recipe, agree best where no block
is moved.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from analysis.store import Store

#: By how many blocks one profile is moved against the other.
SHIFTS = (-1, 0, 1)

#: Models of one recipe that differ in context and instructions alone, beside models of one name.
ALIKE = {
    "meta-llama/Meta-Llama-3-8B": "Llama 3 8B",
    "meta-llama/Llama-3.1-8B": "Llama 3 8B",
    "meta-llama/Llama-3.1-8B-Instruct": "Llama 3 8B",
    "deepseek-ai/DeepSeek-R1-Distill-Llama-8B": "Llama 3 8B",
}


def agreement(lengths: pd.DataFrame) -> pd.DataFrame:
    """Return how well profiles of one network agree, as they are and moved by one block.

    Parameters
    ----------
    lengths
        Rows of table ``reported_norm``: `source_id`, `model_id`, `series`, `layer`, `norm`.

    Returns
    -------
    One row per pair of profiles and `shift`, the number of blocks by which the second is moved:
    `first`, `second` (source and model), `estimate` (Spearman's correlation of the log gains of
    the blocks after the first that both have), `n_obs`.
    """
    logs = lengths.assign(log=np.log(lengths["norm"].astype(float)))
    wide = logs.pivot_table(index=["source_id", "model_id"], columns="layer", values="log")
    gains = wide.diff(axis=1)
    rows = []
    for one, other in combinations(gains.index, 2):
        if ALIKE.get(one[1], one[1]) != ALIKE.get(other[1], other[1]):
            continue
        for shift in SHIFTS:
            both = pd.DataFrame({"x": gains.loc[one], "y": gains.loc[other].shift(shift)}).dropna()
            both = both[both.index > 0]
            rows.append(
                {
                    "first": f"{one[0]}: {one[1]}",
                    "second": f"{other[0]}: {other[1]}",
                    "shift": shift,
                    "estimate": both["x"].corr(both["y"], "spearman"),
                    "n_obs": len(both),
                }
            )
    return pd.DataFrame(rows)


def shipped(store: Store) -> pd.DataFrame:
    """Return `agreement` of the lengths that are shipped."""
    return agreement(store.query("FROM reported_norm"))


def best(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per pair of `agreement`: the correlation by `shift`, and the best `shift`."""
    wide = table.pivot_table(index=["first", "second"], columns="shift", values="estimate")
    return wide.assign(best=wide.idxmax(axis=1)).reset_index()


def beside_paper(store: Store) -> pd.DataFrame:
    """Return the gains of models that the paper's files have too.

    Returns
    -------
    One row per source, model and metric: `source_id`, `model_id`, `metric`, `pooling`, `estimate`
    (reported), `published` (mean over the paper's prompts), `log_sd` (over these prompts, to first
    order; missing where the file has none) [nat] and `n_prompts` of the paper's figure.
    """
    return store.query(
        """
        SELECT r.file AS source_id, r.model_id, r.metric, r.pooling, r.gain_mean AS estimate,
               p.gain_mean AS published, p.gain_sd / p.gain_mean AS log_sd, p.n_prompts
          FROM gain_by_model AS r
          JOIN gain_by_model AS p
            ON p.model_id = r.model_id AND p.metric = r.metric AND p.source = 'published'
         WHERE r.source = 'reported'
           AND r.metric IN ('gain_body', 'gain_last_block')
       QUALIFY row_number() OVER (
                   PARTITION BY r.file, r.model_id, r.metric
                       ORDER BY p.n_prompts DESC, p.gain_sd IS NULL, p.file) = 1
         ORDER BY r.model_id, r.metric, r.file
        """
    )
