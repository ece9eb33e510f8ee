"""The stored tensors of a checkpoint, by the parameters they make up, read piece by piece.

Which stored tensor makes up which parameter is decided by the code that ``from_pretrained``
itself uses: prefixes that are added or left out, names that changed, experts that are stored
one by one and run as one tensor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import core_model_loading

from collect.adapters import quantised
from collect.errors import InputError, UnsupportedModelError
from collect.model.checkpoint.blueprint import Blueprint
from collect.model.checkpoint.checkpoint import Checkpoint
from collect.model.checkpoint.gguf.tensors import GgufFile
from collect.model.checkpoint.safetensors.header import FLOATS, SafetensorsFiles
from collect.model.checkpoint.unused_tensors import refuse_beyond, unexpected

_SAVED_BADLY = (
    "Copy or download the checkpoint again; in a narrow format it may have overflowed when it was "
    "saved."
)

#: Unused tensors that a message names at most.
_SHOWN = 5

#: Entries that are looked at together in the search for numbers that are not finite.
_SCANNED = 1 << 24

#: Rows of two matrices that are compared at once.
_ROWS = 1 << 12

#: What torch aligns memory of its own to [bytes]: the width of a processor's cache line.
ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class _Origin:
    """The stored tensors that parameters are made of, in the library's order.

    Attributes
    ----------
    target
        The (first) parameter they make up.
    converter
        What turns them into it; None when one tensor is the parameter as it is stored.
    patterns
        By key of a stored tensor: the pattern of the converter that took it.
    """

    target: str
    converter: Any
    patterns: dict[str, str] = field(default_factory=dict)

    @property
    def parameters(self) -> list[str]:
        """The parameters that come out of the conversion."""
        if self.converter is None:
            return [self.target]
        first, *others = self.converter.target_patterns
        return [self.target, *(self.target.replace(first, other) for other in others)]


class Shards:
    """The tensors of a checkpoint by the name of the parameter they make up.

    On construction only the headers are read, and checked against the blueprint; of files that
    are still on the hub, what is listed of them.

    Parameters
    ----------
    checkpoint
        The files.
    blueprint
        The parameters wanted of them; tensors of any others are left alone.

    Attributes
    ----------
    directory, blueprint
        Where the files are, and as given.
    unused
        The stored tensors that make up no parameter of the blueprint, as the library renames
        them; those that it leaves out on purpose are not among them.

    Raises
    ------
    InputError
        If a file is broken, a tensor is missing or of another shape than ``config.json`` says,
        or there are blocks (or experts) beyond those that it describes.
    UnsupportedModelError
        If a tensor is quantised.
    """

    def __init__(self, checkpoint: Checkpoint, blueprint: Blueprint) -> None:
        self.directory = checkpoint.directory
        self._files = _files(checkpoint, blueprint)
        if self._files.conversions is not None:
            blueprint = replace(blueprint, conversions=self._files.conversions)
        self.blueprint = blueprint
        origins, left = _origins(self._files.entries or checkpoint.listed_tensors, blueprint)
        self.unused = unexpected(left, blueprint)
        self._origins = {name: origin for origin in origins for name in origin.parameters}
        self._refuse_missing()
        if self._files.entries:
            self._refuse_contradictions(is_plain=checkpoint.gguf is None)
        if checkpoint.gguf is not None:
            _refuse_unused(self.directory, self.unused)
        refuse_beyond(self.unused, blueprint, self.directory)

    @property
    def parameters(self) -> set[str]:
        """The parameters and buffers that have tensors of their own."""
        return set(self._origins)

    def stored_name(self, parameter: str) -> str | None:
        """Return the parameter whose tensor is stored for this one: itself or one it is tied to."""
        tied = self.blueprint.tied
        source = tied.get(parameter, parameter)
        same = [parameter, source, *(name for name, other in tied.items() if other == source)]
        return next((name for name in same if name in self._origins), None)

    def held_apart(self) -> list[str]:
        """Return the parameters that are tied to another and stored with numbers of their own.

        The library leaves them untied, whatever ``config.json`` says.
        """
        stored = [pair for pair in self.blueprint.tied.items() if self.parameters.issuperset(pair)]
        return [name for name, source in stored if not self._are_equal(name, source)]

    def _are_equal(self, name: str, other: str) -> bool:
        """Return whether two stored parameters are the same; matrices are read some rows at once.

        They are as large as the vocabulary, of a model that may not fit into memory.
        """
        pair = (name, other)
        shape = self.blueprint.shapes[name]
        if len(shape) < 2 or not all(self.is_stored_as_it_is(each) for each in pair):
            return torch.equal(*self.read(pair).values())
        pieces = (slice(first, first + _ROWS) for first in range(0, shape[0], _ROWS))
        return all(torch.equal(*(self.rows(each, piece) for each in pair)) for piece in pieces)

    def is_stored_as_it_is(self, parameter: str) -> bool:
        """Return whether one stored tensor is the parameter, so that rows of it can be read."""
        name = self.stored_name(parameter)
        return name is not None and self._origins[name].converter is None

    def read(self, parameters: Iterable[str]) -> dict[str, Tensor]:
        """Return whole parameters in the number format they are stored in, on the CPU.

        Raises
        ------
        InputError
            If a number is not finite, or tensors cannot be converted.
        """
        wanted = list(parameters)
        made: dict[str, Tensor] = {}
        for origin in self._origins_of(wanted):
            made |= self._convert(origin)
        tensors = {name: aligned(made[self._known(name)]) for name in wanted}
        for name, tensor in tensors.items():
            self._check_shape(name, tensor.shape)
            refuse_non_finite(name, tensor)
        return tensors

    def rows(self, parameter: str, places: slice | Sequence[int]) -> Tensor:
        """Return some rows of a parameter in the number format it is stored in, on the CPU.

        Only these rows are read. The parameter must be stored as it is.

        Raises
        ------
        InputError
            If a number is not finite.
        """
        (key,) = self._origins[self._known(parameter)].patterns
        with self._files.opened([key]) as tensors:
            rows: Tensor = aligned(tensors[key][places])
        refuse_non_finite(parameter, rows)
        return rows

    def made_with(self, parameters: Iterable[str]) -> list[str]:
        """Return the parameters that the tensors of some parameters make up: these and others."""
        return [name for origin in self._origins_of(parameters) for name in origin.parameters]

    @contextmanager
    def opened(self, parameters: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Yield the stored tensors that make up parameters, not read yet, by the file's names."""
        keys = [key for origin in self._origins_of(parameters) for key in origin.patterns]
        with self._files.opened(keys) as tensors:
            yield tensors

    def _known(self, parameter: str) -> str:
        name = self.stored_name(parameter)
        if name is None:
            raise _missing(self.directory, [parameter])
        return name

    def _origins_of(self, parameters: Iterable[str]) -> list[_Origin]:
        origins = [self._origins[self._known(name)] for name in parameters]
        return list({origin.target: origin for origin in origins}.values())

    def _convert(self, origin: _Origin) -> dict[str, Tensor]:
        """Return the parameters that a group of stored tensors makes up."""
        with self._files.opened(origin.patterns) as tensors:
            if origin.converter is None:
                (key,) = origin.patterns
                return {origin.target: tensors[key][...]}
            converter = deepcopy(origin.converter)
            for key, pattern in origin.patterns.items():
                converter.add_tensor(origin.target, key, pattern, tensors[key][...])
            try:
                made = converter.convert(
                    origin.target, model=self.blueprint.model, config=self.blueprint.config
                )
            except Exception as error:
                raise unconverted(self.directory, origin.target, str(error)) from error
        return {
            name: tensor[0] if isinstance(tensor, list) else tensor for name, tensor in made.items()
        }

    def _refuse_missing(self) -> None:
        blueprint = self.blueprint
        missing = [
            name
            for name in blueprint.shapes
            if name in blueprint.required and self.stored_name(name) is None
        ]
        if missing:
            raise _missing(self.directory, missing)

    def _refuse_contradictions(self, *, is_plain: bool) -> None:
        """Refuse quantised tensors of plain files, and shapes that config.json contradicts."""
        weights = self.blueprint.weights
        for name, origin in self._origins.items():
            for key in origin.patterns if name in weights else ():
                stored = self._files.entries[key]
                if is_plain and stored.number_format not in FLOATS:
                    raise UnsupportedModelError(
                        f"The weights must be stored as plain floating numbers; {key} of "
                        f"{self.directory} is quantised ({stored.number_format}).",
                        quantised.hint(None),
                    )
                if origin.converter is None:
                    self._check_shape(name, stored.shape)

    def _check_shape(self, name: str, actual: Sequence[int]) -> None:
        expected = self.blueprint.shapes[name]
        if tuple(actual) != expected:
            raise contradiction(self.directory, name, actual, expected)


def refuse_non_finite(name: str, tensor: Tensor, hint: str = _SAVED_BADLY) -> None:
    """Raise InputError if a parameter holds NaN or an infinite number.

    Parameters
    ----------
    name
        The parameter's name.
    tensor
        Its numbers; those of an integer format are not looked at.
    hint
        What to do about it.
    """
    if not tensor.is_floating_point():
        return
    # The smallest and the largest number are finite only if all are; no mask is made.
    parts = tensor.reshape(-1).split(_SCANNED)
    if all(bool(torch.stack(torch.aminmax(part)).isfinite().all()) for part in parts):
        return
    n_bad = sum(int((~part.isfinite()).sum()) for part in parts)
    raise InputError(
        f"Every weight must be a finite number; {name} holds {n_bad} that are NaN or infinite, "
        f"of {tensor.numel()}.",
        hint,
    )


def _files(checkpoint: Checkpoint, blueprint: Blueprint) -> SafetensorsFiles | GgufFile:
    """Return what holds the tensors of a checkpoint."""
    if checkpoint.gguf is not None:
        return GgufFile(checkpoint.gguf, blueprint.config, blueprint.shapes)
    listed = {} if checkpoint.weight_files else checkpoint.listed_tensors
    return SafetensorsFiles(checkpoint.weight_files, listed)


def _origins(keys: Iterable[str], blueprint: Blueprint) -> tuple[list[_Origin], dict[str, str]]:
    """Group stored tensors by the parameter they make up, as from_pretrained does.

    The second value is what is left: by key, the name that no parameter has.
    """
    converters = _select(core_model_loading.WeightConverter, blueprint)
    of_pattern = {pattern: c for c in converters for pattern in c.source_patterns}
    renamings = _select(core_model_loading.WeightRenaming, blueprint)
    origins: dict[str, _Origin] = {}
    left: dict[str, str] = {}
    for key in sorted(keys, key=core_model_loading.dot_natural_key):
        wanted: Any = blueprint.shapes
        place = (blueprint.prefix, wanted)
        renamed = core_model_loading.rename_source_key(key, renamings, converters, *place)
        if renamed[0] not in wanted and key in wanted:
            renamed = core_model_loading.rename_source_key(key, [], [], *place)
        target, pattern = renamed
        if target in blueprint.shapes:
            converter = None if pattern is None else of_pattern[pattern]
            origin = origins.setdefault(target, _Origin(target, converter))
            origin.patterns[key] = pattern or key
        else:
            left[key] = target
    return list(origins.values()), left


def _select(kind: type, blueprint: Blueprint) -> list[Any]:
    return [conversion for conversion in blueprint.conversions if isinstance(conversion, kind)]


def unconverted(directory: Path, name: str, cause: str) -> InputError:
    """Return the error that stored tensors do not make up a parameter."""
    return InputError(
        f"The tensors of {directory} must make up the parameter {name}; they do not: {cause}"
    )


def _refuse_unused(directory: Path, names: Sequence[str]) -> None:
    """Refuse tensors of a GGUF file that make up nothing: nobody else says what they are for."""
    if not names:
        return
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    raise UnsupportedModelError(
        f"Every tensor of a GGUF file must be used; {directory} holds "
        f"{', '.join(sorted(names)[:_SHOWN])}{more}, of which nothing in the model is made.",
        "Take the safetensors files of the model.",
    )


def _missing(directory: Path, names: Sequence[str]) -> InputError:
    return InputError(
        f"The checkpoint {directory} must hold every weight that its config.json describes; "
        f"it lacks {len(names)}, for example {names[0]}.",
        "Copy or download it again, check config.json, or save the model itself, not what wraps it "
        "(DistributedDataParallel, torch.compile, FSDP).",
    )


def contradiction(
    directory: Path, name: str, actual: Sequence[int], expected: Sequence[int]
) -> InputError:
    """Return the error that a parameter has another shape than the configuration says."""
    return InputError(
        f"The weight {name} of {directory} must have the shape {tuple(expected)} that its "
        f"config.json describes; found {tuple(actual)}.",
        "Copy or download it again, or check config.json.",
    )


def aligned(tensor: Tensor) -> Tensor:
    """Return a tensor that begins at a multiple of `ALIGNMENT` bytes, copied if it does not.

    A tensor of a safetensors file begins where the header ends, at a multiple of eight bytes.
    On some processors the kernels for products add up in another order from there, so the same
    weights under a longer name would give other last bits. Tensors that are not on the CPU are
    returned as they are.
    """
    is_placed = tensor.device.type != "cpu" or tensor.data_ptr() % ALIGNMENT == 0
    return tensor if is_placed else tensor.clone()
