"""Falcon in its forms: one or several key heads, one or two norms, rotary positions or ALiBi.

With rotary positions only the eager code is causal (transformers 5.23); with ALiBi only the
sdpa code is right, because the eager one adds ALiBi to a mask that already holds it. The sdpa
code returns no map, so the map is computed again from queries, keys and that mask.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from collect.adapters.adapter import AttentionCall, Form, returned_maps
from collect.adapters.configuration import entry
from collect.adapters.families.bloom import FUSED
from collect.adapters.scores import scores

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
    mask: Tensor = call.kwargs["attention_mask"]
    return (scores(call).float() + mask.float()).softmax(-1)


_SEQUENTIAL = FUSED.variant(
    "falcon",
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
