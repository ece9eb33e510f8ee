"""Scores of attention computed again, for modules that return no map."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from collect.adapters.adapter import AttentionCall


def scores(call: AttentionCall) -> Tensor:
    """Return Q K^T / sqrt(d_head) of a call, without position or mask: (batch, n_heads, n, n)."""
    weights, heads = call.weights(), call.heads
    query = _head_projections(call.states, weights.query, weights.query_bias)
    key = _head_projections(call.states, weights.key, weights.key_bias)
    shared = heads.n_heads // heads.n_kv_heads
    products = query @ key.repeat_interleave(shared, dim=1).transpose(-1, -2)
    return products / sqrt(heads.d_head)


def _head_projections(states: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return states (batch, n, d_model) projected by every head: (batch, n_heads, n, d_head)."""
    projected = states.unsqueeze(1) @ weight.transpose(-1, -2)
    return projected if bias is None else projected + bias.unsqueeze(1)
