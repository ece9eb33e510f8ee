"""The tensors of a GGUF file by the parameters of transformers that they make up.

Names are those of `architectures`, layouts are undone by `layout`. One tensor is read at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from collect.model.checkpoint.gguf import header
from collect.model.checkpoint.gguf.architecture import Architecture
from collect.model.checkpoint.gguf.architectures import architecture_of
from collect.model.checkpoint.gguf.layout import LAYOUTS, dequantised
from collect.model.checkpoint.gguf.rotation import FACTORS
from collect.model.checkpoint.safetensors.header import Stored

#: Tensors that hold a matrix of every expert, in the order in which the parameter has them.
_EXPERTS = {
    "ffn_gate_exps": "mlp.experts.gate_up_proj",
    "ffn_up_exps": "mlp.experts.gate_up_proj",
    "ffn_down_exps": "mlp.experts.down_proj",
}

_NAME = re.compile(r"(?:blk\.(?P<block>\d+)\.)?(?P<bare>.+)(?P<ending>\.weight|\.bias)")


@dataclass(frozen=True, slots=True)
class Place:
    """Which parameter a tensor makes up, and how it is laid out.

    Attributes
    ----------
    parameter
        Name in transformers.
    layout
        One of `layout.LAYOUTS`; None where it is stored as transformers has it.
    is_shifted
        Whether one was added to its numbers.
    """

    parameter: str
    layout: str | None
    is_shifted: bool


def place_of(name: str, architecture: Architecture) -> Place | None:
    """Return which parameter a tensor makes up; None where the architecture has none of it."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    block, bare, ending = match["block"], match["bare"], match["ending"]
    start = "" if block is None else f"{architecture.blocks}.{block}."
    if architecture.has_experts and bare in _EXPERTS and ending == ".weight":
        return Place(f"{start}{_EXPERTS[bare]}", None, is_shifted=False)
    if bare not in architecture.tensors:
        return None
    is_norm = bare.endswith("norm") and ending == ".weight"
    is_shifted = architecture.has_shifted_norms and is_norm
    parameter = f"{start}{architecture.tensors[bare]}{ending}"
    return Place(parameter, architecture.layouts.get(bare), is_shifted)


@dataclass(frozen=True, slots=True)
class Reading:
    """A parameter as it lies in the file, not read yet: indexed as slices of safetensors are.

    Attributes
    ----------
    path
        The file.
    parts
        The tensors it is made of, side by side in the last but one dimension.
    layout, is_shifted
        As in `Place`.
    config
        The configuration of transformers, which says how many heads there are.
    seed
        As in `header.Header`.
    """

    path: Path
    parts: Sequence[header.Tensor]
    layout: str | None = None
    is_shifted: bool = False
    config: Any = None
    seed: int | None = None

    def __getitem__(self, places: Any) -> Tensor:
        """Return the dequantised numbers, or some rows of them."""
        if places is not Ellipsis and len(self.parts) == 1 and self.layout is None:
            return torch.from_numpy(self._shifted(self._numbers(self.parts[0], places)))
        parts = [self._numbers(part, ...) for part in self.parts]
        numbers = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-2)
        if self.layout is not None:
            numbers = LAYOUTS[self.layout](numbers, self.config)
        whole = torch.from_numpy(np.ascontiguousarray(self._shifted(numbers)))
        return whole if places is Ellipsis else whole[places]

    def get_shape(self) -> list[int]:
        """Return the shape in the file, of its first part."""
        return [*self.parts[0].shape]

    def get_dtype(self) -> str:
        """Return the name of the number format that the numbers are read in."""
        return "F32"

    def _shifted(self, numbers: Any) -> Any:
        return numbers - np.float32(1) if self.is_shifted else numbers

    def _numbers(self, part: header.Tensor, places: Any) -> Any:
        return dequantised(self.path, part, places, self.seed)


class GgufFile:
    """The tensors of one GGUF file.

    Parameters
    ----------
    of_file
        Its header.
    config
        The configuration of transformers.
    shapes
        The parameters that are wanted, by name.

    Attributes
    ----------
    entries
        By parameter, or by the file's own name of a tensor that makes up none: what is stored.
        Factors of rotary positions are in the configuration, and not among them.
    conversions
        Renamings and conversions of these names: none are left.

    Raises
    ------
    UnsupportedModelError
        If files of this architecture are not read.
    InputError
        If matrices of experts do not fit each other.
    """

    def __init__(
        self, of_file: header.Header, config: Any, shapes: Mapping[str, tuple[int, ...]]
    ) -> None:
        self._path, self._seed, self._config = of_file.path, of_file.seed, config
        self.conversions: list[Any] | None = []
        architecture = architecture_of(of_file)
        self._parts: dict[str, list[header.Tensor]] = {}
        self._places: dict[str, Place] = {}
        for tensor in of_file.tensors:
            if tensor.name in FACTORS and _has_factors(config):
                continue
            place = place_of(tensor.name, architecture)
            if place is None or place.parameter not in shapes:
                place = Place(tensor.name, None, is_shifted=False)
            self._places[place.parameter] = place
            self._parts.setdefault(place.parameter, []).append(tensor)
        for parameter, parts in self._parts.items():
            parts.sort(key=lambda part: ".ffn_up_exps." in part.name)
            if parameter in shapes:  # of a part of the model, the others are by themselves
                _require_halves(of_file.path, parts)
        self.entries = {
            key: Stored(_shape(parts, self._places[key].layout), parts[0].format_name)
            for key, parts in self._parts.items()
        }

    @contextmanager
    def opened(self, keys: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Yield what is stored under some keys, not read yet."""
        yield {key: self._reading(self._places[key]) for key in keys}

    def _reading(self, place: Place) -> Reading:
        parts = self._parts[place.parameter]
        how = (place.layout, place.is_shifted, self._config, self._seed)
        return Reading(self._path, parts, *how)


def readings(of_file: header.Header) -> Iterator[tuple[str, Reading]]:
    """Yield the tensors of a file as they lie there, by the file's names."""
    for tensor in of_file.tensors:
        yield tensor.name, Reading(of_file.path, [tensor], seed=of_file.seed)


def _has_factors(config: Any) -> bool:
    """Return whether a configuration holds factors of rotary positions."""
    rotation = getattr(config, "rope_parameters", None)
    return isinstance(rotation, dict) and rotation.get("rope_type") == "longrope"


def _require_halves(path: Path, parts: Sequence[header.Tensor]) -> None:
    """Refuse matrices of experts of which gate or up is absent, or that differ in shape.

    Raises
    ------
    InputError
        If they do not make up one parameter.
    """
    name, (gate, up) = parts[0].name, ("ffn_gate_exps", "ffn_up_exps")
    bare = next((kind for kind in (gate, up) if f".{kind}." in name), None)
    if bare is None:
        return
    other = name.replace(bare, up if bare == gate else gate)
    if [part.name for part in parts[1:]] != [other]:
        raise header.broken(path, f"the tensor {name} must stand beside {other}, which is absent")
    if parts[1].shape != parts[0].shape:
        raise header.broken(
            path,
            f"the tensors {name} and {other} must have one shape; they have {parts[0].shape} and "
            f"{parts[1].shape}",
        )


def _shape(parts: Sequence[header.Tensor], layout: str | None) -> tuple[int, ...]:
    """Return the shape of a parameter."""
    first = parts[0].shape
    if len(parts) > 1:
        return (*first[:-2], sum(part.shape[-2] for part in parts), first[-1])
    if layout == "row":
        return (1, prod(first))
    if layout == "one channel" and len(first) > 1:
        return (first[0], 1, *first[1:])
    return first[::-1] if layout == "transposed" else first
