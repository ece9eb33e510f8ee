"""Checkpoints whose configuration, sidecar or weight file is spoilt, to be planned."""

from __future__ import annotations

import json
import shutil
import struct
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from collect.prompts.tokenizer import byte_tokenizer
from tests.fuzz import mutation
from tests.fuzz.command import called
from tests.fuzz.trial import Case

_WIDTH = {"hidden_size": 64, "num_attention_heads": 8, "num_hidden_layers": 3, "vocab_size": 300}
CONFIGS: tuple[dict[str, Any], ...] = (
    {"model_type": "gpt2", "n_embd": 64, "n_head": 8, "n_layer": 3, "n_positions": 512,
     "vocab_size": 300},
    {"model_type": "gpt_neox", **_WIDTH, "intermediate_size": 160, "rotary_pct": 0.25},
    {"model_type": "llama", **_WIDTH, "num_key_value_heads": 2, "rope_theta": 1e4,
     "rope_scaling": {"rope_type": "linear", "factor": 2.0}},
    {"model_type": "opt", **_WIDTH, "ffn_dim": 160, "word_embed_proj_dim": 64},
    {"model_type": "bloom", "hidden_size": 64, "n_head": 8, "n_layer": 3},
    {"model_type": "gemma2", **_WIDTH, "head_dim": 8, "num_key_value_heads": 4},
)  # fmt: skip
SIDECAR = {"model_id": "lab/tiny", "lab": "lab", "suite": "s", "year": 2024}


def draw(rng: np.random.Generator, folder: Path) -> Case:
    """Return a directory of a checkpoint to be planned."""
    place = folder / "model"
    shutil.copytree(_tokenizer(), place)
    config = CONFIGS[int(rng.integers(len(CONFIGS)))]
    config = {**config, "torch_dtype": "float32", "architectures": ["A"]}
    spoilt = str(rng.choice(["config", "config", "config text", "sidecar", "weights"]))
    name = "thermoscope.json" if spoilt == "sidecar" else "config.json"
    files = {"config.json": json.dumps(config).encode(), "model.safetensors": weights()}
    if spoilt == "config":
        files[name] = json.dumps(mutation.document(rng, config)).encode()
    elif spoilt == "config text":
        files[name] = mutation.raw(rng, files[name].decode())
    elif spoilt == "sidecar":
        files[name] = json.dumps(mutation.document(rng, SIDECAR)).encode()
    else:
        name = "model.safetensors"
        files[name] = _spoilt_weights(rng)
    for file, content in files.items():
        (place / file).write_bytes(content)
    verb = ["plan", str(place), "--prompts", "A_grand_unified", "--out", "out"]

    def act() -> tuple[int, str]:
        return called("collect", verb)

    return Case(f"collect plan of a model with {name} as {files[name]!r}", act)


@cache
def _tokenizer() -> str:
    """Return a directory that holds a tokenizer."""
    place = tempfile.mkdtemp(prefix="fuzz-tokenizer-")
    byte_tokenizer(512).save_pretrained(place)
    return place


def weights(header: object = None, n_bytes: int = 16) -> bytes:
    """Return a safetensors file of one tensor, or with another header."""
    right = {"a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}}
    text = json.dumps(right if header is None else header).encode()
    return struct.pack("<Q", len(text)) + text + b"\0" * n_bytes


def _spoilt_weights(rng: np.random.Generator) -> bytes:
    entry = {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}
    whole = weights(mutation.document(rng, {"a": entry, "__metadata__": {"format": "pt"}}))
    if rng.random() < 0.5:
        at = int(rng.integers(len(whole)))
        whole = whole[:at] + rng.bytes(int(rng.integers(1, 9))) + whole[at + 4 :]
    return whole
