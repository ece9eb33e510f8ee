"""Blocks of two parts where the first is attention in some and a state or convolution in others."""

from __future__ import annotations

from dataclasses import replace

from collect.adapters.capability import HEADS, MAPS
from collect.adapters.configuration import always, expert_or_ffn_width
from collect.adapters.families.llama import LLAMA
from collect.adapters.logits import soft_capped_as

_NOT_EVERYWHERE = (
    "some of its blocks have a state or a convolution in place of attention over tokens, so not "
    "every block has maps and heads"
)

#: Kimi Linear and what keeps its names: both kinds are called ``self_attn``.
HYBRID = replace(
    LLAMA,
    name="hybrid",
    model_types=("bailing_hybrid", "kimi_linear"),
    lacks={HEADS: _NOT_EVERYWHERE, MAPS: _NOT_EVERYWHERE},
    mixing="mixer",
    d_ffn=expert_or_ffn_width,
)

#: Qwen's: gains are added to one.
QWEN_HYBRID = replace(
    HYBRID,
    name="qwen_hybrid",
    model_types=("qwen3_5_moe_text", "qwen3_5_text", "qwen3_next"),
    attention="linear_attn|self_attn",
    attention_update="linear_attn|self_attn",
    gain_offset=1.0,
)

JAMBA = replace(
    HYBRID,
    name="jamba",
    model_types=("bamba", "jamba"),
    final_norm="model.final_layernorm",
    attention="mamba|self_attn",
    attention_update="mamba|self_attn",
    ffn_input="feed_forward",
    ffn_update="feed_forward",
    mid="pre_ff_layernorm",
    positional_scheme=always("none"),
)

LFM = replace(
    HYBRID,
    name="lfm",
    model_types=("lfm2", "lfm2_moe"),
    final_norm="model.embedding_norm",
    attention="conv|self_attn",
    attention_update="conv|self_attn",
    ffn_input="feed_forward",
    ffn_update="feed_forward",
    mid="ffn_norm",
    attention_norm="operator_norm",
)

LFM3 = replace(
    LFM,
    name="lfm3",
    model_types=("lfm3",),
    attention_update="post_operator_norm",
    ffn_update="post_ffn_norm",
    norm_position="sandwich",
)

GRIFFIN = replace(
    HYBRID,
    name="griffin",
    model_types=("recurrent_gemma",),
    final_norm="model.final_norm",
    attention="temporal_block",
    attention_update="temporal_block",
    ffn_input="mlp_block",
    ffn_update="mlp_block",
    mid="channel_pre_norm",
    attention_norm="temporal_pre_norm",
    gain_offset=1.0,
    logits=soft_capped_as("logits_soft_cap"),
)
