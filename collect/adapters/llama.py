"""Llama: rotary positions, RMSNorm, in sequence; query heads may share a value head."""

from __future__ import annotations

from collect.adapters.adapter import Adapter
from collect.adapters.layouts import split

LLAMA = Adapter(
    model_type="llama",
    body="model",
    blocks="model.layers",
    attention="self_attn",
    final_norm="model.norm",
    value="v_proj",
    value_rows=split,
    output="o_proj",
    d_ffn=lambda config: config.intermediate_size,
    norm_kind="RMSNorm",
    positional_scheme="rotary",
    is_parallel=lambda config: False,
)
