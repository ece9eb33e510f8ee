r"""The number by which a block multiplies the stream, moved into the weights around it.

A block of Gemma 4 returns, with n for RMSNorm without its gain and s for its buffer `layer_scalar`,

.. math:: x_{l+1} = s_l (x_l + g_a \circ n(A(n(x_l))) + g_f \circ n(F(n(y_l)))
          + g_p \circ n(P(\sigma(G z_l) \circ e_l))),

y and z being the sums so far and e the embedding of the token for this block. For any positive
:math:`c_0 = 1, c_1, \ldots, c_L` the stream may be :math:`x'_l = c_l x_l`: the gains of the norms
that write take :math:`g' = c_l g`, the gate :math:`G' = G / c_l`, the scalar
:math:`s'_l = s_l c_{l+1} / c_l`, and every norm that reads the stream :math:`\epsilon' =
c_l^2 \epsilon`, so that it returns what it did. All else reads what a norm returns. There is one
number a block: the length after every block is free, the embedding's alone is not.
:math:`c_{l+1} = c_l / |s_l|` leaves scalars of 1, or of -1 where one was negative.

A checkpoint holds one :math:`\epsilon` for all norms. Saved, the rewriting is exact but for
that: n(x) changes by at most :math:`\epsilon |1 - c_l^{-2}| / (2 \overline{x^2})` of itself.

Blocks without such a scalar add to the stream as it is, so one factor serves all depths
(`stream_scale`) and no gain moves. Reference: `Gemma4TextDecoderLayer` of transformers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from operator import mul
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

if TYPE_CHECKING:
    from collect.model.checkpoint.decoder import Decoder

#: Norms of a block whose outcome is added to the stream.
_WRITERS = (
    "post_attention_layernorm",
    "post_feedforward_layernorm",
    "post_per_layer_input_norm",
)
#: Norms of a block that read the stream, and the matrix that reads it without one.
_NORMS = (
    "input_layernorm",
    "pre_feedforward_layernorm",
    "pre_feedforward_layernorm_2",
    "router.norm",
)
_GATE = "per_layer_input_gate"

#: The other parts of a block, which read what norms return and are read by norms.
_INSIDE = (
    "self_attn",
    "mlp",
    "router",
    "experts",
    "post_feedforward_layernorm_1",
    "post_feedforward_layernorm_2",
    "per_layer_projection",
    "act_fn",
)

_FREE = "blocks must multiply the stream by a stored number; these add to it as it is"


def scalars(decoder: Decoder) -> list[float]:
    """Return the number by which each block multiplies the stream; none where blocks have none."""
    found = [decoder.layer_scale(layer) for layer in range(len(decoder.blocks))]
    return [float(each) for each in found if each is not None]


def refusal(decoder: Decoder) -> str | None:
    """Return why the stream has no scale of its own after every block."""
    numbers = scalars(decoder)
    if not numbers:
        return _FREE
    if 0.0 in numbers:
        return "a block multiplies the stream by zero"
    known = {name.partition(".")[0] for name in (*_WRITERS, *_NORMS, _GATE, *_INSIDE)}
    parts = {name for block in decoder.blocks for name, _ in block.named_children()}
    if parts - known:
        return f"it is not known how {min(parts - known)} reads the stream"
    return None


@torch.no_grad()
def rescale(decoder: Decoder, factors: Sequence[float]) -> None:
    """Multiply what each block returns by a positive number, in place, the logits left alone.

    Parameters
    ----------
    decoder
        A network that `refusal` does not refuse.
    factors
        c_1 to c_L: of the stream after block 0 to L - 1.
    """
    before = 1.0
    for layer, (block, after) in enumerate(zip(decoder.blocks, factors, strict=True)):
        for name in _WRITERS:
            if (norm := _part(block, name)) is not None:
                norm.weight.mul_(before)
        if (gate := _part(block, _GATE)) is not None:
            gate.weight.div_(before)
        for name in _NORMS:
            _scale_epsilon(_part(block, name), before)
        scalar: Any = decoder.layer_scale(layer)
        scalar.mul_(after / before)
        before = after
    _scale_epsilon(decoder.final_norm, before)


def apply(decoder: Decoder, rng: np.random.Generator) -> None:
    """Multiply what each block returns by a random factor between 1/3 and 3."""
    rescale(decoder, np.exp(rng.uniform(-1, 1, len(decoder.blocks)) * np.log(3)).tolist())


def fold(decoder: Decoder, _rng: np.random.Generator | None = None) -> None:
    """Move every scalar into the weights, so that blocks add to the stream as they do elsewhere."""
    rescale(decoder, folding(decoder))


def folding(decoder: Decoder) -> list[float]:
    """Return the factors of the stream after every block that leave scalars of 1 in size."""
    return list(accumulate((1 / abs(s) for s in scalars(decoder)), mul))


def round_epsilon(decoder: Decoder) -> bool:
    """Give norms the one epsilon that a configuration holds; return whether any had another."""
    others = [norm for norm in _norms_of_stream(decoder) if norm.eps != _epsilon(decoder)]
    for norm in others:
        norm.eps = _epsilon(decoder)
    return bool(others)


def _norms_of_stream(decoder: Decoder) -> list[Any]:
    """Return the norms that read the stream of a network whose blocks multiply it."""
    if not scalars(decoder):
        return []
    inner = [_part(block, name) for block in decoder.blocks for name in _NORMS]
    return [norm for norm in (*inner, decoder.final_norm) if norm is not None]


def _epsilon(decoder: Decoder) -> float:
    return float(decoder.config.rms_norm_eps)


def _part(block: Any, path: str) -> Any:
    try:
        return block.get_submodule(path)
    except AttributeError:
        return None


def _scale_epsilon(norm: Any, factor: float) -> None:
    if norm is not None:
        norm.eps = norm.eps * factor**2
