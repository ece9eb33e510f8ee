"""The models on which suites, labs, depth and size compete: one row each, published figures."""

from __future__ import annotations

import pandas as pd

from analysis.audit import evidence
from analysis.store import Store

#: The definition of gain that most models were published with: of the penultimate block.
PENULTIMATE = "gain_penultimate_block"

#: Columns that say how a model is shaped beside its depth, and how large it is.
SHAPE = ("rho", "d_head")
DEPTH, SCALE = "n_layers", "log_parameters"

COLUMNS = ["model_id", "lab", "suite", DEPTH, *SHAPE, SCALE, "gain_mean", "log_gain"]


def base_models(store: Store) -> pd.DataFrame:
    """Return one row per base model with a published gain, post-norm models left out.

    Fine-tuned models are no draws of their own from a suite, and the gain of a post-norm block
    is 1 by construction.

    Returns
    -------
    `model_id`, `lab`, `suite`, `n_layers` [blocks], `rho` [1], `d_head` [1], `log_parameters`
    [decades], `gain_mean` [ratio] and `log_gain` [nat], by suite and depth.
    """
    gains = evidence.base_gains(store, PENULTIMATE)
    rows = evidence.without_post_norm(gains)[COLUMNS]
    return rows.sort_values(["suite", "n_layers", "model_id"], ignore_index=True)
