r"""One factor on the whole stream, with the epsilon of the norms scaled along.

Everything that writes is multiplied by a > 0, so x' = a x at every depth, and
:math:`\epsilon' = a^2 \epsilon` leaves every norm of the stream what it returned: one number. Norms
that read something else must have their input scaled too, because the configuration holds one
epsilon: with a norm between projection and score, W_Q, W_K and their biases take a; a norm on
what a sub-layer returns gets a times its input and writes a times its output. What reads the
stream without a norm takes 1/a. A tied head is a times too large, so the gain and bias of the
final norm take 1/a.

Refused where the code and not the configuration holds the epsilon, where positions come from a
fixed table, and in post-norm networks, whose sums would need it. Reference: positive homogeneity
of normalisation, Santurkar et al. (2018); the epsilon is what published accounts leave out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from collect.gauge.transformations.norm_fold import rescale
from collect.gauge.transformations.stream_basis import FIXED
from collect.gauge.transformations.transformation import Transformation

if TYPE_CHECKING:
    from collect.gauge.transformations.block import Block, Norm
    from collect.gauge.transformations.wiring import Wiring

_CONFIGURED = (
    "rms_norm_eps",
    "layer_norm_eps",
    "layer_norm_epsilon",
    "norm_epsilon",
    "norm_eps",
)
_OF_MODULE = ("eps", "variance_epsilon")


def refusal(wiring: Wiring) -> str | None:
    """Return why the stream's scale is not free."""
    if wiring.is_post_norm:
        return "the stream is what a norm returns, and its readers have no norm of their own"
    if wiring.has_fixed_positions:
        return FIXED
    name = _name(wiring.config)
    if name is None:
        return "the epsilon of the norms is not in the configuration"
    held = float(getattr(wiring.config, name))
    if any(_epsilon(norm) != held for norm in wiring.all_norms):
        return "the epsilon of the norms is fixed in the code, not in the configuration"
    return None


def _name(config: Any) -> str | None:
    return next((name for name in _CONFIGURED if getattr(config, name, None) is not None), None)


def _epsilon(norm: Norm) -> float | None:
    names = [name for name in _OF_MODULE if hasattr(norm.module, name)]
    return float(getattr(norm.module, names[0])) if names else None


def apply(wiring: Wiring, rng: np.random.Generator) -> None:
    """Scale the stream by a random factor between 1/3 and 3."""
    scale(wiring, float(np.exp(rng.uniform(-1, 1) * np.log(3))))


def scale(wiring: Wiring, factor: float) -> None:
    """Scale the stream, the weights in place and the epsilon in modules and configuration."""
    name = _name(wiring.config)
    setattr(wiring.config, str(name), float(getattr(wiring.config, str(name))) * factor**2)
    for module in wiring.decoder.model.modules():
        for attribute in _OF_MODULE:
            if isinstance(getattr(module, attribute, None), float):
                setattr(module, attribute, getattr(module, attribute) * factor**2)
    for table in wiring.tables:
        table.mul_(factor)
    for matrix in wiring.writers:
        matrix.entries.mul_(factor)
        if matrix.bias is not None:
            matrix.bias.mul_(factor)
    if wiring.entry_norm is not None:
        wiring.entry_norm.scale(factor)
    for block in wiring.blocks:
        _scale_block(wiring, block, factor)
    if wiring.is_tied and wiring.final_norm is not None:
        wiring.final_norm.scale(1 / factor)


def _scale_block(wiring: Wiring, block: Block, factor: float) -> None:
    has_inner_norms = block.attention_norm is not None
    of_scores = factor if block.query_norms else 1.0
    of_stream = 1.0 if has_inner_norms else 1 / factor
    for norm in block.outer_norms:
        norm.scale(factor)
    if wiring.adapter.adds_to_norm:
        for norm in block.inner_norms:
            rescale(norm, factor)
    for place, times in enumerate((of_scores, of_scores, 1.0)):
        _multiply_rows(block, place, times * of_stream, times)
    if not has_inner_norms:
        for matrix in block.ffn_readers:
            matrix.entries.div_(factor)


def _multiply_rows(block: Block, place: int, times: float, of_bias: float) -> None:
    rows, matrix = block.rows[place].flatten(), block.projections[place]
    matrix.entries[rows] *= times
    if matrix.bias is not None:
        matrix.bias[rows] *= of_bias


STREAM_SCALE = Transformation("stream_scale", refusal, apply)
