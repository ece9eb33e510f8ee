"""Blocks known by what enters and leaves them: state-space, recurrent, and scaled streams."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from collect.adapters.capability import CAPABILITIES
from collect.adapters.configuration import always, entry, expert_or_ffn_width
from collect.adapters.families.llama import LLAMA
from collect.adapters.logits import soft_capped_as

_STATE = "its blocks have a state instead of attention over tokens"
_ONE_EACH = "each of its blocks has one part: attention, a state or feed-forward"
_SIDE_BY_SIDE = "attention and a state work side by side in its blocks and are added up in between"
_WITHIN = "attention and its sum with the stream happen within one module"
_SCALED = (
    "it multiplies the stream by a number or a vector of its own between the parts of a block, so "
    "what leaves is not what entered plus what the parts add"
)
_MULTIPLIED = (
    "each of its blocks multiplies the stream, what entered included, by a number of its own, so "
    "what leaves is not what entered plus what the parts add"
)
_MIXED_NORMS = "its blocks with attention and those with a state have their norms in other places"
_WITH_MODULES = "the two modules of its feed-forward part, experts and a shared one, are added up"
_SHARED = "some of its blocks add what a transformer that they share makes of the embedding"

#: A stream, a block list, a final norm and a head, named as in Llama; nothing of the blocks.
OF_BLOCKS = replace(
    LLAMA,
    name="of_blocks",
    model_types=(),
    lacks=dict.fromkeys(CAPABILITIES, "its blocks are known by what enters and leaves them"),
    attention="",
    ffn_input="",
    mid=None,
    projections=(),
    output="",
    attention_norm=None,
)


def _round_up(config: Any) -> int:
    """Return the inner width of the feed-forward layer, a multiple of a number of its own."""
    multiple = int(config.ffn_round_up_to_multiple_of)
    width = config.hidden_size * config.ffn_proj_factor
    return int((width + multiple - 1) // multiple * multiple)


def _lacking(reason: str) -> dict[str, str]:
    return dict.fromkeys(CAPABILITIES, reason)


MAMBA = OF_BLOCKS.variant(
    "mamba",
    "falcon_mamba",
    "mamba",
    "mamba2",
    lacks=_lacking(_STATE),
    body="backbone",
    blocks="backbone.layers",
    final_norm="backbone.norm_f",
    d_ffn=always(None),
    n_context=always(None),
    positional_scheme=always("none"),
)

#: Weights are divided and the stream is halved every few blocks for the sake of a short format;
#: entries are set so that neither happens, which changes no logit.
RWKV = MAMBA.variant(
    "rwkv",
    amended={"rescale_every": 0},
    body="rwkv",
    blocks="rwkv.blocks",
    final_norm="rwkv.ln_out",
    head="head",
    d_ffn=entry("intermediate_size"),
    norm_kind="LayerNorm",
)

XLSTM = MAMBA.variant(
    "xlstm",
    blocks="backbone.blocks",
    final_norm="backbone.out_norm",
    d_ffn=_round_up,
    logits=soft_capped_as("output_logit_soft_cap"),
)

NEMOTRON_H = OF_BLOCKS.variant(
    "nemotron_h",
    lacks=_lacking(_ONE_EACH),
    final_norm="model.norm_f",
    d_ffn=expert_or_ffn_width,
    positional_scheme=always("none"),
)

FALCON_H1 = OF_BLOCKS.variant(
    "falcon_h1",
    lacks=_lacking(_SIDE_BY_SIDE),
    final_norm="model.final_layernorm",
    logits=lambda logits, config: logits * config.lm_head_multiplier,
)

DBRX = OF_BLOCKS.variant(
    "dbrx",
    lacks=_lacking(_WITHIN),
    body="transformer",
    blocks="transformer.blocks",
    final_norm="transformer.norm_f",
    d_ffn=lambda config: config.ffn_config.ffn_hidden_size,
    n_context=entry("max_seq_len"),
    norm_kind="LayerNorm",
)

#: OLMo hybrid: norms in front of a state, and on what attention returns.
OLMO_HYBRID = OF_BLOCKS.variant("olmo_hybrid", lacks=_lacking(_MIXED_NORMS))

GRANITE_HYBRID = OF_BLOCKS.variant(
    "granite_hybrid",
    "granitemoehybrid",
    lacks=_lacking(_WITH_MODULES),
    logits=lambda logits, config: logits / config.logits_scaling,
)

ZAMBA = OF_BLOCKS.variant(
    "zamba", "zamba", "zamba2", lacks=_lacking(_SHARED), final_norm="model.final_layernorm"
)

#: The sums of a block are not of what entered: DeepNorm, learned or fixed factors.
SCALED = OF_BLOCKS.variant(
    "scaled",
    "beam",
    "doge",
    "minimax",
    "zaya",
    lacks=_lacking(_SCALED),
    logits=soft_capped_as("final_logit_softcapping"),
    d_ffn=expert_or_ffn_width,
)

#: Every block of Gemma 4 multiplies the whole stream, once its parts are added.
GEMMA4 = SCALED.variant(
    "gemma4",
    "gemma4_text",
    "gemma4_unified_text",
    lacks=_lacking(_MULTIPLIED),
    layer_scale="layer_scalar",
)
