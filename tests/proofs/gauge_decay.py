"""Whether training and weight decay keep the mean of the stream small, from a shifted start.

    thermoscope collect train data/sample/recipes/gptneox-l4-adamw.toml --out runs/models
    python -m tests.proofs.gauge_decay runs/models/gptneox-l4-adamw

shifts the stream of a trained network by the vector of ones through its token table, which leaves
its predictions, trains on with AdamW in three ways, and writes ``data/sample/gauge_decay.csv``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from collect.gauge.extreme import shifted
from collect.model.checkpoint.decoder import Decoder
from collect.model.checkpoint.load import load_model
from collect.model.checkpoint.location import locate

OUT = Path(__file__).parents[2] / "data" / "sample" / "gauge_decay.csv"
TEXT = Path(__file__).parents[2] / "data" / "text" / "kjv.txt"

#: What is decayed: nothing, the matrices alone (as recipes commonly do), or biases too.
ARMS = {"nothing": 0.0, "matrices": 3.0, "everything": 3.0}
RATE, N_STEPS, EVERY, N_WINDOWS, LENGTH, SHIFT = 3e-3, 100, 20, 8, 64, 1.0


def windows(text: Tensor, rng: np.random.Generator) -> Tensor:
    """Return (N_WINDOWS, LENGTH) bytes cut at places drawn from a text."""
    starts = rng.integers(0, len(text) - LENGTH, N_WINDOWS)
    return torch.stack([text[start : start + LENGTH] for start in starts])


def optimiser(of: Decoder, decayed: str) -> torch.optim.AdamW:
    """Return AdamW that decays what an arm decays."""
    parameters = list(of.model.parameters())
    rate = ARMS[decayed]
    matrices = [one for one in parameters if one.ndim > 1]
    others = [one for one in parameters if one.ndim < 2]
    return torch.optim.AdamW(
        [
            {"params": matrices, "weight_decay": rate},
            {"params": others, "weight_decay": rate if decayed == "everything" else 0.0},
        ],
        lr=RATE,
    )


@torch.no_grad()
def means(of: Decoder, batch: Tensor) -> list[tuple[float, float]]:
    """Return by block the median mean over features, and its share of the squared length."""
    found: list[tuple[float, float]] = []
    hooks = [
        block.register_forward_hook(lambda _module, _args, out: found.append(_mean(out)))
        for block in of.blocks
    ]
    of.body(batch)
    for hook in hooks:
        hook.remove()
    return found


def _mean(output: Tensor | tuple[Tensor, ...]) -> tuple[float, float]:
    states = (output[0] if isinstance(output, tuple) else output)[:, 1:].double()
    mean = states.mean(-1)
    share = mean.square() * states.shape[-1] / states.square().sum(-1)
    return float(mean.median()), float(share.median())


def trained_on(of: Decoder, decayed: str, text: Tensor) -> Iterator[dict[str, object]]:
    """Train a network in place and yield what its stream's mean does on the way."""
    rng, held_out = np.random.default_rng(0), windows(text, np.random.default_rng(1))
    descent = optimiser(of, decayed)
    for step in range(N_STEPS + 1):
        if step % EVERY == 0:
            for layer, (shift, share) in enumerate(means(of, held_out)):
                yield {
                    "decayed": decayed,
                    "weight_decay": ARMS[decayed],
                    "step": step,
                    "decay_turns": step * RATE * ARMS[decayed],
                    "layer": layer,
                    "shift": shift,
                    "share": share,
                }
        batch = windows(text, rng)
        loss = of.model(batch, labels=batch).loss
        descent.zero_grad()
        loss.backward()
        descent.step()


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint")
    checkpoint = locate(parser.parse_args().checkpoint)
    text = torch.tensor(list(TEXT.read_bytes()[: 2**20]))
    rows: list[dict[str, object]] = []
    for decayed in ARMS:
        of = load_model(checkpoint)
        start = shifted(of, [SHIFT] * (len(of.blocks) + 1))
        start.model.requires_grad_(True)
        rows += trained_on(start, decayed, text)
        print(decayed, len(rows), flush=True)
    table = pd.DataFrame(rows)
    table.insert(0, "model_id", checkpoint.model_id)
    table.to_csv(OUT, index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
