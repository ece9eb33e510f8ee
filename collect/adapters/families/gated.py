"""Attention with maps and two parts, of which the heads' matrices alone do not make the output."""

from __future__ import annotations

from collect.adapters.capability import HEADS, MAPS, PARTS
from collect.adapters.configuration import always, expert_or_ffn_width
from collect.adapters.families.gpt_neox import GPT_NEOX
from collect.adapters.families.llama import GRANITE, GRANITE_EXPERTS, LLAMA

_GATE = (
    "a gate multiplies what its heads have read before W_O, so maps and matrices of the heads do "
    "not make up what attention adds"
)
_NORM = (
    "a norm lies between its heads and W_O, so maps and matrices of the heads do not make up what "
    "attention adds"
)
_SINK_UNSEEN = "the maps that its attention returns leave out what goes to a learned sink"
_ROUTED = "a router chooses the query and output matrices of its heads for every token"
_TWO_WIDTHS = "its values are of another width than its keys, and scaled after they are projected"
_CONVOLVED = "a convolution over tokens follows keys and values, and another follows W_O"
_DIFFERENCE = "its heads subtract one attention map from another"
_SHARED = "its feed-forward part is the sum of two modules, experts and a shared one"
_BIAS = "the last block adds a bias of attention outside of the module that returns the rest"

GATED = LLAMA.variant("gated", "laguna", lacks={HEADS: _GATE}, d_ffn=expert_or_ffn_width)

AFMOE = GATED.variant(
    "afmoe",
    attention_update="post_attention_layernorm",
    ffn_update="post_mlp_layernorm",
    mid="pre_mlp_layernorm",
    norm_position="sandwich",
)

GRANITE_SINKS = GRANITE.variant(
    "granite_sinks", "granite_swa", lacks={HEADS: _SINK_UNSEEN, MAPS: _SINK_UNSEEN}
)

GRANITE_EXPERTS_SINKS = GRANITE_EXPERTS.variant(
    "granite_experts_sinks",
    "granitemoe_swa",
    lacks={HEADS: _SINK_UNSEEN, MAPS: _SINK_UNSEEN, PARTS: _SHARED},
)

GRANITE_SHARED = GRANITE_EXPERTS.variant(
    "granite_shared", "granitemoeshared", lacks={PARTS: _SHARED}
)

BITNET = LLAMA.variant("bitnet", lacks={HEADS: _NORM})

DIFFERENTIAL = LLAMA.variant(
    "differential", "diffllama", lacks={HEADS: _DIFFERENCE, MAPS: _DIFFERENCE}
)

MIMO = LLAMA.variant(
    "mimo", "mimo_v2_flash", lacks={HEADS: _TWO_WIDTHS}, has_sinks=True, d_ffn=expert_or_ffn_width
)

#: Of its logits, those of padding are left out.
INKLING = LLAMA.variant(
    "inkling",
    "inkling_text",
    lacks={HEADS: _CONVOLVED},
    attention_update="attn_sconv",
    ffn_update="mlp_sconv",
    positional_scheme=always("none"),
    d_ffn=expert_or_ffn_width,
    logits=lambda logits, config: (logits / config.logits_mup_width_multiplier)[
        ..., : config.unpadded_vocab_size
    ],
)

JETMOE = LLAMA.variant("jetmoe", lacks={HEADS: _ROUTED}, attention="self_attention")

NEOX_JAPANESE = GPT_NEOX.variant(
    "gpt_neox_japanese",
    forms=(),
    lacks={PARTS: _BIAS},
    body="gpt_neox_japanese",
    blocks="gpt_neox_japanese.layers",
    final_norm="gpt_neox_japanese.final_layer_norm",
    head="embed_out",
    d_ffn=lambda config: int(config.hidden_size * config.intermediate_multiple_size),
)
