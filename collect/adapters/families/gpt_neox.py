"""GPT-NeoX (Pythia, StableLM alpha) and Persimmon: heads interleaved as q, k, v of each in turn."""

from __future__ import annotations

from dataclasses import replace

from collect.adapters.adapter import Adapter, Form
from collect.adapters.configuration import always
from collect.adapters.layouts import interleaved

_SEQUENTIAL = Adapter(
    name="gpt_neox",
    model_types=("gpt_neox",),
    body="gpt_neox",
    blocks="gpt_neox.layers",
    final_norm="gpt_neox.final_layer_norm",
    attention="attention",
    ffn_input="mlp",
    mid="post_attention_layernorm",
    projections=("attention.query_key_value",),
    layout=interleaved,
    output="attention.dense",
    attention_norm="input_layernorm",
    d_head="head_size",
    norm_kind="LayerNorm",
    positional_scheme=always("rotary"),
)

GPT_NEOX = replace(
    _SEQUENTIAL,
    forms=(Form(lambda config: config.use_parallel_residual, replace(_SEQUENTIAL, mid=None)),),
)

PERSIMMON = _SEQUENTIAL.variant(
    "persimmon",
    body="model",
    blocks="model.layers",
    final_norm="model.final_layernorm",
    attention="self_attn",
    projections=("self_attn.query_key_value",),
    output="self_attn.dense",
    d_head="head_dim",
)
