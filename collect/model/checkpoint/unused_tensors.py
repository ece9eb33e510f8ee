"""Stored tensors that no parameter of a model is made of: expected, odd, or of a larger model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from safetensors import safe_open
from torch import Tensor

from collect.errors import InputError
from collect.model.checkpoint.blueprint import Blueprint
from collect.model.checkpoint.checkpoint import Checkpoint
from collect.model.checkpoint.gguf.tensors import readings


def unexpected(left: dict[str, str], blueprint: Blueprint) -> list[str]:
    """Return the stored tensors that the library would be surprised by, as it renames them.

    Parameters
    ----------
    left
        By key of a stored tensor that no parameter is made of: the name it is given.
    blueprint
        Says which the library leaves out on purpose, and whether others are expected.
    """
    if blueprint.ignored is None:
        return []
    ignored = [re.compile(pattern) for pattern in blueprint.ignored]
    return [
        target
        for key, target in left.items()
        if not any(pattern.search(name) for pattern in ignored for name in (key, target))
    ]


def count_kinds(names: Iterable[str]) -> dict[str, int]:
    """Return how many tensors there are of each name, with N for the numbers in it.

    >>> count_kinds(["mtp.0.norm", "mtp.1.norm"])
    {'mtp.N.norm': 2}
    """
    return dict(Counter(re.sub(r"\.\d+(?=\.)", ".N", name) for name in names))


def refuse_beyond(names: Iterable[str], blueprint: Blueprint, directory: Path) -> None:
    """Refuse tensors that are numbered past the last of their kind in a blueprint.

    Parameters
    ----------
    names
        What `unexpected` returned.
    blueprint
        The parameters that there are.
    directory
        Where the files are, for the message.

    Raises
    ------
    InputError
        If there is a block, or an expert, that ``config.json`` does not count.
    """
    last = _last_numbers(blueprint.shapes)
    for path, number in sorted(place for name in names for place in _numbers(name)):
        known = last.get(path, last.get(f"{blueprint.prefix}.{path}"))
        if known is not None and number > known:
            raise InputError(
                f"The config.json of {directory} must describe all that its files hold; it ends "
                f"at {path}.{known}, and the files hold {path}.{number}.",
                "Give the config.json that belongs to the weights: with this one a smaller model "
                "would be measured.",
            )


def uniform(checkpoint: Checkpoint) -> dict[str, float]:
    """Return the stored matrices of which all entries are the same number, with that number.

    So are weights that were never trained or set to zero: pruned, started at zero, or lost. Of
    the others little more than one row is read.

    Parameters
    ----------
    checkpoint
        The files.
    """
    constants = {}
    for key, stored in _read_stored(checkpoint):
        shape = stored.get_shape()
        if len(shape) < 2 or 0 in shape or not _is_uniform(stored[:1]):
            continue
        entries = stored[...]
        if entries.is_floating_point() and _is_uniform(entries):
            constants[key] = float(entries.reshape(-1)[0])
    return constants


def _read_stored(checkpoint: Checkpoint) -> Iterator[tuple[str, Any]]:
    """Yield every stored tensor, not read yet, by the name that its file gives it."""
    if checkpoint.gguf is not None:
        yield from readings(checkpoint.gguf)
        return
    for path in checkpoint.weight_files:
        with safe_open(path, framework="pt") as tensors:
            yield from ((key, tensors.get_slice(key)) for key in tensors.keys())  # noqa: SIM118


def uniform_of(named: Iterable[tuple[str, Tensor]]) -> dict[str, float]:
    """Return the same of tensors in memory; see `uniform`."""
    matrices = ((name, tensor.detach()) for name, tensor in named if tensor.ndim > 1)
    return {
        name: float(entries.reshape(-1)[0])
        for name, entries in matrices
        if entries.numel() and _is_uniform(entries[:1]) and _is_uniform(entries)
    }


def _is_uniform(entries: Tensor) -> bool:
    """Return whether all entries are the same number."""
    return bool((entries == entries.reshape(-1)[0]).all())


def _numbers(name: str) -> Iterator[tuple[str, int]]:
    """Yield every number in a dotted name with the path before it.

    >>> list(_numbers("model.layers.3.experts.5.weight"))
    [('model.layers', 3), ('model.layers.3.experts', 5)]
    """
    parts = name.split(".")
    for place, part in enumerate(parts):
        if place and part.isdecimal():
            yield ".".join(parts[:place]), int(part)


def _last_numbers(names: Iterable[str]) -> dict[str, int]:
    """Return the largest number that follows each path."""
    last: dict[str, int] = {}
    for name in names:
        for path, number in _numbers(name):
            last[path] = max(number, last.get(path, number))
    return last
