"""CTRL: sinusoidal positions, LayerNorm, three projections; an output embedding with a bias."""

from __future__ import annotations

from collect.adapters.adapter import Adapter
from collect.adapters.configuration import always, entry

CTRL = Adapter(
    name="ctrl",
    model_types=("ctrl",),
    body="transformer",
    blocks="transformer.h",
    final_norm="transformer.layernorm",
    attention="multi_head_attention",
    ffn_input="ffn",
    mid="layernorm2",
    projections=tuple(f"multi_head_attention.{name}" for name in ("Wq", "Wk", "Wv")),
    output="multi_head_attention.dense",
    attention_norm="layernorm1",
    d_ffn=entry("dff"),
    norm_kind="LayerNorm",
    positional_scheme=always("sinusoidal"),
)
