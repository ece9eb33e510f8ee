"""The group of changes that leave the logits alone: its members, and random elements of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from collect.errors import InputError, unknown_name
from collect.gauge.transformations import layer_scale
from collect.gauge.transformations.mean_shift import MEAN_SHIFT
from collect.gauge.transformations.neurons import NEURON_ORDER, NEURON_SCALE
from collect.gauge.transformations.norm_fold import NORM_FOLD, NORM_SCALE
from collect.gauge.transformations.query_key_basis import KEY_BIAS, QUERY_KEY_BASIS
from collect.gauge.transformations.reader_shift import READER_SHIFT
from collect.gauge.transformations.stream_basis import STREAM_ORDER, STREAM_ROTATION
from collect.gauge.transformations.stream_scale import STREAM_SCALE
from collect.gauge.transformations.transformation import Transformation
from collect.gauge.transformations.value_basis import VALUE_BASIS, VALUE_BIAS
from collect.gauge.transformations.wiring import wiring
from collect.model.checkpoint.decoder import Decoder

#: Every transformation by name, in the order in which a random element applies them.
TRANSFORMATIONS: dict[str, Transformation] = {
    member.name: member
    for member in (
        NORM_SCALE,
        NORM_FOLD,
        READER_SHIFT,
        STREAM_ROTATION,
        STREAM_ORDER,
        STREAM_SCALE,
        MEAN_SHIFT,
        VALUE_BASIS,
        VALUE_BIAS,
        QUERY_KEY_BASIS,
        KEY_BIAS,
        NEURON_SCALE,
        NEURON_ORDER,
    )
}

#: Those of networks whose blocks multiply the stream by a stored number, by name. No rule says
#: how else such a network is wired, so they stand for themselves.
OF_SCALARS: dict[str, Callable[[Decoder, np.random.Generator], None]] = {
    "layer_fold": layer_scale.fold,
    "layer_scale": layer_scale.apply,
}

_UNWIRED = "its blocks multiply the stream, and no rule says how their other weights are wired"


def refusals(decoder: Decoder) -> dict[str, str | None]:
    """Return for every transformation why a network refuses it, or None where it is free."""
    if layer_scale.scalars(decoder):
        free = dict.fromkeys(OF_SCALARS, layer_scale.refusal(decoder))
        return {**dict.fromkeys(TRANSFORMATIONS, _UNWIRED), **free}
    wires = wiring(decoder)
    reasons = {name: member.refusal(wires) for name, member in TRANSFORMATIONS.items()}
    return reasons | dict.fromkeys(OF_SCALARS, layer_scale.refusal(decoder))


def chosen(decoder: Decoder, names: Sequence[str]) -> tuple[str, ...]:
    """Return the transformations that some names ask for; none means all that are free.

    Raises
    ------
    InputError
        If a name is unknown, or the network refuses it.
    """
    reasons = refusals(decoder)
    for name in names:
        if name not in reasons:
            raise unknown_name("A transformation", name, reasons)
        if reasons[name] is not None:
            raise InputError(
                f"The network must be free under {name}; this {decoder.model.config.model_type} "
                f"model is not: {reasons[name]}.",
                f"Free here: {', '.join(n for n, reason in reasons.items() if reason is None)}.",
            )
    return tuple(names) or tuple(name for name, reason in reasons.items() if reason is None)


@torch.no_grad()
def transform(decoder: Decoder, names: Sequence[str], rng: np.random.Generator) -> None:
    """Apply transformations in place, in the order named, by elements drawn with ``rng``.

    A head tied to the token embedding is parted from it first where a transformation asks for
    that; ``config.tie_word_embeddings`` is then false.
    """
    for name in names:
        if name in OF_SCALARS:
            OF_SCALARS[name](decoder, rng)
            continue
        member, wires = TRANSFORMATIONS[name], wiring(decoder)
        if wires.is_tied and member.needs_own_head(wires):
            part_head(decoder)
            wires = wiring(decoder)
        member.apply(wires, rng)


def part_head(decoder: Decoder) -> None:
    """Give the head a copy of the token embedding as a matrix of its own."""
    head: Any = decoder.head
    head.weight = torch.nn.Parameter(head.weight.detach().clone())
    decoder.model.config.tie_word_embeddings = False
