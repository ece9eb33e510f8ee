"""The claim about the unified benchmark: the order of four models."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from analysis.audit import evidence
from analysis.audit.claim import Line
from analysis.audit.evidence.checks import Check, Label
from analysis.delia2026.declared import claim
from analysis.store import Store

ORDERED = Label("order", "Pythia < Mistral < LLaMA < Gemma")

#: The four models in the claimed order, with the gain as quoted.
ORDER = {
    "EleutherAI/pythia-6.9b": "0.80",
    "mistralai/Mistral-7B-v0.1": "1.11",
    "meta-llama/Llama-3.1-8B": "1.48",
    "google/gemma-7b": "2.31",
}


@claim(18, Line(ORDERED, "rank r", 1))
def hierarchy(store: Store) -> Sequence[Check]:
    """Check claim 18: Pythia 0.80 < Mistral 1.11 < LLaMA 1.48 < Gemma 2.31."""
    last = evidence.published_gains(store, "gain_last_block")
    quoted = _four(last[last["file"] == evidence.UNIFIED])
    # On one prompt: this gain grows with a prompt's length (B4).
    gains = evidence.published_gains(store, "gain_whole_matrix")
    alternatives = {
        Label("whole", "whole-matrix gain of the last block"): gains[
            gains["prompt_set"] == "E1_4model_and_mistral"
        ],
        Label("body", "mean over blocks 1 to L-1"): evidence.published_gains(store, "gain_body"),
    }
    return [
        _order(Label("last", "gain of the last block at the last token, fp16"), quoted),
        _values(quoted),
        *(_order(condition, _four(rows)) for condition, rows in alternatives.items()),
    ]


def _four(rows: pd.DataFrame) -> pd.DataFrame:
    chosen = evidence.base_models(rows[rows["model_id"].isin(ORDER)])
    order = pd.Categorical(chosen["model_id"], categories=list(ORDER), ordered=True)
    return chosen.assign(place=order).sort_values("place").reset_index(drop=True)


def _values(rows: pd.DataFrame) -> Check:
    part, condition = Label("values", "the four values are as quoted"), "unified benchmark, fp16"
    matches = [
        evidence.prints_as(gain, ORDER[model])
        for model, gain in zip(rows["model_id"], rows["gain_mean"], strict=True)
    ]
    return evidence.check(
        part,
        condition,
        all(matches),
        rows,
        estimate=float(sum(matches)),
        method="count of matches",
        measure="count",
    )


def _order(condition: str, rows: pd.DataFrame) -> Check:
    text = " < ".join(
        f"{str(row['model_id']).partition('/')[2]} {row['gain_mean']:.2f}"
        for row in rows.sort_values("gain_mean").to_dict("records")
    )
    return evidence.check(
        ORDERED,
        condition,
        bool(rows["gain_mean"].is_monotonic_increasing),
        rows,
        estimate=float(rows["gain_mean"].corr(pd.Series(range(len(rows))), method="spearman")),
        method="rank correlation of the found with the claimed order",
        note=f"{text}.",
        measure="rank r",
    )
