"""BLOOM and MPT: ALiBi, and modules that add the stream themselves.

The updates are therefore read where they are made, at the last linear map of each sub-layer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from collect.adapters.adapter import Adapter, Form
from collect.adapters.configuration import always, entry
from collect.adapters.layouts import contiguous, interleaved


def _slices_reason(config: Any) -> str | None:
    """Say why attention's last linear map cannot be seen, when it is computed in slices."""
    if config.pretraining_tp > 1 and config.slow_but_exact:
        return (
            "with slow_but_exact the output projection is computed in slices, "
            "which no module returns; set slow_but_exact to false in config.json"
        )
    return None


#: What Falcon shares with BLOOM: where the modules of a block lie, and how Q, K and V are fused.
FUSED = Adapter(
    name="bloom",
    model_types=(),
    body="transformer",
    blocks="transformer.h",
    final_norm="transformer.ln_f",
    attention="self_attention",
    ffn_input="mlp",
    mid="post_attention_layernorm",
    projections=("self_attention.query_key_value",),
    layout=interleaved,
    output="self_attention.dense",
    attention_norm="input_layernorm",
    d_ffn=lambda config: 4 * config.hidden_size,
    norm_kind="LayerNorm",
    positional_scheme=always("alibi"),
)

_STREAM_ADDED = replace(
    FUSED,
    attention_update="self_attention.dense",
    ffn_update="mlp.dense_4h_to_h",
    n_context=entry("seq_length"),
    refusal=_slices_reason,
)

BLOOM = replace(
    _STREAM_ADDED,
    model_types=("bloom",),
    forms=(
        Form(
            lambda config: config.apply_residual_connection_post_layernorm,
            replace(_STREAM_ADDED, adds_to_norm=True),
        ),
    ),
)

MPT = Adapter(
    name="mpt",
    model_types=("mpt",),
    body="transformer",
    blocks="transformer.blocks",
    final_norm="transformer.norm_f",
    attention="attn",
    ffn_input="ffn",
    mid="norm_2",
    ffn_update="ffn.down_proj",
    projections=("attn.Wqkv",),
    layout=contiguous,
    output="attn.out_proj",
    attention_norm="norm_1",
    clip=lambda config: config.attn_config.clip_qkv,
    d_ffn=lambda config: 4 * config.hidden_size,
    n_context=entry("max_seq_len"),
    norm_kind="LayerNorm",
    positional_scheme=always("alibi"),
)
