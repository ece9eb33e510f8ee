r"""Gains and biases of norms moved into the matrices that read them, in part or altogether.

A norm returns :math:`y = g \circ n(x) + \beta` and its readers compute :math:`W y + b`. For any
positive s, :math:`g' = s \circ g, \; \beta' = s \circ \beta, \; W' = W \operatorname{diag}(1/s)`
changes nothing; s = 1/g folds the gain. For any vector :math:`\delta`, :math:`\beta' = \beta +
\delta, \; b' = b - W \delta` changes nothing where all readers have a bias; :math:`\delta =
-\beta` folds the bias. There are d (and 2 d) numbers a norm. Norms of 1 + weight hold g - 1.

The final norm's reader is the head, which a tied model must first part from the token table; a
head has no bias, so the final bias stays. A norm whose output is itself the stream (post-norm,
or BLOOM's variant that adds to it) is read by the next sum as well, which has no matrix to take
the gain: refused. So is a norm without gain, and one on what a sub-layer returns, for its gain
acts between a norm and a sum. Reference: `fold_ln` of TransformerLens; Ashkboos et al. (2024),
"SliceGPT", section 3.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from collect.gauge.transformations.block import Norm
from collect.gauge.transformations.transformation import Transformation, factors, normal
from collect.gauge.transformations.wiring import Wiring


def refusal(wiring: Wiring) -> str | None:
    """Return why no norm can be folded."""
    if wiring.is_post_norm or wiring.adapter.adds_to_norm:
        return "what the norms return is itself added to, and a sum has no matrix to take a gain"
    if all(norm.gain is None for norm in wiring.norms_of_stream):
        return "the norms have no gain and no bias"
    return None


def needs_own_head(wiring: Wiring) -> bool:
    """Return whether the final norm is read by the head."""
    norm = wiring.final_norm
    return norm is not None and norm.gain is not None and wiring.exit_matrix is None


def apply(wiring: Wiring, rng: np.random.Generator) -> None:
    """Move random shares of every gain, and random biases, into what reads the norms."""
    for norm in wiring.norms_of_stream:
        if norm.gain is None:
            continue
        rescale(norm, factors(rng, norm.gain, len(norm.gain)))
        if norm.bias is not None and _take_biases(norm):
            move_bias(norm, 0.3 * normal(rng, norm.bias, len(norm.bias)))


def fold(wiring: Wiring, _rng: np.random.Generator | None = None) -> None:
    """Fold every gain, and every bias that its readers can take: g = 1 and, where so, beta = 0.

    A gain of zero is folded as it is: its feature is not read.
    """
    for norm in wiring.norms_of_stream:
        multiplier = norm.multiplier()
        if multiplier is None:
            continue
        if norm.bias is not None and _take_biases(norm):
            move_bias(norm, -norm.bias.clone())
        if norm.bias is not None:
            norm.bias.div_(torch.where(multiplier == 0, 1.0, multiplier))
        for matrix in norm.readers:
            matrix.entries.mul_(multiplier)
        norm.multiply(torch.ones_like(multiplier))


def rescale(norm: Norm, scale: Tensor | float) -> None:
    """Let a norm with a gain return s times what it did, and its readers take 1 / s."""
    norm.scale(scale)
    for matrix in norm.readers:
        matrix.entries.div_(scale)


def move_bias(norm: Norm, by: Tensor) -> None:
    """Add to the bias of a norm, and take from its readers' what they then get too much."""
    norm.bias.add_(by)  # type: ignore[union-attr]
    for matrix in norm.readers:
        matrix.bias.sub_(matrix.entries @ by)  # type: ignore[union-attr]


def _take_biases(norm: Norm) -> bool:
    return all(matrix.bias is not None for matrix in norm.readers)


def _refuse_zero_gain(wiring: Wiring) -> str | None:
    """Return why a full fold cannot be, beside what any fold asks for."""
    for norm in wiring.norms_of_stream:
        multiplier = norm.multiplier()
        if multiplier is None or norm.bias is None or _take_biases(norm):
            continue
        if bool(((multiplier == 0) & (norm.bias != 0)).any()):
            return f"{norm.name} has a gain of zero beside a bias that its readers cannot take"
    return refusal(wiring)


NORM_SCALE = Transformation("norm_scale", refusal, apply, needs_own_head)
NORM_FOLD = Transformation("norm_fold", _refuse_zero_gain, fold, needs_own_head)
