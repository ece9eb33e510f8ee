"""From the device where a model runs to the processor: all numbers of a batch in one copy.

A copy to the processor waits until the device has done all it was told. One a batch costs
nothing; one a number would have the device idle most of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

from collect.measures.device import on_processor

Structure = TypeVar("Structure")


def transferred(structure: Structure) -> Structure:
    """Return a structure with each tensor on the processor; tensors of a device in one copy."""
    tensors = [*_tensors(structure)]
    if all(on_processor(tensor) for tensor in tensors):
        return structure
    places: dict[torch.device, list[int]] = {}
    for place, tensor in enumerate(tensors):
        places.setdefault(tensor.device, []).append(place)
    read: dict[int, Tensor] = {}
    for of_device in places.values():
        read |= zip(of_device, _read([tensors[place] for place in of_device]), strict=True)
    in_order = iter([read[place] for place in range(len(tensors))])
    return cast("Structure", _map(structure, lambda _: next(in_order)))


def _read(tensors: Sequence[Tensor]) -> Iterator[Tensor]:
    """Yield tensors of one device on the processor, in the shapes and formats that they have."""
    together = torch.cat([tensor.detach().double().reshape(-1) for tensor in tensors]).cpu()
    parts = together.split([tensor.numel() for tensor in tensors])
    for part, tensor in zip(parts, tensors, strict=True):
        yield part.view(tensor.shape).to(tensor.dtype)


def _tensors(structure: Any) -> Iterator[Tensor]:
    if isinstance(structure, Tensor):
        yield structure
    elif isinstance(structure, dict):
        for value in structure.values():
            yield from _tensors(value)
    elif isinstance(structure, list | tuple):
        for value in structure:
            yield from _tensors(value)
    elif is_dataclass(structure):
        for part in fields(structure):
            yield from _tensors(getattr(structure, part.name))


def _map(structure: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Return a structure with each of its tensors changed, in a fixed order."""
    if isinstance(structure, Tensor):
        return change(structure)
    if isinstance(structure, dict):
        return {key: _map(value, change) for key, value in structure.items()}
    if isinstance(structure, list | tuple):
        return type(structure)(_map(value, change) for value in structure)
    if is_dataclass(structure) and not isinstance(structure, type):
        parts = {
            part.name: _map(getattr(structure, part.name), change) for part in fields(structure)
        }
        return type(structure)(**parts)
    return structure
