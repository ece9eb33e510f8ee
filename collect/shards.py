"""The safetensors files of a checkpoint, by the parameters they make up, read piece by piece.

Which stored tensor makes up which parameter is decided by the code that ``from_pretrained``
itself uses: prefixes that are added or left out, names that changed, experts that are stored
one by one and run as one tensor.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor
from transformers import core_model_loading
from transformers.conversion_mapping import get_model_conversion_mapping
from transformers.modeling_utils import LoadStateDictConfig

from collect.checkpoint import Checkpoint
from collect.errors import InputError, UnsupportedModelError

#: Plain floating numbers; everything else is a quantised weight, whose norm means nothing.
_FLOATS = ("F64", "F32", "F16", "BF16")

#: Entries that are looked at together in the search for numbers that are not finite.
_SCANNED = 1 << 24


@dataclass(frozen=True, slots=True)
class _Entry:
    """One stored tensor: the file it is in, its shape and its number format."""

    path: Path
    shape: tuple[int, ...]
    number_format: str


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

    On construction only the headers are read, and checked against the model.

    Parameters
    ----------
    checkpoint
        The files.
    model
        The causal model of transformers whose parameters they hold; its own may be on the
        meta device.

    Raises
    ------
    InputError
        If a file is broken, or a tensor is missing or of another shape than ``config.json``
        says.
    UnsupportedModelError
        If a tensor is quantised.
    """

    def __init__(self, checkpoint: Checkpoint, model: Any) -> None:
        self._directory = checkpoint.directory
        self._model = model
        self._entries = _headers(checkpoint.weight_files)
        self._conversions: list[Any] = get_model_conversion_mapping(model)
        origins = _origins(self._entries, model, self._conversions)
        self._origins = {name: origin for origin in origins for name in origin.parameters}
        self._refuse_missing()
        self._refuse_contradictions()

    @property
    def parameters(self) -> set[str]:
        """The parameters and buffers of the model that have tensors of their own."""
        return set(self._origins)

    def stored_name(self, parameter: str) -> str | None:
        """Return the parameter whose tensor is stored for this one: itself or one it is tied to."""
        tied: dict[str, str] = self._model.all_tied_weights_keys
        source = tied.get(parameter, parameter)
        same = [parameter, source, *(name for name, other in tied.items() if other == source)]
        return next((name for name in same if name in self._origins), None)

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
            made |= self._converted(origin)
        found = {name: made[self._known(name)] for name in wanted}
        for name, tensor in found.items():
            self._check_shape(name, tensor.shape)
            refuse_non_finite(name, tensor)
        return found

    def rows(self, parameter: str, places: slice | Sequence[int]) -> Tensor:
        """Return some rows of a parameter in the number format it is stored in, on the CPU.

        Only these rows are read. The parameter must be stored as it is.

        Raises
        ------
        InputError
            If a number is not finite.
        """
        (key,) = self._origins[self._known(parameter)].patterns
        with self._opened([key]) as tensors:
            found: Tensor = tensors[key][places]
        refuse_non_finite(parameter, found)
        return found

    def load(self, parameters: Iterable[str], *, device: str) -> None:
        """Put parameters into the model, in its number format, exactly as ``from_pretrained`` does.

        Names of which the file holds no tensor are left out. Where number format and device are
        those of the file, nothing is copied: its pages are read when they are needed.

        Raises
        ------
        InputError
            If a number is not finite, or tensors cannot be converted.
        """
        origins = self._origins_of(name for name in parameters if name in self._origins)
        dtype: torch.dtype = self._model.dtype
        settings = LoadStateDictConfig(
            dtype=dtype,
            dtype_plan=self._model._get_dtype_plan(dtype),
            device_map={"": device},
            weight_mapping=self._conversions,
        )
        with self._opened([key for origin in origins for key in origin.patterns]) as tensors:
            report, _ = core_model_loading.convert_and_load_state_dict_in_model(
                self._model, tensors, settings
            )
        for name, problem in report.conversion_errors.items():
            raise InputError(self._unconverted(name, str(problem).splitlines()[-1]))
        for name, found, expected in report.mismatched_keys:
            raise InputError(*_contradiction(self._directory, name, found, expected))
        for name in (name for origin in origins for name in origin.parameters):
            refuse_non_finite(name, self._model.get_parameter_or_buffer(name))

    def _known(self, parameter: str) -> str:
        name = self.stored_name(parameter)
        if name is None:
            raise InputError(*_missing(self._directory, [parameter]))
        return name

    def _origins_of(self, parameters: Iterable[str]) -> list[_Origin]:
        found = [self._origins[self._known(name)] for name in parameters]
        return list({origin.target: origin for origin in found}.values())

    def _converted(self, origin: _Origin) -> dict[str, Tensor]:
        """Return the parameters that a group of stored tensors makes up."""
        with self._opened(origin.patterns) as tensors:
            if origin.converter is None:
                (key,) = origin.patterns
                return {origin.target: tensors[key][...]}
            converter = deepcopy(origin.converter)
            for key, pattern in origin.patterns.items():
                converter.add_tensor(origin.target, key, pattern, tensors[key][...])
            try:
                made = converter.convert(
                    origin.target, model=self._model, config=self._model.config
                )
            except Exception as error:
                raise InputError(self._unconverted(origin.target, str(error))) from error
        return {
            name: tensor[0] if isinstance(tensor, list) else tensor for name, tensor in made.items()
        }

    def _unconverted(self, name: str, cause: str) -> str:
        return (
            f"The tensors of {self._directory} must make up the parameter {name}; "
            f"they do not: {cause}"
        )

    @contextmanager
    def _opened(self, keys: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Open the files that hold some tensors, and close them again.

        A file that stays open keeps every page in memory that was ever read.
        """
        with ExitStack() as files:
            handles: dict[Path, Any] = {}
            tensors = {}
            for key in keys:
                path = self._entries[key].path
                if path not in handles:
                    handles[path] = files.enter_context(safe_open(path, framework="pt"))
                tensors[key] = handles[path].get_slice(key)
            yield tensors

    def _refuse_missing(self) -> None:
        patterns = self._model._keys_to_ignore_on_load_missing
        missing = [
            name
            for name in self._model.state_dict()
            if self.stored_name(name) is None
            and not any(re.search(pattern, name) for pattern in patterns)
        ]
        if missing:
            raise InputError(*_missing(self._directory, missing))

    def _refuse_contradictions(self) -> None:
        """Refuse quantised tensors, and shapes that config.json contradicts."""
        weights = {name for name, _ in self._model.named_parameters(remove_duplicate=False)}
        for name, origin in self._origins.items():
            for key in origin.patterns if name in weights else ():
                entry = self._entries[key]
                if entry.number_format not in _FLOATS:
                    raise UnsupportedModelError(
                        f"The weights must be stored as plain floating numbers; {key} of "
                        f"{self._directory} is quantised ({entry.number_format}).",
                        "Use the checkpoint it was quantised from.",
                    )
                if origin.converter is None:
                    self._check_shape(name, entry.shape)

    def _check_shape(self, name: str, found: Sequence[int]) -> None:
        expected = self._model.get_parameter_or_buffer(name).shape
        if tuple(found) != tuple(expected):
            raise InputError(*_contradiction(self._directory, name, found, expected))


def refuse_non_finite(name: str, tensor: Tensor) -> None:
    """Raise InputError if a parameter holds NaN or an infinite number.

    Parameters
    ----------
    name
        The parameter's name.
    tensor
        Its numbers; those of an integer format are not looked at.
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
        "Copy or download the checkpoint again; in a narrow format it may have overflowed when "
        "it was saved.",
    )


def _headers(weight_files: Iterable[Path]) -> dict[str, _Entry]:
    """Return what the headers of safetensors files say of every tensor."""
    entries = {}
    for path in weight_files:
        try:
            with safe_open(path, framework="pt") as tensors:
                for key in tensors.keys():  # noqa: SIM118
                    stored = tensors.get_slice(key)
                    entries[key] = _Entry(path, tuple(stored.get_shape()), stored.get_dtype())
        except (SafetensorError, OSError) as error:
            raise InputError(
                f"The weight file {path} must be complete safetensors; it is not: {error}.",
                "Copy or download it again.",
            ) from error
    return entries


def _origins(keys: Iterable[str], model: Any, conversions: Sequence[Any]) -> list[_Origin]:
    """Group stored tensors by the parameter they make up, as from_pretrained does."""
    state = model.state_dict()
    renamings = [c for c in conversions if isinstance(c, core_model_loading.WeightRenaming)]
    converters = [c for c in conversions if isinstance(c, core_model_loading.WeightConverter)]
    of_pattern = {pattern: c for c in converters for pattern in c.source_patterns}
    origins: dict[str, _Origin] = {}
    for key in sorted(keys, key=core_model_loading.dot_natural_key):
        target, pattern = _renamed(key, renamings, converters, model, state)
        if target in state:
            converter = None if pattern is None else of_pattern[pattern]
            origin = origins.setdefault(target, _Origin(target, converter))
            origin.patterns[key] = pattern or key
    return list(origins.values())


def _renamed(
    key: str,
    renamings: list[Any],
    converters: list[Any],
    model: Any,
    state: dict[str, Tensor],
) -> tuple[str, str | None]:
    """Return the parameter a stored tensor belongs to, and the converter's pattern if any."""
    prefix = model.base_model_prefix
    renamed = core_model_loading.rename_source_key(key, renamings, converters, prefix, state)
    if renamed[0] not in state and key in state:
        renamed = core_model_loading.rename_source_key(key, [], [], prefix, state)
    target, pattern = renamed
    return target, pattern


def _missing(directory: Path, names: Sequence[str]) -> tuple[str, str]:
    return (
        f"The checkpoint {directory} must hold every weight that its config.json describes; "
        f"it lacks {len(names)}, for example {names[0]}.",
        "Copy or download it again, or check config.json.",
    )


def _contradiction(
    directory: Path, name: str, found: Sequence[int], expected: Sequence[int]
) -> tuple[str, str]:
    return (
        f"The weight {name} of {directory} must have the shape {tuple(expected)} that its "
        f"config.json describes; found {tuple(found)}.",
        "Copy or download it again, or check config.json.",
    )
