r"""Another basis for the whole stream: a rotation, or an order of its features.

With gains folded, RMSNorm is :math:`n(x) = \sqrt d x / \sqrt{|x|^2 + d \epsilon}`, which commutes
with every orthogonal R: n(R x) = R n(x). So tables :math:`E' = E R^T`, matrices that write
:math:`W' = R W, \; b' = R b` and matrices that read :math:`W' = W R^T` change nothing:
d (d - 1) / 2 numbers. LayerNorm commutes with those R that keep the direction of ones, R 1 = 1; a
bias of the norm that could not be folded turns along. A tied head may stay tied only when the
final gain needs no folding.

Refused: where a gain acts between a norm and a sum (norms on what sub-layers return, post-norm,
an embedding norm, BLOOM's variant that adds to the norm), for diag(g) and R do not commute; and
where positions come from a fixed table that no checkpoint holds.

`STREAM_ORDER`, a permutation of features, commutes with every gain, so it is free in all of
these but the last; with RMSNorm each feature may change its sign as well. Reference: Ashkboos et
al. (2024), "SliceGPT", theorem 1; Elhage et al. (2021), "privileged basis".
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from collect.gauge.transformations.norm_fold import fold
from collect.gauge.transformations.transformation import Transformation, normal, orthogonal
from collect.gauge.transformations.wiring import Wiring

#: Rows that are turned together.
_ROWS = 2**13

#: Why what positions add cannot be written otherwise.
FIXED = "positions come from a fixed table that the checkpoint does not hold"


def rotation_refusal(wiring: Wiring) -> str | None:
    """Return why the stream cannot be rotated."""
    if wiring.has_fixed_positions:
        return FIXED
    if wiring.entry_norm is not None or wiring.adapter.adds_to_norm or wiring.is_post_norm:
        return "what a norm with a gain of its own returns is the stream, and a gain has axes"
    if any(block.outer_norms for block in wiring.blocks):
        return "a norm with a gain acts on what sub-layers return, and a gain has axes"
    return None


def _has_gain(wiring: Wiring) -> bool:
    return wiring.final_norm is not None and wiring.final_norm.gain is not None


def apply_rotation(wiring: Wiring, rng: np.random.Generator) -> None:
    """Fold the norms and rotate the stream by a random R."""
    fold(wiring)
    like = wiring.tokens
    if wiring.adapter.norm_kind == "LayerNorm":
        # An orthogonal matrix that maps the vector of ones to itself.
        n = wiring.d_model
        start = np.column_stack([np.ones(n), rng.standard_normal((n, n - 1))])
        basis = like.new_tensor(np.linalg.qr(start)[0])
        inner = torch.eye(n, dtype=like.dtype)
        inner[1:, 1:] = orthogonal(rng, like, n - 1)
        rotation = basis @ inner @ basis.T
    else:
        rotation = orthogonal(rng, like, wiring.d_model)
    for norm in wiring.norms_of_stream:
        if norm.bias is not None:
            norm.bias.copy_(rotation @ norm.bias)
    change_basis(wiring, rotation)


def change_basis(wiring: Wiring, basis: Tensor) -> None:
    """Write the stream in another orthonormal basis, norms left as they are."""
    for table in wiring.tables:
        _turn(table, basis)
    for matrix in wiring.writers:
        matrix.entries.copy_(basis @ matrix.entries)
        if matrix.bias is not None:
            matrix.bias.copy_(matrix.bias @ basis.T)
    for matrix in wiring.readers:
        is_written = wiring.is_tied and matrix is wiring.head
        if not is_written:
            _turn(matrix.entries, basis)


def _turn(rows: Tensor, basis: Tensor) -> None:
    """Write rows (..., d) in another basis in place, a few at a time: a head has many."""
    for some in rows.split(_ROWS):
        some.copy_(some @ basis.T)


def order_refusal(wiring: Wiring) -> str | None:
    """Return why features cannot change places."""
    return FIXED if wiring.has_fixed_positions else None


def apply_order(wiring: Wiring, rng: np.random.Generator) -> None:
    """Put the features of the stream into a random order, with random signs under RMSNorm."""
    n = wiring.d_model
    order = torch.from_numpy(rng.permutation(n))
    basis = torch.eye(n, dtype=wiring.tokens.dtype)[order]
    for norm in wiring.all_norms:
        for parameter in (norm.gain, norm.bias):
            if parameter is not None:
                parameter.copy_(parameter[order])
    if wiring.adapter.norm_kind == "RMSNorm":
        basis *= torch.sign(normal(rng, basis, n, 1))
    change_basis(wiring, basis)


STREAM_ROTATION = Transformation("stream_rotation", rotation_refusal, apply_rotation, _has_gain)
STREAM_ORDER = Transformation("stream_order", order_refusal, apply_order)
