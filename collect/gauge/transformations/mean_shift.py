r"""Shift of the stream along its mean, which every LayerNorm removes.

LayerNorm returns :math:`g \circ (x - \bar x 1) / \sqrt{s^2 + \epsilon} + b`, :math:`\bar x` and
:math:`s` the mean and the standard deviation over features: for any number c, which may depend on
the input, n(x + c 1) = n(x). So with :math:`W' = W + 1 v^T, \; b' = b + c 1` for every matrix that
writes to a pre-norm stream, and :math:`E' = E + u 1^T` for tables, :math:`x' = x + (\ldots) 1`,
and nothing that reads the stream through a LayerNorm sees it. There are d_in + 1 numbers a matrix
and one a row of a table. A head tied to the token table would see u, so it must be parted from it.

In a post-norm network the sums lose their shift before they are the stream, so matrices that
write are as free, and the stream itself is shifted through the bias of its norm,
:math:`\beta' = \beta + c 1`: what reads it without a norm takes :math:`b' = b - c W 1`, and the
next sum loses c. Last comes the head, which has no bias to take it, so the last norm is not
free; the input of block 0 is shifted through the positions, by one c.

RMSNorm, x / sqrt(mean x^2 + eps), removes nothing: there the shift is refused. Reference:
`center_writing_weights` of TransformerLens; Elhage et al. (2021), "A mathematical framework for
transformer circuits".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from collect.errors import UnsupportedModelError
from collect.gauge.transformations.block import Matrix
from collect.gauge.transformations.transformation import Transformation, normal
from collect.gauge.transformations.wiring import Wiring


def refusal(wiring: Wiring) -> str | None:
    """Return why the mean is not free."""
    if wiring.adapter.norm_kind != "LayerNorm":
        return "RMSNorm keeps the mean over features, so every reader sees a shift along it"
    if wiring.final_norm is None and not wiring.is_post_norm:
        return "no norm after the last block takes the shift off before the head"
    return None


def needs_own_head(wiring: Wiring) -> bool:
    """Return whether the token table can be shifted only once the head is parted from it."""
    return not wiring.is_post_norm and wiring.entry_matrix is None


def apply(wiring: Wiring, rng: np.random.Generator) -> None:
    """Shift what every matrix, bias and table writes by random multiples of ones."""
    for matrix in wiring.writers:
        if not (wiring.is_post_norm and matrix is wiring.entry_matrix):
            shift_output(matrix, rng)
    if wiring.is_post_norm:
        if wiring.positions is not None:
            _shift_and_take_back(wiring.positions, wiring.blocks[0].attention_readers, rng)
        for block, later in zip(wiring.blocks, (*wiring.blocks[1:], None), strict=True):
            after_attention, after_ffn = (norm.bias for norm in block.outer_norms)
            if after_attention is not None:
                _shift_and_take_back(after_attention, block.ffn_readers, rng)
            if later is not None and after_ffn is not None:
                _shift_and_take_back(after_ffn, later.attention_readers, rng)
        return
    for table in wiring.tables:
        table.add_(_size(table) * normal(rng, table, table.shape[0], 1))
    if wiring.entry_norm is not None and wiring.entry_norm.bias is not None:
        wiring.entry_norm.bias.add_(float(rng.standard_normal()))


def shift_output(matrix: Matrix, rng: np.random.Generator) -> None:
    """Add 1 v^T to a matrix and c 1 to its bias, both random and as large as its entries."""
    entries = matrix.entries
    entries += _size(entries) * normal(rng, entries, *entries.shape[:-2], 1, entries.shape[-1])
    if matrix.bias is not None:
        matrix.bias.add_(normal(rng, entries, *matrix.bias.shape[:-1], 1))


def _shift_and_take_back(
    added: Tensor, readers: tuple[Matrix, ...], rng: np.random.Generator
) -> None:
    if any(reader.bias is None for reader in readers):
        return
    shift = float(rng.standard_normal())
    added += shift
    for reader in readers:
        reader.bias.sub_(shift * reader.entries.sum(-1))  # type: ignore[union-attr]


def _size(entries: Tensor) -> Tensor:
    size: Tensor = torch.linalg.vector_norm(entries) / entries.numel() ** 0.5
    return size


def centre(wiring: Wiring) -> None:
    """Take the mean over features out of all that writes to a pre-norm stream, so that it is 0.

    The representative of the class: raw and centred lengths agree. A tied head must be parted
    first. An embedding norm keeps the mean of g n(x), for its gain is no matrix.
    """
    for matrix in wiring.writers:
        matrix.entries.sub_(matrix.entries.mean(-2, keepdim=True))
        if matrix.bias is not None:
            matrix.bias.sub_(matrix.bias.mean(-1, keepdim=True))
    for table in wiring.tables:
        table.sub_(table.mean(-1, keepdim=True))


def shift_after(wiring: Wiring, shifts: Sequence[float]) -> None:
    """Shift a pre-norm stream by given multiples of ones: before block 0, then after each block.

    What enters block 0 is shifted through the token table, what a block adds through the bias of
    its feed-forward or, failing that, of its attention.

    Raises
    ------
    UnsupportedModelError
        If a block that must change the shift has no bias.
    """
    wiring.tokens.add_(shifts[0])
    steps = zip(shifts[:-1], shifts[1:], wiring.blocks, strict=True)
    for layer, (before, after, block) in enumerate(steps):
        if before == after:
            continue
        biases = [m.bias for m in (*block.ffn_writers, block.output) if m.bias is not None]
        if not biases:
            raise UnsupportedModelError(
                f"A constant shift of the stream must go through a bias; block {layer} has none.",
                "The shift that depends on the input is free all the same: mean_shift.",
            )
        biases[0].add_(after - before)


MEAN_SHIFT = Transformation("mean_shift", refusal, apply, needs_own_head)
