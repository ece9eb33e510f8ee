"""The tensors of a GGUF file by the parameters of transformers that they make up.

Names and layouts are those of transformers' own reader: for most architectures a table of names of
the package ``gguf`` and a processor that undoes what the conversion to GGUF did; for some the
renamings and conversions that safetensors files go through too. One tensor is read at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import modeling_gguf_pytorch_utils as legacy
from transformers.integrations.gguf import utils as integration

from collect.errors import UnsupportedModelError, first_line
from collect.model.checkpoint.gguf import header, steps
from collect.model.checkpoint.safetensors.header import FLOATS, Stored


@dataclass(frozen=True)
class Reading:
    """A parameter as it lies in the file, not read yet: indexed as slices of safetensors are.

    Attributes
    ----------
    path, name
        The file, and the parameter's name.
    parts
        The tensors it is made of.
    processor
        Undoes what the conversion to GGUF did; None where conversions of names do.
    names
        By name in the file: the parameter.
    seed
        As in `header.Header`.
    """

    path: Path
    name: str
    parts: Sequence[header.Tensor]
    processor: Any
    names: Mapping[str, str]
    seed: int | None = None

    def __getitem__(self, places: Any) -> Tensor:
        """Return the dequantised numbers, or some rows of them."""
        if places is not Ellipsis and self._is_laid_out_as_stored:
            return torch.from_numpy(self._numbers(self.parts[0], places))
        whole = self._whole()
        return whole if places is Ellipsis else whole[places]

    def get_shape(self) -> list[int]:
        """Return the shape in the file, of all parts side by side."""
        return [*self.parts[0].shape]

    def get_dtype(self) -> str:
        """Return the name of the number format that the numbers are read in."""
        return "F32"

    @cached_property
    def _is_laid_out_as_stored(self) -> bool:
        """Whether rows of the parameter are rows of its tensor."""
        if len(self.parts) > 1:
            return False
        if self.processor is None:
            return True
        empty = np.broadcast_to(np.float32(0), self.parts[0].shape)
        return self._processed(self.parts[0], empty, {"tensors": {}}).weights is empty

    def _whole(self) -> Tensor:
        if self.processor is None:
            return torch.from_numpy(self._numbers(self.parts[0], ...))
        parsed: dict[str, Any] = {"tensors": {}}
        for part in self.parts:
            result = self._processed(part, self._numbers(part, ...), parsed)
            if result.name in self.names:
                numbers = torch.from_numpy(np.ascontiguousarray(result.weights))
                parsed["tensors"][self.names[result.name]] = numbers
        tensor: Tensor = parsed["tensors"][self.name]
        return tensor

    def _numbers(self, part: header.Tensor, places: Any) -> Any:
        return _numbers(self.path, part, places, self.seed)

    def _processed(self, part: header.Tensor, numbers: Any, parsed: dict[str, Any]) -> Any:
        return self.processor.process(
            weights=numbers,
            name=part.name,
            tensor_key_mapping=self.names,
            parsed_parameters=parsed,
        )


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
    conversions
        Renamings and conversions of these names; None where they are the parameters' already.

    Raises
    ------
    UnsupportedModelError
        If transformers does not know the names of this architecture.
    """

    def __init__(
        self, of_file: header.Header, config: Any, shapes: Mapping[str, tuple[int, ...]]
    ) -> None:
        self._path, self._seed = of_file.path, of_file.seed
        self.conversions: list[Any] | None = None
        self._processor: Any = None
        kinds: Any = legacy.TENSOR_PROCESSORS
        self._names: dict[str, str] = {}
        if integration.is_gguf_arch_supported(of_file.architecture):
            self.conversions = integration.get_gguf_conversion_mapping(of_file.architecture, config)
        else:
            kind = kinds.get(of_file.architecture, legacy.TensorProcessor)
            self._processor = kind(config=config.to_dict())
            self._names = _names(of_file, config, shapes, self._processor)
        self._parts: dict[str, list[header.Tensor]] = {}
        for tensor in of_file.tensors:
            self._parts.setdefault(self._parameter(tensor.name), []).append(tensor)
        self.entries = {
            key: Stored(_shape(parts, shapes.get(key)), parts[0].format_name)
            for key, parts in self._parts.items()
        }

    def _parameter(self, name: str) -> str:
        """Return the parameter that a tensor belongs to, or the tensor's own name."""
        bare = name.removesuffix(".weight")
        return self._names.get(name, self._names.get(bare, name))

    @contextmanager
    def opened(self, keys: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Yield what is stored under some keys, not read yet."""
        yield {
            key: Reading(
                self._path, key, self._parts[key], self._processor, self._names, self._seed
            )
            for key in keys
        }


def readings(of_file: header.Header) -> Iterator[tuple[str, Reading]]:
    """Yield the tensors of a file as they lie there, by the file's names."""
    for tensor in of_file.tensors:
        yield tensor.name, Reading(of_file.path, tensor.name, [tensor], None, {}, of_file.seed)


class _Named:
    """What the reader of transformers asks a model for: its parameters by name, part by part."""

    def __init__(self, config: Any, names: Iterable[str]) -> None:
        self.config = config
        self._names = list(names)

    def state_dict(self) -> dict[str, None]:
        """Return the names, as keys."""
        return dict.fromkeys(self._names)

    def named_children(self) -> list[tuple[str, _Named]]:
        """Return the parts, each with its own names."""
        within: dict[str, list[str]] = {}
        for name in self._names:
            first, dot, rest = name.partition(".")
            if dot:
                within.setdefault(first, []).append(rest)
        return [(first, _Named(self.config, names)) for first, names in within.items()]


def _names(
    of_file: header.Header, config: Any, shapes: Mapping[str, Any], processor: Any
) -> dict[str, str]:
    """Return the parameter of each name that the file may have."""
    try:
        names = legacy.get_gguf_hf_weights_map(_Named(config, shapes), processor)
    except NotImplementedError as error:
        raise UnsupportedModelError(
            f"The names of tensors of a {config.model_type} model in {of_file.path} are not known: "
            f"{first_line(error)}.",
            "Take the safetensors files of the model.",
        ) from error
    return dict(names)


def _shape(parts: Sequence[header.Tensor], expected: tuple[int, ...] | None) -> tuple[int, ...]:
    """Return a parameter's shape: the one expected where its parts have as many numbers."""
    n_numbers = sum(prod(part.shape) for part in parts)
    if expected is not None and n_numbers == prod(expected):
        return expected
    return parts[0].shape


def _numbers(path: Path, tensor: header.Tensor, places: Any, seed: int | None) -> Any:
    """Return a tensor of the file as floats, or some of its rows; only these are read.

    With a seed, one more rounding error is added to those that are quantised.
    """
    from gguf import GGMLQuantizationType, dequantize

    kind = GGMLQuantizationType(tensor.number_format)
    stored = np.memmap(path, np.uint8, "r", tensor.offset, (tensor.n_bytes,))
    rows = stored.reshape(*tensor.shape[:-1], -1)[places]
    try:
        numbers = np.array(dequantize(rows, kind))
    except NotImplementedError as error:
        raise UnsupportedModelError(
            f"The number format {kind.name} of {tensor.name} in {path} cannot be dequantised: "
            f"{first_line(error)}.",
            "Take a file in another format, such as Q8_0 or Q4_K_M.",
        ) from error
    if seed is not None and kind.name not in FLOATS:
        numbers += steps.error(tensor, rows, kind, places, seed)
    return numbers
