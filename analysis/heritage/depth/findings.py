"""What the profiles over depth show, each in a sentence computed from what is drawn."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from analysis.tidy import prose

#: How a part of a block is called.
PARTS = {"ffn": "the feed-forward part"}


def stream(layers: pd.DataFrame) -> str:
    """Return how much block 0 and a block after it multiply the stream, in the geometric mean."""
    gains = layers.dropna(subset=["log_gain"])
    is_first = gains["layer"] == 0
    first, later = (
        float(np.exp(gains.loc[part, "log_gain"].mean())) for part in (is_first, ~is_first)
    )
    return (
        f"On average block 0 makes the stream {prose.number(first, 1)} times as long, a later "
        f"block {prose.number(later)} times."
    )


def updates(blocks: pd.DataFrame) -> str:
    """Return the mean cosine of each part's write with the stream after block 0."""
    later = blocks[blocks["layer"] > 0].dropna(subset=["cosine"])
    means = later.groupby("part")["cosine"].mean().sort_values(ascending=False)
    texts = [
        f"{prose.number(float(mean))} for {PARTS.get(str(part), part)}"
        for part, mean in means.items()
    ]
    return f"After block 0 the mean cosine of a write with the stream is {prose.listing(texts)}."


def attention(layers: pd.DataFrame, even: Mapping[str, float]) -> str:
    """Return what the first token takes of attention after each recipe, and what is even."""
    shares = _by_recipe(layers, "sink_share", 2)
    at = prose.number(float(even["sink_share"]))
    return f"Attention to the first token: {shares}; even attention would give it {at}."


def geometry(layers: pd.DataFrame) -> str:
    """Return how alike tokens are after each recipe."""
    return f"Mean cosine between the tokens of a prompt: {_by_recipe(layers, 'anisotropy', 2)}."


def circuit(layers: pd.DataFrame) -> str:
    """Return the stable rank of the circuits after each recipe; ``layers`` has medians of heads."""
    ranks = _by_recipe(layers, "stable_rank", 1)
    return f"Stable rank of a circuit, median over heads, mean over layers: {ranks}."


def _by_recipe(layers: pd.DataFrame, column: str, digits: int) -> str:
    means = layers.dropna(subset=[column]).groupby("suite")[column].mean()
    return prose.listing(
        [f"{prose.number(float(mean), digits)} after {recipe}" for recipe, mean in means.items()]
    )
