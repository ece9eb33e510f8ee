"""A tiny Gemma 4 in three gauges: its blocks' stored numbers as they are, level, and all one.

``python -m tests.proofs.gemma4_scalars`` draws the network from a seed and writes
``data/sample/layer_scale_profile.csv``; it needs no checkpoint.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import transformers

from collect.adapters import ADAPTERS
from collect.gauge.measured import measured
from collect.gauge.transformations import layer_scale
from collect.model.checkpoint.decoder import Decoder, decoder
from collect.prompts.sets import load
from collect.prompts.tokens import Encoded, encode
from tests.collect.conftest import tiny_tokenizer
from tests.collect.gauge.networks import difference, logits, widened

OUT = Path(__file__).parents[2] / "data" / "sample" / "layer_scale_profile.csv"

N_LAYERS, SEED = 8, 4

LENGTHS = """
SELECT s.prompt_id, s.layer, s.norm
  FROM raw.stream AS s
  JOIN next_token AS t USING (run_id, prompt_id)
 WHERE s.position = t.n_tokens - 1
"""

#: The shape: heads, windows and embeddings per layer as Gemma 4 has them, all smaller.
SHAPE = {
    "num_hidden_layers": N_LAYERS,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "global_head_dim": 32,
    "sliding_window": 16,
    "hidden_size_per_layer_input": 8,
    "vocab_size": 300,
    "vocab_size_per_layer_input": 300,
}

#: The stored numbers, by which every block but the first shortens the stream.
NUMBERS = (0.8, *np.linspace(0.55, 0.35, N_LAYERS - 1).tolist())


def network() -> Decoder:
    """Return the network in float32: weights as the library draws them from a seed."""
    torch.manual_seed(SEED)
    config = transformers.AutoConfig.for_model("gemma4_text", **SHAPE)
    model = transformers.AutoModelForCausalLM.from_config(
        config, attn_implementation="eager", dtype=torch.float32
    ).eval()
    for block, number in zip(model.model.layers, NUMBERS, strict=True):
        block.layer_scalar.fill_(number)
        # Untrained, its scores are undivided: softmax would pick one token and amplify rounding.
        block.self_attn.q_norm.weight.data.fill_(block.self_attn.head_dim**-0.5)
    return decoder(model, ADAPTERS["gemma4_text"])


def lengths(of: Decoder, prompts: list[Encoded]) -> np.ndarray:
    """Return lengths at the last token, shape (n_prompts, L + 1)."""
    rows = measured({"network": of}, prompts).sql(LENGTHS).df()
    return rows.pivot_table("norm", "prompt_id", "layer").to_numpy()


def rescaled(of: Decoder, factors: list[float]) -> Decoder:
    """Return a copy of a network whose stream is multiplied by a factor after each block."""
    copy = replace(of, model=deepcopy(of.model))
    layer_scale.rescale(copy, factors)
    return copy


def profile(
    gauge: str, stored: Decoder, factors: list[float], prompts: list[Encoded]
) -> pd.DataFrame:
    """Return the rows of one gauge: lengths, and how far its logits are from the stored ones'."""
    wide = widened(stored)
    result = rescaled(wide, factors)
    norms = np.log(lengths(result, prompts))
    numbers = np.array(layer_scale.scalars(result))
    true = logits(wide, prompts)
    changes = {"logit_change": difference(true, logits(result, prompts)).relative}
    layer_scale.round_epsilon(result)
    changes["logit_change_one_epsilon"] = difference(true, logits(result, prompts)).relative
    result.model.float()
    changes["logit_change_float32"] = difference(true, logits(result, prompts)).relative
    depth = {"gauge": gauge, "layer": np.arange(-1, len(numbers))}
    mean = norms.mean(0)
    return pd.DataFrame(
        {
            **depth,
            "layer_scale": [np.nan, *numbers],
            "norm": np.exp(mean),
            "norm_net": np.exp(mean - np.cumsum([0.0, *np.log(numbers)])),
            "log_gain": [np.nan, *np.diff(mean)],
            **changes,
        }
    )


def main() -> None:
    """Write the table."""
    prompts = encode(load("A_grand_unified").prompts, tiny_tokenizer())
    stored = network()
    mean = np.log(lengths(widened(stored), prompts)).mean(0)
    gauges = {
        "stored": [1.0] * N_LAYERS,
        "level": np.exp(mean[1] - mean[1:]).tolist(),
        "folded": layer_scale.folding(stored),
    }
    frames = [profile(gauge, stored, factors, prompts) for gauge, factors in gauges.items()]
    table = pd.concat(frames)
    table.insert(0, "model_id", "thermoscope/gemma4-tiny-random")
    table.to_csv(OUT, index=False, lineterminator="\n")
    print(OUT)


if __name__ == "__main__":
    main()
