"""Quantities that show how one's own are made: a logit lens, a probe's projection, raw vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from collect.errors import InputError
from collect.instruments.own.definition import OwnQuantity
from collect.measures.predictions import predictions


def lens_entropy(
    site: str,
    layer: int,
    states: Tensor,
    attention: Tensor | None,
    logits: Callable[[Tensor], Tensor],
) -> Tensor:
    """Return the entropy [nat] of what each token's state would predict if it were the last.

    The logit lens of nostalgebraist (2020): the model's own final norm and head, read early.
    """
    none_comes = torch.full((len(states),), -1, device=states.device)
    return predictions(states, logits, none_comes).entropy


LOGIT_LENS_ENTROPY = OwnQuantity(
    name="logit_lens_entropy",
    unit="nat",
    description="Entropy of the next token as the final norm and head would read it off a block",
    measure=lens_entropy,
    needs=("logits",),
)


def projection(
    site: str, layer: int, states: Tensor, attention: Tensor | None, direction: Tensor
) -> Tensor:
    """Return the coordinate of each token's state along a direction of length 1."""
    along = torch.as_tensor(direction, device=states.device).double()
    coordinates: Tensor = states.double() @ (along / along.norm())
    return coordinates


def probe_projection(
    direction: Tensor | Sequence[float],
    *,
    name: str = "probe_projection",
    description: str = "Coordinate of the stream along the direction of a probe",
    layers: tuple[int, ...] | None = None,
    sites: tuple[str, ...] = ("block_output",),
) -> OwnQuantity:
    """Return the quantity that projects the stream on a probe's direction.

    Parameters
    ----------
    direction
        (d,) in the coordinates of the stream; only where it points counts.
    name, description, layers, sites
        As of `OwnQuantity`; two probes of one model need two names.

    Raises
    ------
    InputError
        If the direction is no vector of finite numbers, or points nowhere.

    Examples
    --------
    >>> probe_projection([0.0, 1.0]).name
    'probe_projection'
    """
    given = torch.as_tensor(direction)
    length = float(given.abs().double().norm())
    if given.ndim != 1 or given.is_complex() or not 0 < length < math.inf:
        raise InputError(
            "The direction of a probe must be a vector, (d,), of finite numbers that are not all "
            f"0. That of {name} has the shape {tuple(given.shape)} and the length {length:g}.",
            "Give the weights of the probe.",
        )
    return OwnQuantity(
        name=name,
        unit="activation units",
        description=description,
        measure=projection,
        layers=layers,
        sites=sites,
        parameters={"direction": given},
    )


def states_themselves(site: str, layer: int, states: Tensor, attention: Tensor | None) -> Tensor:
    """Return the states as they are."""
    return states


def raw_vectors(
    *,
    name: str = "raw_vectors",
    sites: tuple[str, ...] = ("block_output",),
    layers: tuple[int, ...] | None = None,
    positions: tuple[int, ...] | None = None,
) -> OwnQuantity:
    """Return the quantity that keeps vectors of the stream as they are.

    Parameters
    ----------
    name, sites, layers, positions
        As of `OwnQuantity`; ``layers=(-1,), positions=(-1,)`` keeps the last token after the last
        block.

    Examples
    --------
    >>> raw_vectors(positions=(-1,)).level
    'vector'
    """
    return OwnQuantity(
        name=name,
        unit="activation units",
        description="The vector of a token, in the number format of the pass",
        measure=states_themselves,
        level="vector",
        sites=sites,
        layers=layers,
        positions=positions,
    )


LAST_STATES = raw_vectors(name="last_states", positions=(-1,))
