r"""Another basis for a head's queries, undone in its keys, as far as positions allow.

A score is :math:`q_i^T k_j` with :math:`q = W_Q x + b_Q, \; k = W_K x + b_K`. For any invertible
M, :math:`W_Q' = M W_Q, \; W_K' = M^{-T} W_K` (biases alike) leaves it as it is: d_head^2 numbers
a key head, shared by its query heads. That holds where positions enter otherwise:
learned, sinusoidal, ALiBi.

Rotary positions put a rotation between, :math:`q_i^T R_{j-i} k_j`, so M must commute with every
R: in each pair of entries that is turned together a turn and a factor, :math:`a R(\theta)`, and
any invertible M on entries that are not turned. Where entries are clipped, only order and signs
are left, with rotary positions only the sign of a pair. Where a norm stands between projection
and score it fixes the length, up to its epsilon: what is left is a factor on the gain of the
queries' norm, undone in the keys', unless what the norms return is clipped.

`KEY_BIAS`: a constant added to all keys adds :math:`q_i^T c` to every score of a row, which the
softmax removes; free on entries that are not turned. Reference: Elhage et al. (2021), the QK
circuit; Su et al. (2021), "RoFormer", for R.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from collect.gauge.transformations.block import Block
from collect.gauge.transformations.transformation import (
    Transformation,
    invertible,
    normal,
    signed_order,
)
from collect.gauge.transformations.wiring import Wiring

#: Types whose rotary positions turn entries 2 i and 2 i + 1 together; others i and i + half.
_NEIGHBOURS = ("codegen", "cohere", "cohere2", "ernie4_5", "glm", "glm4", "gptj", "helium")


@dataclass(frozen=True, slots=True)
class Turned:
    """Pairs of a head's entries that rotary positions turn together, and entries left alone."""

    pairs: tuple[tuple[int, int], ...]
    free: tuple[int, ...]


def turned(wiring: Wiring) -> Turned:
    """Return what positions do to the entries of queries and keys."""
    d_head = wiring.heads.d_head
    if wiring.adapter.positional_scheme(wiring.config) != "rotary":
        return Turned((), tuple(range(d_head)))
    width = _rotary_width(wiring.config, d_head)
    half = width // 2
    if wiring.config.model_type in _NEIGHBOURS:
        pairs = tuple((2 * i, 2 * i + 1) for i in range(half))
    else:
        pairs = tuple((i, i + half) for i in range(half))
    return Turned(pairs, tuple(range(width, d_head)))


def _rotary_width(config: Any, d_head: int) -> int:
    if getattr(config, "rotary_dim", None):
        return int(config.rotary_dim)
    parameters = getattr(config, "rope_parameters", None) or {}
    share = parameters.get("partial_rotary_factor", getattr(config, "partial_rotary_factor", 1.0))
    return int(d_head * (1.0 if share is None else share))


def apply(wiring: Wiring, rng: np.random.Generator) -> None:
    """Give the queries and keys of every key head a random basis."""
    heads, entries = wiring.heads, turned(wiring)
    is_clipped = wiring.adapter.clip(wiring.config) is not None
    for block in wiring.blocks:
        if block.query_norms:
            factor = float(np.exp(rng.uniform(-1, 1)))
            offset = wiring.adapter.gain_offset
            for parameters, by in ((block.query_norms, factor), (block.key_norms, 1 / factor)):
                for parameter in parameters:
                    parameter.copy_((parameter + offset) * by - offset)
            continue
        for kv_head in range(heads.n_kv_heads):
            like = block.projections[0].entries
            basis = like.new_zeros(heads.d_head, heads.d_head)
            for first, second in entries.pairs:
                angle = np.pi * rng.integers(2) if is_clipped else rng.uniform(-np.pi, np.pi)
                size = 1.0 if is_clipped else np.exp(rng.uniform(-1, 1))
                cosine, sine = size * np.cos(angle), size * (0.0 if is_clipped else np.sin(angle))
                basis[first, first] = basis[second, second] = cosine
                basis[first, second], basis[second, first] = -sine, sine
            free = torch.tensor(entries.free, dtype=torch.long)
            draw = signed_order if is_clipped else invertible
            if len(free):
                basis[free[:, None], free] = draw(rng, like, len(free))
            change_basis(wiring, block, kv_head, basis)


def change_basis(wiring: Wiring, block: Block, kv_head: int, basis: Tensor) -> None:
    """Write the queries of a key head's query heads, and its keys, in another basis."""
    shared = wiring.heads.n_heads // wiring.heads.n_kv_heads
    dual = torch.linalg.inv(basis).T
    for head in range(kv_head * shared, (kv_head + 1) * shared):
        block.projections[0].turn(block.rows[0][head], basis)
    block.projections[1].turn(block.rows[1][kv_head], dual)


def _refusal(wiring: Wiring) -> str | None:
    if wiring.blocks[0].query_norms and wiring.adapter.clip(wiring.config) is not None:
        return "what the norms of queries and keys return is clipped, so their gains are not free"
    return None


def _bias_refusal(wiring: Wiring) -> str | None:
    if wiring.adapter.clip(wiring.config) is not None:
        return "keys are clipped, and a clip does not commute with a shift"
    if wiring.blocks[0].query_norms:
        return "a norm between keys and scores sees the bias"
    if wiring.blocks[0].projections[1].bias is None:
        return "keys have no bias"
    if wiring.adapter.has_sinks:
        return "a score is weighed against a sink that the shift would not reach"
    if not turned(wiring).free:
        return "rotary positions turn every entry, so a constant key is none after the turn"
    return None


def _shift_biases(wiring: Wiring, rng: np.random.Generator) -> None:
    free = torch.tensor(turned(wiring).free, dtype=torch.long)
    for block in wiring.blocks:
        for kv_head in range(wiring.heads.n_kv_heads):
            matrix = block.projections[1]
            shift = normal(rng, matrix.entries, len(free))
            matrix.bias[block.rows[1][kv_head][free]] += shift  # type: ignore[index]


QUERY_KEY_BASIS = Transformation("query_key_basis", _refusal, apply)
KEY_BIAS = Transformation("key_bias", _bias_refusal, _shift_biases)
