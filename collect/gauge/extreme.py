"""How far one quantity can be moved while the logits stay, found by doubling one shift.

In a LayerNorm network without norms after its blocks the mean of the stream is free after every
block (`mean_shift`), so a gain |x_l| / |x_k| takes any value above 0 in exact arithmetic: shift
x_l to raise it, x_k to lower it. What ends the search is the number format: a shift s leaves
logits computed in float32 with an error that grows with s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np
import torch

from collect.errors import InputError, unknown_name
from collect.gauge.group import part_head
from collect.gauge.logits import TOLERANCES, Difference, difference, logits
from collect.gauge.measured import measured
from collect.gauge.quantity import values
from collect.gauge.transformations import mean_shift
from collect.gauge.transformations.wiring import wiring
from collect.model.checkpoint.decoder import Decoder
from collect.prompts.tokens import Encoded

#: By quantity: the shift before block 0 and after each of L blocks that raises it, for s = 1.
_RAISED: dict[str, Callable[[int], list[float]]] = {
    "gain_last_block": lambda n: [0.0] * n + [1.0],
    "gain_penultimate_block": lambda n: [0.0] * (n - 1) + [1.0, 1.0],
    "gain_body": lambda n: [0.0, 0.0, *np.linspace(0, 1, n)[1:]],
    "total_amplification": lambda n: [0.0, 0.0, *np.linspace(0, 1, n)[1:]],
}

_LARGEST_SHIFT = 2.0**24


@dataclass(frozen=True, slots=True)
class Reached:
    """One end of what a quantity reaches.

    Attributes
    ----------
    shift
        Multiple of ones added to the stream where it is shifted most [activation units].
    value
        Mean of the quantity over prompts.
    float64, float32
        How far the logits then differ from the original's.
    """

    shift: float
    value: float
    float64: Difference
    float32: Difference


def shifts(quantity: str, n_layers: int, shift: float) -> list[float]:
    """Return the shifts of the stream that raise a quantity (s > 0) or lower it (s < 0).

    Raises
    ------
    InputError
        If no rule says which shifts move the quantity.
    """
    if quantity not in _RAISED:
        raise unknown_name("The quantity to move", quantity, _RAISED)
    raised = _RAISED[quantity](n_layers)
    return [shift * s if shift > 0 else -shift * (1 - s) for s in raised]


def check(decoder: Decoder, quantity: str) -> None:
    """Check that a quantity is free in a network.

    Raises
    ------
    InputError
        If no rule says which shifts move the quantity, or the network refuses them.
    """
    shifts(quantity, len(decoder.blocks), 1.0)
    wires = wiring(decoder)
    reason = mean_shift.refusal(wires)
    if wires.is_post_norm:
        reason = "its stream is what a norm returns"
    if reason is not None:
        raise InputError(
            f"The network must be free to shift its stream for {quantity} to move; this "
            f"{decoder.model.config.model_type} model is not: {reason}.",
            "Leave --extreme out: the transformations that are free are applied.",
        )


@torch.no_grad()
def shifted(decoder: Decoder, profile: Sequence[float]) -> Decoder:
    """Return a copy of a network whose stream is shifted by multiples of ones; see `shift_after`.

    The mean is taken out first, so that the shifts are all there is of it.
    """
    copy = replace(decoder, model=deepcopy(decoder.model))
    if wiring(copy).is_tied:
        part_head(copy)
    wires = wiring(copy)
    mean_shift.centre(wires)
    mean_shift.shift_after(wires, profile)
    return copy


def reach(
    decoder: Decoder, quantity: str, prompts: Sequence[Encoded], *, direction: int
) -> tuple[Reached, Decoder]:
    """Return how far a quantity moves in one direction, and the network in float64 that gets there.

    Parameters
    ----------
    decoder
        In float64.
    quantity
        One that `shifts` knows.
    prompts
        On which it is measured and logits are compared.
    direction
        1 to raise, -1 to lower.
    """
    check(decoder, quantity)
    true, true_short = logits(decoder, prompts), logits(_short(decoder), prompts)
    best, shift = None, 1.0
    while shift <= _LARGEST_SHIFT:
        moved = shifted(decoder, shifts(quantity, len(decoder.blocks), direction * shift))
        short = difference(true_short, logits(_short(moved), prompts))
        if best is not None and short.relative > TOLERANCES["float32"]:
            break
        best, shift = (shift, moved, short), 2 * shift
    if best is None:
        raise AssertionError("the smallest shift is always tried")
    furthest, moved, short = best
    value = float(values(measured({"moved": moved}, prompts))["moved"][quantity].mean())
    wide = difference(true, logits(moved, prompts))
    return Reached(direction * furthest, value, wide, short), moved


def _short(decoder: Decoder) -> Decoder:
    return replace(decoder, model=deepcopy(decoder.model).float())
