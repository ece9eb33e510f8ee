"""What an adapter declares about a family of models: where things are and how they lie."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from collect.adapters.layouts import Heads

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """Where a family keeps its blocks, attention, final norm and head. Data, not code.

    Attributes
    ----------
    model_type
        ``model_type`` of the transformers configuration.
    body
        Path from the causal model to the part without the head.
    blocks
        Path from the causal model to the list of blocks.
    attention
        Path from a block to its attention module.
    final_norm
        Path from the causal model to the norm after the last block.
    value
        Path from the attention module to the projection that holds W_V, perhaps fused.
    value_rows
        Picks the rows of W_V out of the rows of ``value``; see ``layouts``.
    output
        Path from the attention module to the projection that holds W_O.
    is_conv1d
        True when projections are stored transposed, (in, out), as GPT-2 does.
    d_head
        Attribute of the attention module that says how wide a head is.
    d_ffn
        Inner width of the feed-forward layer, from the configuration.
    norm_kind, norm_position, positional_scheme
        As in table ``model``.
    is_parallel
        Whether attention and feed-forward read the same stream, from the configuration.
    head
        Path from the causal model to the output embedding.
    """

    model_type: str
    body: str
    blocks: str
    attention: str
    final_norm: str
    value: str
    value_rows: Callable[[Tensor, Heads], Tensor]
    output: str
    is_conv1d: bool = False
    d_head: str = "head_dim"
    d_ffn: Callable[[Any], int]
    norm_kind: str
    norm_position: str = "pre"
    positional_scheme: str
    is_parallel: Callable[[Any], bool]
    head: str = "lm_head"
