r"""Shift of what reads a LayerNorm along the direction that the norm never gives.

The normalised vector n of a LayerNorm has mean zero, :math:`1^T n = 0`. A matrix that reads
:math:`g \circ n + \beta` may therefore take :math:`W' = W + w (1 / g)^T` for any vector w:
:math:`W' (g \circ n) = W (g \circ n) + w 1^T n`, the last term being zero, and
:math:`b' = b - w \sum \beta / g` makes up for the bias of the norm. There are d_out numbers a
matrix. A reader without a bias is free only where the norm has none either.

RMSNorm leaves the mean in, so there it is refused; so it is where what the norm returns is
itself the stream. Reference: the centring of weights after `fold_ln` in TransformerLens.
"""

from __future__ import annotations

import numpy as np
import torch

from collect.gauge.transformations.block import Matrix, Norm
from collect.gauge.transformations.transformation import Transformation, normal
from collect.gauge.transformations.wiring import Wiring


def refusal(wiring: Wiring) -> str | None:
    """Return why no reader is free along the mean."""
    if wiring.adapter.norm_kind != "LayerNorm":
        return "RMSNorm keeps the mean over features, so readers use the direction of ones"
    if wiring.is_post_norm:
        return "readers see the norm's output with its bias through no norm of their own"
    if not any(_free(norm) for norm in wiring.norms_of_stream):
        return "every norm has a bias and no reader has one to make up for it"
    return None


def needs_own_head(wiring: Wiring) -> bool:
    """Return whether the head is a free reader that must first be parted from the token table."""
    norm = wiring.final_norm
    return norm is not None and wiring.head in _free(norm)


def apply(wiring: Wiring, rng: np.random.Generator) -> None:
    """Add a random w (1 / g)^T to every reader that is free."""
    for norm in wiring.norms_of_stream:
        multiplier = norm.multiplier()
        for matrix in _free(norm):
            entries = matrix.entries
            inverse = torch.ones_like(entries[0]) if multiplier is None else 1 / multiplier
            w = 0.1 * normal(rng, entries, *entries.shape[:-1])
            entries += w[..., None] * inverse
            if norm.bias is not None and matrix.bias is not None:
                matrix.bias.sub_(w * (norm.bias * inverse).sum())


def _free(norm: Norm) -> tuple[Matrix, ...]:
    multiplier = norm.multiplier()
    if multiplier is not None and bool((multiplier == 0).any()):
        return ()
    return tuple(m for m in norm.readers if norm.bias is None or m.bias is not None)


READER_SHIFT = Transformation("reader_shift", refusal, apply, needs_own_head)
