"""The gain of one checkpoint as TransformerLens loads it, beside the gains measured here.

    .cache/benchmark/bin/python -m tests.benchmarks.transformer_lens_gains CHECKPOINT [...]

TransformerLens, in the mode that was its default up to version 3 (`fold_ln`,
`center_writing_weights`; from 4 on `enable_compatibility_mode`), takes the mean over features
out of all that writes to the stream. Theory: its raw log gains are our centred ones, block by
block, whatever shift the checkpoint came with. Logits keep their softmax (it also centres the
head). Exit code 1 if a gain is off by more than 1e-5.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from transformer_lens.model_bridge import TransformerBridge

from collect.gauge import group
from collect.gauge.measured import measured
from collect.gauge.precision import widened
from collect.model.checkpoint.decoder import Decoder
from collect.model.checkpoint.load import load_model
from collect.model.checkpoint.location import locate
from collect.prompts.tokens import Encoded

PROMPT = tuple(b"The capital city of France is")
TOLERANCE = 1e-5


def of_transformer_lens(directory: str, decoder: Decoder) -> np.ndarray:
    """Return the log gain of every block at the last token, as TransformerLens sees the stream."""
    short = replace(decoder, model=widened(decoder).model.float())
    bridge = TransformerBridge.boot_transformers(directory, device="cpu", hf_model=short.model)
    bridge.enable_compatibility_mode()
    with torch.no_grad():
        _, cache = bridge.run_with_cache(torch.tensor([PROMPT]))
    sites = [f"blocks.{layer}.hook_resid_post" for layer in range(len(decoder.blocks))]
    stream = [cache[site][0, -1].double() for site in ("blocks.0.hook_resid_pre", *sites)]
    return np.diff([float(vector.norm().log()) for vector in stream])


def of_this_project(decoder: Decoder) -> tuple[np.ndarray, np.ndarray]:
    """Return the raw and the centred log gain of every block at the last token."""
    prompt = Encoded("prompt", PROMPT, (False,) * len(PROMPT))
    query = "SELECT log_gain, log_gain_centred FROM last_token_gain ORDER BY layer"
    gains = measured({"model": widened(decoder)}, [prompt]).sql(query).df()
    return gains["log_gain"].to_numpy(), gains["log_gain_centred"].to_numpy()


def main(directories: list[str]) -> int:
    """Print the three gains of every checkpoint, as trained and with its mean shifted."""
    worst = 0.0
    for directory in directories:
        trained = load_model(locate(directory))
        shifted = widened(trained)
        group.transform(shifted, ["mean_shift"], np.random.default_rng(0))
        for name, decoder in (("as trained", trained), ("shifted", shifted)):
            raw, centred = of_this_project(decoder)
            theirs = of_transformer_lens(directory, decoder)
            deviation = float(np.abs(theirs - centred).max())
            worst = max(worst, deviation)
            print(f"{Path(directory).name}, {name}: |TransformerLens - centred| <= {deviation:.1e}")
            for layer, values in enumerate(zip(raw, centred, theirs, strict=True)):
                print(
                    "  block {}: raw {:+.5f}, centred {:+.5f}, TransformerLens {:+.5f}".format(
                        layer, *values
                    )
                )
    return int(worst > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
