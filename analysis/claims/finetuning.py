"""Claims about fine-tuning: how far instruction tuning moves the gain."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from analysis.claims import evidence
from analysis.claims.claim import Check, Claim
from analysis.store import Store

#: Base model each instruct model was compared with; for Mistral not the model it was tuned from.
COMPARED = {
    "google/gemma-7b-it": "google/gemma-7b",
    "meta-llama/Llama-3.1-8B-Instruct": "meta-llama/Llama-3.1-8B",
    "mistralai/Mistral-7B-Instruct-v0.2": "mistralai/Mistral-7B-v0.1",
}


def twins(store: Store) -> pd.DataFrame:
    """Return one row per pair compared: both gains, their ratio, whether the lineage is true."""
    gains = evidence.published_gains(store, "gain_last_block", [evidence.TWINS])
    tuned = gains[gains["model_id"].isin(COMPARED)].assign(
        compared=lambda rows: rows["model_id"].map(COMPARED)
    )
    pairs = tuned.merge(
        gains[["model_id", "gain_mean", "gain_sd"]],
        left_on="compared",
        right_on="model_id",
        suffixes=("", "_base"),
    )
    return pairs.assign(
        ratio=pairs["gain_mean"] / pairs["gain_mean_base"],
        is_lineage=pairs["base_model_id"] == pairs["compared"],
    )


def magnitude(store: Store) -> Sequence[Check]:
    """Check claim 47: instruction tuning changes the gain by up to 50 %."""
    pairs = twins(store)
    return [
        _largest_change("the three pairs compared", pairs),
        _largest_change("pairs where one was tuned from the other", pairs[pairs["is_lineage"]]),
    ]


def gemma(store: Store) -> Sequence[Check]:
    """Check claim 48: Gemma goes from 2.32 to 1.15."""
    pairs = twins(store)
    chosen = pairs[pairs["model_id"] == "google/gemma-7b-it"]
    part, condition = "2.32 before, 1.15 after", "gain of the last block, bf16, 25 prompts"
    if chosen.empty:
        return [evidence.missing(part, condition, "the pair's figures are not in the store")]
    row = chosen.iloc[0]
    holds = evidence.rounds_to(row["gain_mean_base"], "2.32") and evidence.rounds_to(
        row["gain_mean"], "1.15"
    )
    return [
        evidence.check(
            part,
            condition,
            holds,
            chosen,
            estimate=row["ratio"],
            method="ratio of mean gains, instruct over base",
            note=f"{row['gain_mean_base']:.4f} before, {row['gain_mean']:.4f} after.",
        )
    ]


def _largest_change(condition: str, pairs: pd.DataFrame) -> Check:
    part = "the largest change is 50 %"
    if pairs.empty:
        return evidence.missing(part, condition, "no pair is in the store")
    ordered = pairs.assign(change=(pairs["ratio"] - 1).abs()).sort_values("change")
    largest = ordered.iloc[-1]
    change = largest["change"]
    return evidence.check(
        part,
        condition,
        evidence.rounds_to(100 * change, "50"),
        pairs,
        estimate=change,
        method="largest |instruct / base - 1| of the mean gains",
        note=f"Found in {largest['model_id']}; {len(pairs)} pairs.",
    )


CLAIMS = (
    Claim(
        47,
        "Largest relative change of the mean gain between a base model and its instruct version",
        "The largest change prints as 50 %.",
        magnitude,
    ),
    Claim(
        48,
        "Mean gains of Gemma-7B before and after instruction tuning",
        "The means print as 2.32 and 1.15.",
        gemma,
    ),
)
