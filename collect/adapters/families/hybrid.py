"""Blocks of two parts where the first is attention in some and a state or convolution in others."""

from __future__ import annotations

from typing import Any

from collect.adapters.capability import HEADS, MAPS
from collect.adapters.configuration import always, expert_or_ffn_width
from collect.adapters.families.llama import LLAMA
from collect.adapters.logits import soft_capped_as

_NOT_EVERYWHERE = (
    "some of its blocks have a state or a convolution in place of attention over tokens, so not "
    "every block has maps and heads"
)

#: Kimi Linear and what keeps its names: both kinds are called ``self_attn``.
HYBRID = LLAMA.variant(
    "hybrid",
    "bailing_hybrid",
    "kimi_linear",
    lacks={HEADS: _NOT_EVERYWHERE, MAPS: _NOT_EVERYWHERE},
    mixing="mixer",
    d_ffn=expert_or_ffn_width,
)

#: Qwen's: gains are added to one.
QWEN_HYBRID = HYBRID.variant(
    "qwen_hybrid",
    "qwen3_5_moe_text",
    "qwen3_5_text",
    "qwen3_next",
    attention="linear_attn|self_attn",
    gain_offset=1.0,
)

JAMBA = HYBRID.variant(
    "jamba",
    "bamba",
    "jamba",
    final_norm="model.final_layernorm",
    attention="mamba|self_attn",
    ffn_input="feed_forward",
    mid="pre_ff_layernorm",
    positional_scheme=always("none"),
)


def _two_thirds(config: Any) -> int | None:
    """Return the inner width: of an expert, or as named, or two thirds of it, rounded up."""
    width = expert_or_ffn_width(config)
    if width is None or not getattr(config, "block_auto_adjust_ff_dim", False):
        return width
    width = int(2 * width / 3)
    if config.block_ffn_dim_multiplier is None:
        return width
    multiple = int(config.block_multiple_of)
    return -(-int(config.block_ffn_dim_multiplier * width) // multiple) * multiple


LFM = HYBRID.variant(
    "lfm",
    "lfm2",
    "lfm2_moe",
    d_ffn=_two_thirds,
    final_norm="model.embedding_norm",
    attention="conv|self_attn",
    ffn_input="feed_forward",
    mid="ffn_norm",
    attention_norm="operator_norm",
)

LFM3 = LFM.variant(
    "lfm3",
    attention_update="post_operator_norm",
    ffn_update="post_ffn_norm",
    norm_position="sandwich",
)

GRIFFIN = HYBRID.variant(
    "griffin",
    "recurrent_gemma",
    final_norm="model.final_norm",
    attention="temporal_block",
    ffn_input="mlp_block",
    mid="channel_pre_norm",
    attention_norm="temporal_pre_norm",
    gain_offset=1.0,
    d_ffn=lambda config: config.intermediate_size // 2,
    logits=soft_capped_as("logits_soft_cap"),
)
