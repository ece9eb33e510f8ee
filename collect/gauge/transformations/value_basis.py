r"""Another basis for a head's values, undone where its output is written.

A head writes :math:`O_h \sum_j A_{ij} (V_h x_j + b_h)`. For any invertible M,
:math:`V_h' = M V_h, \; b_h' = M b_h, \; O_h' = O_h M^{-1}` changes neither the sum nor the map A:
d_head^2 numbers a value head. Query heads that share values share M. Where entries of values are
clipped, only what commutes with a symmetric clip is free: order and signs of the entries.

Biases have a freedom of their own, `VALUE_BIAS`: rows of A sum to one, so :math:`b_h' = b_h + c`
and :math:`b_O' = b_O - \sum_h O_h c` change nothing, unless values are clipped or part of a row
goes to a sink. Reference: Elhage et al. (2021), sections on the OV circuit;
`fold_value_biases` of TransformerLens.
"""

from __future__ import annotations

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


def apply(wiring: Wiring, rng: np.random.Generator) -> None:
    """Give every value head a random basis."""
    d_head = wiring.heads.d_head
    is_clipped = wiring.adapter.clip(wiring.config) is not None
    draw = signed_order if is_clipped else invertible
    for block in wiring.blocks:
        for kv_head in range(wiring.heads.n_kv_heads):
            basis = draw(rng, block.output.entries, d_head)
            change_basis(wiring, block, kv_head, basis)


def change_basis(wiring: Wiring, block: Block, kv_head: int, basis: Tensor) -> None:
    """Write the values of a head in another basis."""
    block.projections[2].turn(block.rows[2][kv_head], basis)
    inverse = torch.linalg.inv(basis)
    for columns in _columns(wiring, kv_head):
        block.output.entries[:, columns] = block.output.entries[:, columns] @ inverse


def _columns(wiring: Wiring, kv_head: int) -> list[slice]:
    """Return the columns of W_O that the query heads of a value head feed."""
    heads = wiring.heads
    shared = heads.n_heads // heads.n_kv_heads
    first = range(kv_head * shared, (kv_head + 1) * shared)
    return [slice(head * heads.d_head, (head + 1) * heads.d_head) for head in first]


def _bias_refusal(wiring: Wiring) -> str | None:
    if wiring.adapter.clip(wiring.config) is not None:
        return "values are clipped, and a clip does not commute with a shift"
    if wiring.adapter.has_sinks:
        return "part of each row of attention goes to a sink, so rows do not sum to one"
    block = wiring.blocks[0]
    if block.projections[2].bias is None or block.output.bias is None:
        return "values, or what is written of them, have no bias"
    return None


def _shift_biases(wiring: Wiring, rng: np.random.Generator) -> None:
    for block in wiring.blocks:
        matrix, output = block.projections[2], block.output
        for kv_head in range(wiring.heads.n_kv_heads):
            shift = normal(rng, output.entries, wiring.heads.d_head)
            matrix.bias[block.rows[2][kv_head]] += shift  # type: ignore[index]
            for columns in _columns(wiring, kv_head):
                output.bias.sub_(output.entries[:, columns] @ shift)  # type: ignore[union-attr]


VALUE_BASIS = Transformation("value_basis", lambda _wiring: None, apply)
VALUE_BIAS = Transformation("value_bias", _bias_refusal, _shift_biases)
