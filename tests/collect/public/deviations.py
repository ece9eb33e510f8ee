"""Print the largest relative difference of every quantity from own hooks, a row per quantity.

python -m tests.collect.public.deviations
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from tests.collect.public.test_public import KEYS, MODELS, PUBLIC, TOLERANCES, against_hooks

NAMES = {
    "first": "length of the stream, first token",
    "last": "length of the stream, last token",
    "whole": "length of the stream, all tokens",
    "gain": "gain of a block, last token",
    "gain_whole": "gain of a block, all tokens",
    "attention": "length of what attention adds, last token",
    "ffn": "length of what the feed-forward adds, last token",
    "entropy": "entropy of attention, over the number of tokens",
    "sink": "attention to the first token, over the number of tokens",
}


def deviations() -> pd.DataFrame:
    """Return the largest deviation per quantity and model."""
    columns = {}
    for name, (model, _) in MODELS.items():
        hooked = pd.read_csv(Path(__file__).parent / f"{name}_by_hooks.csv").set_index(KEYS)
        columns[name] = against_hooks(PUBLIC, model, hooked).max()
    return pd.DataFrame(columns).loc[[*TOLERANCES]]


if __name__ == "__main__":
    print("| quantity | " + " | ".join(MODELS) + " |")
    print("|---|" + "---:|" * len(MODELS))
    for key, row in deviations().iterrows():
        print(f"| {NAMES[key]} | " + " | ".join(f"{value:.1e}" for value in row) + " |")
