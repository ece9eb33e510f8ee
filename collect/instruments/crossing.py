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

Found = TypeVar("Found")


def on_processor(tensor: Tensor) -> bool:
    """Return whether numbers lie where Python can read them without waiting for a device."""
    return tensor.is_cpu


def crossed(found: Found) -> Found:
    """Return what was found, each tensor of it on the processor; tensors of a device in one copy.

    Parameters
    ----------
    found
        Tensors within dataclasses, dictionaries, lists and tuples, of any depth. Integers must
        be below 2^53, as places of features and tokens are.
    """
    tensors = [*_tensors(found)]
    if all(on_processor(tensor) for tensor in tensors):
        return found
    places: dict[torch.device, list[int]] = {}
    for place, tensor in enumerate(tensors):
        places.setdefault(tensor.device, []).append(place)
    read: dict[int, Tensor] = {}
    for of_device in places.values():
        read |= zip(of_device, _read([tensors[place] for place in of_device]), strict=True)
    in_order = iter([read[place] for place in range(len(tensors))])
    return cast("Found", _mapped(found, lambda _: next(in_order)))


def _read(tensors: Sequence[Tensor]) -> Iterator[Tensor]:
    """Yield tensors of one device on the processor, in the shapes and formats that they have."""
    together = torch.cat([tensor.detach().double().reshape(-1) for tensor in tensors]).cpu()
    parts = together.split([tensor.numel() for tensor in tensors])
    for part, tensor in zip(parts, tensors, strict=True):
        yield part.view(tensor.shape).to(tensor.dtype)


def _tensors(found: Any) -> Iterator[Tensor]:
    if isinstance(found, Tensor):
        yield found
    elif isinstance(found, dict):
        for value in found.values():
            yield from _tensors(value)
    elif isinstance(found, list | tuple):
        for value in found:
            yield from _tensors(value)
    elif is_dataclass(found):
        for part in fields(found):
            yield from _tensors(getattr(found, part.name))


def _mapped(found: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Return a structure with each of its tensors changed, in a fixed order."""
    if isinstance(found, Tensor):
        return change(found)
    if isinstance(found, dict):
        return {key: _mapped(value, change) for key, value in found.items()}
    if isinstance(found, list | tuple):
        return type(found)(_mapped(value, change) for value in found)
    if is_dataclass(found) and not isinstance(found, type):
        parts = {part.name: _mapped(getattr(found, part.name), change) for part in fields(found)}
        return type(found)(**parts)
    return found
