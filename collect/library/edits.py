"""What a model object computes by that is neither in its weights nor in its configuration."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules import module as of_all_modules
from transformers.activations import ACT2FN

from collect.instruments.own.holding import Holding

#: Packages whose hooks only watch a training; they hold what each process has anew, as its start.
_WATCHERS = (
    *("wandb", "comet_ml", "clearml", "neptune", "swanlab"),
    *("lightning", "pytorch_lightning", "torchinfo"),
)

#: Packages whose own hooks and modules are part of what a model is, or only watch it.
_LIBRARIES = ("torch", "transformers", "peft", "accelerate", "collect", *_WATCHERS)

#: Where torch keeps the hooks of a module, and what it keeps of some of them besides.
HOOKS = {
    "_forward_pre_hooks": ("_forward_pre_hooks_with_kwargs",),
    "_forward_hooks": ("_forward_hooks_with_kwargs", "_forward_hooks_always_called"),
}

#: What a hook is called.
_KINDS = {"_forward_pre_hooks": "pre-hook", "_forward_hooks": "hook"}

#: Stands for what changes while a model reads.
_CHANGES = object()

#: Rotary angles that a model sets anew by the length of what it reads.
_BY_LENGTH = ("dynamic", "longrope")


def edits(model: nn.Module, read: Callable[[int], object]) -> Iterator[str]:
    """Yield a line for each hook, replaced forward pass and module of somebody's own.

    So it does for the numbers that modules compute by, such as the factor of attention, and for
    activations and rotary angles that are not those of the configuration. A line has the code of
    what it names and what that holds, such as the vector that a hook adds, be it within objects,
    modules or functions, or a name of its file: two models of the same weights are told apart by
    it. A hook that only looks on is not told from one that changes something.

    What changes while the model reads is left out, such as activations that a hook keeps: a list
    that grows as a whole, of anything else the entry that changes. A model whose numbers depend
    on it gives others from one reading to the next, for which its examination refuses it.

    Parameters
    ----------
    model
        The model.
    read
        Lets it read some tokens, other ones for 0 and 1.
    """
    usual = _activations(getattr(model, "config", None))
    for name, module in model.named_modules():
        numbers = {key: found for key, found in vars(module).items() if isinstance(found, float)}
        if numbers:
            yield f"{name} {sorted(numbers.items())}"
        if name.rpartition(".")[2].startswith("act") and type(module) not in usual:
            yield f"{name} {module!r}"
        for key, angles in _set_by_hand(module):
            yield f"{name}.{key} {Holding().of(angles)}"
    before = _own(model)
    if not before:
        return
    for number in (0, 1):
        read(number)
        after = _own(model)
        before = {where: _lasting(form, after.get(where)) for where, form in before.items()}
    for where, form in before.items():
        yield f"{where} {json.dumps(form, sort_keys=True, default=lambda _changes: None)}"


def named_edits(model: nn.Module) -> list[str]:
    """Return what of a model is somebody's own, in words."""
    return [what for what, _found in _found_own(model)]


def is_own(found: Any) -> bool:
    """Return whether a function or class comes from none of the libraries."""
    while not hasattr(found, "__module__") and hasattr(found, "func"):
        found = found.func  # of a partial
    return str(getattr(found, "__module__", "")).partition(".")[0] not in _LIBRARIES


def _own(model: nn.Module) -> dict[str, Any]:
    """Return the form of what is somebody's own, by what it is and where."""
    known = {id(module): name or "itself" for name, module in model.named_modules()}
    holding = Holding(known, with_globals=True)
    found: dict[str, Any] = {}
    for where, one in _found_own(model):
        is_module = isinstance(one, nn.Module) and id(one) in known
        found[f"{len(found)} {where}"] = _form_of(one, holding) if is_module else holding.of(one)
    return found


def _found_own(model: nn.Module) -> Iterator[tuple[str, Any]]:
    """Yield what is somebody's own: hooks, replaced forward passes and modules."""
    for kind in HOOKS:
        for hook in getattr(of_all_modules, f"_global{kind}").values():
            if is_own(hook):
                yield f"a {_KINDS[kind]} on all modules", hook
    for name, module in model.named_modules():
        place = name or "the model"
        for kind in HOOKS:
            for hook in getattr(module, kind).values():
                if is_own(hook):
                    yield f"a {_KINDS[kind]} on {place}", hook
        forward = vars(module).get("forward")
        if forward is not None and is_own(forward):
            yield f"the forward pass of {place}", forward
        if is_own(type(module)):
            yield f"{type(module).__name__} at {place}", module


def _form_of(module: nn.Module, holding: Holding) -> Any:
    """Return the form of a module of somebody's own, but for its weights and the modules in it."""
    form = holding.of_object(module, without=("_parameters", "_modules", "_buffers"))
    unsaved = [module._buffers.get(name) for name in sorted(module._non_persistent_buffers_set)]
    return {**form, "unsaved": holding.of(unsaved)}


def _lasting(before: Any, after: Any) -> Any:
    """Return of two forms what is the same in both, by place."""
    if isinstance(before, dict) and isinstance(after, dict):
        same = {name: _lasting(before[name], after[name]) for name in before.keys() & after.keys()}
        return {name: form for name, form in same.items() if form is not _CHANGES}
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [_lasting(one, other) for one, other in zip(before, after, strict=True)]
    return before if repr(before) == repr(after) else _CHANGES


def _activations(config: Any) -> set[type]:
    """Return the kinds of activations that a configuration names."""
    named = {value for value in vars(config).values() if isinstance(value, str)} if config else ()
    return {type(ACT2FN[name]) for name in named if name in ACT2FN}


def _set_by_hand(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Yield the rotary angles of a module that are not those it was made with."""
    if str(getattr(module, "rope_type", "")) in _BY_LENGTH:
        return
    for key, angles in module.named_buffers(recurse=False):
        made: Any = getattr(module, key.replace("inv_freq", "original_inv_freq"), None)
        is_pair = key.endswith("inv_freq") and isinstance(made, Tensor)
        if is_pair and not torch.equal(angles, made):
            yield key, angles
