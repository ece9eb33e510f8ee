"""GPT-J and CodeGen: rotary positions, one LayerNorm in front of two parallel sub-layers."""

from __future__ import annotations

from collect.adapters.adapter import Adapter
from collect.adapters.configuration import always, own_or_four_widths
from collect.adapters.layouts import codegen

GPTJ = Adapter(
    name="gptj",
    model_types=("gptj",),
    body="transformer",
    blocks="transformer.h",
    final_norm="transformer.ln_f",
    attention="attn",
    ffn_input="mlp",
    mid=None,
    projections=("attn.q_proj", "attn.k_proj", "attn.v_proj"),
    output="attn.out_proj",
    attention_norm="ln_1",
    d_ffn=own_or_four_widths,
    norm_kind="LayerNorm",
    positional_scheme=always("rotary"),
)

CODEGEN = GPTJ.variant("codegen", projections=("attn.qkv_proj",), layout=codegen)
