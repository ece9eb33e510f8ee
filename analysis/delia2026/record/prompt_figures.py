"""The paper's Figures 6 and 7 as frames: gain by size of the model, and prompt by prompt.

Both come from the sweep over the Pythia models, whose file holds the gain of every prompt.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.audit import evidence
from analysis.audit.evidence import quoted
from analysis.delia2026.record.claims_captions import apart
from analysis.store import Store
from analysis.tidy import prose

METRIC = "gain_penultimate_block"


def gains_by_size(store: Store) -> pd.DataFrame:
    """Return Figure 6: one row per Pythia model, the smallest first.

    Columns are `model_id`, `model`, `lab`, `parameters` [10^9], `n_layers`, `rho` (head density),
    `n_prompts`, `gain_mean`, and one standard deviation over prompts to each side of it,
    `gain_low` and `gain_high` [ratio].
    """
    gains = evidence.published_gains(store, METRIC, [evidence.PYTHIA])
    rows = gains.assign(
        model=prose.short_name(gains["model_id"]),
        parameters=10 ** (gains["log_parameters"] - 9),
        gain_low=gains["gain_mean"] - gains["gain_sd"],
        gain_high=gains["gain_mean"] + gains["gain_sd"],
    )
    columns = ["model_id", "model", "lab", "parameters", "n_layers", "rho", "n_prompts"]
    columns += ["gain_mean", "gain_low", "gain_high"]
    return rows[columns].sort_values("parameters", ignore_index=True)


def gains_by_prompt(store: Store) -> pd.DataFrame:
    """Return Figure 7: one row per Pythia model and prompt, the smallest model first.

    Columns are `model`, `prompt_id`, `gain` [ratio] and `is_apart`: whether the gain stands apart
    from those of all models (`claims_captions.apart`).
    """
    values = evidence.raw_values(store, METRIC, [evidence.PYTHIA])
    sizes = gains_by_size(store)[["model_id", "model", "parameters"]]
    rows = values.assign(is_apart=apart(values)).merge(sizes, on="model_id")
    rows = rows.sort_values(["parameters", "prompt_id"], ignore_index=True)
    return rows.rename(columns={"value": "gain"})[["model", "prompt_id", "gain", "is_apart"]]


def printed_correlation(store: Store) -> str:
    """Return r of depth and gain as Figures 1 and 6 print it."""
    return quoted.text(store, "Fig. 1", "correlation", "Pythia")


def correlation(models: pd.DataFrame, column: str) -> float:
    """Return Pearson's correlation of a column of `gains_by_size` with the gain."""
    return float(np.corrcoef(models[column], models["gain_mean"])[0, 1])
