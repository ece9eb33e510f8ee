"""OPT, XGLM and BioGPT, which keep the names of fairseq: learned or fixed positions, LayerNorm."""

from __future__ import annotations

from dataclasses import replace

from collect.adapters.adapter import Adapter, Form
from collect.adapters.configuration import always, entry

_PRE_NORM = Adapter(
    name="opt",
    model_types=("opt",),
    body="model",
    blocks="model.decoder.layers",
    final_norm="model.decoder.final_layer_norm",
    attention="self_attn",
    ffn_input="fc1",
    mid="final_layer_norm",
    ffn_update="fc2",
    projections=("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    output="self_attn.out_proj",
    attention_norm="self_attn_layer_norm",
    d_ffn=entry("ffn_dim"),
    norm_kind="LayerNorm",
    positional_scheme=always("learned"),
)

#: OPT-350m: both sums go through a norm, and that is the stream; none follows the last block.
_POST_NORM = replace(
    _PRE_NORM,
    final_norm=None,
    mid="fc1",
    norms_after=("self_attn_layer_norm", "final_layer_norm"),
    attention_norm=None,
    norm_position="post",
)

OPT = replace(
    _PRE_NORM,
    forms=(
        Form(lambda config: not config.do_layer_norm_before, _POST_NORM),
        Form(lambda config: config._remove_final_layer_norm, replace(_PRE_NORM, final_norm=None)),
    ),
)

XGLM = _PRE_NORM.variant(
    "xglm",
    blocks="model.layers",
    final_norm="model.layer_norm",
    positional_scheme=always("sinusoidal"),
)

BIOGPT = _PRE_NORM.variant(
    "biogpt",
    body="biogpt",
    blocks="biogpt.layers",
    final_norm="biogpt.layer_norm",
    head="output_projection",
    d_ffn=entry("intermediate_size"),
)
