"""Falcon in its forms: one or several key heads, one or two norms, rotary positions or ALiBi.

With rotary positions only the eager code is causal (transformers 5.23); with ALiBi only the
sdpa code is right, because the eager one adds ALiBi to a mask that already holds it. The sdpa
code returns no map, so the map is computed again from queries, keys and that mask.
"""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import TYPE_CHECKING, Any

from collect.adapters.adapter import AttentionCall, Form, returned_maps
from collect.adapters.configuration import entry
from collect.adapters.families.bloom import FUSED

if TYPE_CHECKING:
    from torch import Tensor


def _n_kv_heads(config: Any) -> int:
    if config.multi_query and not config.new_decoder_architecture:
        return 1
    return int(config.num_kv_heads)


def _maps(call: AttentionCall) -> Tensor | None:
    """Return softmax(Q K^T / sqrt(d_head) + mask) in float32 when the mask holds ALiBi."""
    if call.kwargs.get("alibi") is None:
        return returned_maps(call)
    weights, heads = call.weights(), call.heads
    query = _by_head(call.states, weights.query, weights.query_bias)
    key = _by_head(call.states, weights.key, weights.key_bias)
    shared = heads.n_heads // heads.n_kv_heads
    scores = query @ key.repeat_interleave(shared, dim=1).transpose(-1, -2) / sqrt(heads.d_head)
    maps: Tensor = (scores.float() + call.kwargs["attention_mask"].float()).softmax(-1)
    return maps


def _by_head(states: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return states (batch, n, d_model) projected by every head: (batch, n_heads, n, d_head)."""
    projected = states.unsqueeze(1) @ weight.transpose(-1, -2)
    return projected if bias is None else projected + bias.unsqueeze(1)


_SEQUENTIAL = replace(
    FUSED,
    name="falcon",
    model_types=("falcon",),
    n_kv_heads=_n_kv_heads,
    d_ffn=entry("ffn_hidden_size"),
    positional_scheme=lambda config: "alibi" if config.alibi else "rotary",
    attention_implementation=lambda config: "sdpa" if config.alibi else "eager",
    maps=_maps,
)

_ONE_NORM = replace(_SEQUENTIAL, mid=None)
_TWO_NORMS = replace(_ONE_NORM, attention_norm="ln_attn")


def _has_two_norms(config: Any) -> bool:
    """Return whether attention and feed-forward have a norm each, as the model's code decides."""
    return bool(config.new_decoder_architecture and config.num_ln_in_parallel_attn in (None, 2))


FALCON = replace(
    _SEQUENTIAL,
    forms=(
        Form(_has_two_norms, _TWO_NORMS),
        Form(lambda config: config.parallel_attn or config.new_decoder_architecture, _ONE_NORM),
    ),
)
