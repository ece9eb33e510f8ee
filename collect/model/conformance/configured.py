"""What the modules of a model object compute by, beside what its configuration says.

A module takes numbers over when it is made, so that a configuration that is changed afterwards no
longer describes the model: the checkpoint that it would be saved as gives other numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor

from collect.model.checkpoint.load import make_buffers

#: Attributes of modules that change while a model runs or trains, and no numbers of its result.
_STATES = ("training", "max_seq_len_cached", "gradient_checkpointing", "is_gradient_checkpointing")

#: Rotary angles that a model sets anew by the length of what it reads.
_BY_LENGTH = ("dynamic", "longrope")


def contradictions(model: Any) -> dict[str, str]:
    """Return where modules hold something else than they would if made by the configuration.

    Compared are numbers, names and switches that a module holds, and the buffers that no file
    holds, such as rotary frequencies, of modules that are of the class the model was made with.

    Parameters
    ----------
    model
        Causal model of transformers.

    Returns
    -------
    By attribute, with N for the numbers in its name: what the first module of that name holds,
    and what the configuration says. Empty too where the configuration makes no model any more.
    """
    try:
        with torch.device("meta"):
            made: Any = type(model)._from_config(deepcopy(model.config), dtype=model.dtype)
        make_buffers(made, "cpu")
    except Exception:  # a class or a configuration of somebody's own, which nothing is known of
        return {}
    of_live = dict(model.named_modules(remove_duplicate=False))  # a part may stand in two blocks
    by_place: dict[str, str] = {}
    for path, module in made.named_modules():
        live = of_live.get(path)
        if type(live) is not type(module):
            continue
        for name, has, says in (*_attributes(live, module), *_buffers(live, module)):
            place = re.sub(r"\.\d+(?=\.)", ".N", f"{path}.{name}")
            by_place.setdefault(place, f"it is {has}, by the configuration {says}")
    return by_place


def _attributes(live: Any, made: Any) -> Iterator[tuple[str, Any, Any]]:
    for name, says in vars(made).items():
        has = getattr(live, name, says)
        is_plain = all(isinstance(value, bool | int | float | str) for value in (has, says))
        if is_plain and has != says and not name.startswith("_") and name not in _STATES:
            yield name, has, says


def _buffers(live: Any, made: Any) -> Iterator[tuple[str, str, str]]:
    if str(getattr(live, "rope_type", "")) in _BY_LENGTH:
        return
    for name in made._non_persistent_buffers_set:
        has, says = getattr(live, name, None), getattr(made, name, None)
        if not isinstance(has, Tensor) or not isinstance(says, Tensor):
            continue
        if has.dtype != says.dtype or not torch.equal(has.cpu(), says.cpu()):
            yield name, _display(has), _display(says)


def _display(buffer: Tensor) -> str:
    kind = str(buffer.dtype).removeprefix("torch.")
    return f"{tuple(buffer.shape)} of {kind} with sum {float(buffer.double().sum()):.6g}"
