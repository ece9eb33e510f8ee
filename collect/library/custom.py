"""What of a model comes from none of the libraries: hooks, replaced forward passes, modules."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from torch import nn
from torch.nn.modules import module as of_all_modules

from collect.schema.counting import counted

#: Packages whose hooks only watch a training.
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


def custom_parts(model: nn.Module) -> Iterator[str]:
    """Yield what of a model is custom, in words, with its place."""
    for kind in HOOKS:
        for hook in getattr(of_all_modules, f"_global{kind}").values():
            if is_custom(hook):
                yield f"a {_KINDS[kind]} on all modules"
    for name, module in model.named_modules():
        place = name or "the model"
        for kind in HOOKS:
            for hook in getattr(module, kind).values():
                if is_custom(hook):
                    yield f"a {_KINDS[kind]} on {place}"
        forward = vars(module).get("forward")
        if forward is not None and is_custom(forward):
            yield f"the forward pass of {place}"
        if is_custom(type(module)):
            yield f"{type(module).__name__} at {place}"


def abbreviate(parts: list[str]) -> str:
    """Return the first of some parts, and how many there are besides."""
    more = f", and {counted(len(parts) - 1, 'other change')}" if len(parts) > 1 else ""
    return f"{parts[0]}{more}"


def warn_of_custom_parts(model: nn.Module) -> None:
    """Warn that what of a model is custom is not part of its identity."""
    parts = [*custom_parts(model)]
    if parts:
        warnings.warn(
            f"Not part of the model's identity: {abbreviate(parts)}; its weights are, and "
            "revision=, which tells apart models of the same weights",
            stacklevel=6,  # the caller of `measure` or `measure_step`
        )


def is_custom(code: Any) -> bool:
    """Return whether a function or class comes from none of the libraries."""
    while not hasattr(code, "__module__") and hasattr(code, "func"):
        code = code.func  # of a partial
    return str(getattr(code, "__module__", "")).partition(".")[0] not in _LIBRARIES
