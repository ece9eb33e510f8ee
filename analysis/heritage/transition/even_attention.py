"""What attention that looks back evenly would give: the line to read the profiles against."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import digamma, gammaln

from analysis.store import Store


def even_attention(store: Store) -> dict[str, float]:
    """Return the mean relative entropy and sink share of even causal attention [1].

    Row i of such a map gives each of the i tokens up to it the share 1/i. Keys are
    `relative_entropy` and `sink_share`; the mean is over models and their prompts of the primary
    runs, as that of the profiles.
    """
    prompts = store.query(
        """
        SELECT DISTINCT a.model_id, a.prompt_id, a.n_tokens
          FROM attention_layer AS a
          JOIN primary_run AS r USING (run_id)
         WHERE a.n_tokens > 1
        """
    )
    return {str(name): float(share.mean()) for name, share in even_map(prompts["n_tokens"]).items()}


def even_map(n_tokens: pd.Series[int]) -> pd.DataFrame:
    """Return relative entropy and sink share of an even causal map over so many tokens.

    The mean of ln i over the rows is ln(n!) / n, that of 1/i is the harmonic number over n.

    >>> even_map(pd.Series([2])).round(3).to_dict("list")
    {'relative_entropy': [0.5], 'sink_share': [0.75]}
    """
    n = n_tokens.to_numpy(dtype="float64")
    return pd.DataFrame(
        {
            "relative_entropy": gammaln(n + 1) / (n * np.log(n)),
            "sink_share": (digamma(n + 1) + np.euler_gamma) / n,
        }
    )
