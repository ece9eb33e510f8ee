"""What a model object computes by that is neither in its weights nor in its configuration."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from collect.instruments.own.identity import code_of, digest_of

#: Packages whose own hooks and modules are part of what a model is, or only watch it.
_LIBRARIES = ("torch", "transformers", "peft", "accelerate", "collect")

#: Where torch keeps the hooks of a module, and what it keeps of some of them besides.
HOOKS = {
    "_forward_pre_hooks": ("_forward_pre_hooks_with_kwargs",),
    "_forward_hooks": ("_forward_hooks_with_kwargs", "_forward_hooks_always_called"),
}


def edits(model: nn.Module) -> Iterator[str]:
    """Yield a line for each hook, replaced forward pass and module of somebody's own.

    So it does for the numbers that modules compute by, such as the factor of attention. A line
    has the code of what it names and what that holds, such as the vector that a hook adds: two
    models of the same weights are told apart by it. A hook that only looks on is not told from
    one that changes something.
    """
    for name, module in model.named_modules():
        for kind in HOOKS:
            for hook in getattr(module, kind).values():
                if is_own(hook):
                    yield f"{name} {kind} {_code(hook, model)}"
        forward = vars(module).get("forward")
        if forward is not None and is_own(forward):
            yield f"{name} forward {_code(forward, model)}"
        numbers = {key: found for key, found in vars(module).items() if isinstance(found, float)}
        if numbers:
            yield f"{name} {sorted(numbers.items())}"
        if is_own(type(module)):
            yield f"{name} {_source(type(module))} {digest_of(_plain_attributes(module))}"


def is_own(found: Any) -> bool:
    """Return whether a function or class comes from none of the libraries."""
    while not hasattr(found, "__module__") and hasattr(found, "func"):
        found = found.func  # of a partial
    return str(getattr(found, "__module__", "")).partition(".")[0] not in _LIBRARIES


def _code(function: Any, model: nn.Module) -> str:
    """Return the code of a function with what it holds, but for modules of the model itself."""
    owner = getattr(function, "__self__", None)
    is_within = isinstance(owner, nn.Module) and any(owner is own for own in model.modules())
    return code_of(function.__func__ if is_within else function)


def _source(kind: type) -> str:
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):
        return f"{kind.__module__}.{kind.__qualname__}"


def _plain_attributes(module: nn.Module) -> dict[str, Any]:
    """Return numbers, texts and tensors that a module has beside its parameters."""
    kinds = (int, float, str, Tensor)
    found = {name: value for name, value in vars(module).items() if isinstance(value, kinds)}
    found.pop("training", None)
    return found
