"""How far one quantity can be moved while the logits stay, found by doubling one shift.

In a LayerNorm network without norms after its blocks the mean of the stream is free after every
block (`mean_shift`), so a gain |x_l| / |x_k| takes any value above 0 in exact arithmetic: shift
x_l to raise it, x_k to lower it. What ends the search is the number format: a shift s leaves
logits computed in float32 with an error that grows with s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from collect.errors import InputError, unknown_name
from collect.gauge.group import part_head
from collect.gauge.logits import TOLERANCES, Reference
from collect.gauge.precision import widen
from collect.gauge.transformations import mean_shift
from collect.gauge.transformations.wiring import wiring
from collect.model.checkpoint.decoder import Decoder

#: By quantity: the shift before block 0 and after each of L blocks that raises it, for s = 1.
_RAISED: dict[str, Callable[[int], list[float]]] = {
    "gain_last_block": lambda n: [0.0] * n + [1.0],
    "gain_penultimate_block": lambda n: [0.0] * (n - 1) + [1.0, 1.0],
    "gain_body": lambda n: [0.0, 0.0, *np.linspace(0, 1, n)[1:]],
    "total_amplification": lambda n: [0.0, 0.0, *np.linspace(0, 1, n)[1:]],
}

_LARGEST_SHIFT = 2.0**24


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
def shift_stream(decoder: Decoder, profile: Sequence[float]) -> None:
    """Shift the stream of a network in place by multiples of ones; see `shift_after`.

    The mean is taken out first, so that the shifts are all there is of it.
    """
    if wiring(decoder).is_tied:
        part_head(decoder)
    wires = wiring(decoder)
    mean_shift.centre(wires)
    mean_shift.shift_after(wires, profile)


def moved(load: Callable[[], Decoder], quantity: str, shift: float) -> Decoder:
    """Return the network that is loaded, in float64, with a quantity moved by a shift."""
    network = load()
    widen(network)
    shift_stream(network, shifts(quantity, len(network.blocks), shift))
    return network


def furthest(
    load: Callable[[], Decoder], quantity: str, reference: Reference, *, direction: int
) -> float:
    """Return the largest shift, 1 doubled as often, at which float32 keeps the logits.

    Parameters
    ----------
    load
        Returns the network in float32, each time anew: one at a time is held.
    quantity
        One that `shifts` knows, and `check` has found free.
    reference
        The logits in float32.
    direction
        1 to raise, -1 to lower.

    Returns
    -------
    The multiple of ones added to the stream where it is shifted most [activation units].
    """
    best, shift = 1.0, 1.0
    while shift <= _LARGEST_SHIFT:
        network = moved(load, quantity, direction * shift)
        network.model.float()
        gap = reference.difference(network)
        del network
        if shift > best and gap.relative > TOLERANCES["float32"]:
            break
        best, shift = shift, 2 * shift
    return direction * best
