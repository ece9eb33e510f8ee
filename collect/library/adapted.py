"""What wraps the modules of a model taken away for a time: adapters, and compiled code."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import nn

from collect.errors import translate_errors
from collect.library.custom import HOOKS, is_custom


@contextmanager
def uncompiled(model: nn.Module) -> Iterator[None]:
    """Run the code of a model as it is written, though all or parts of it are compiled."""
    within = "_orig_mod"
    with instead(
        model,
        lambda module: isinstance(module._modules.get(within), nn.Module),
        lambda module: getattr(module, within),
    ):
        if "torch._dynamo" not in sys.modules:  # nothing is compiled; its import takes a second
            yield
            return
        with torch.compiler.set_stance("force_eager"):
            yield


@contextmanager
def merged(model: nn.Module) -> Iterator[None]:
    """Put plain modules in the place of those that have adapters, which are left as they are.

    An adapted layer is one of peft's: it has a ``base_layer`` and a ``merge``. Copies of base
    layers are merged into, so the weights themselves are never touched. Modules that are trained
    whole, or of whose rows some are, stand beside the original in a wrapper.

    Raises
    ------
    InputError
        If adapters cannot be merged.
    """
    of_original: dict[int, nn.Module] = {}

    def plain(module: nn.Module) -> nn.Module:
        with translate_errors(
            "It must be possible to merge adapters into the weights; merging raised",
            "Save the model with its adapters merged, and measure the checkpoint.",
        ):
            merged_module = _plain(module)
        original: Any = _innermost(module)
        weight = getattr(original, "weight", None)
        if weight is None or merged_module is original:
            return merged_module
        first: Any = of_original.setdefault(id(weight), merged_module)
        weight_of_copy: Any = getattr(merged_module, "weight", None)
        if (
            first is not merged_module
            and weight_of_copy is not None
            and torch.equal(first.weight, weight_of_copy)
        ):
            merged_module.weight = first.weight
        return merged_module

    with instead(model, _is_adapted, plain):
        yield


@contextmanager
def instead(
    model: nn.Module,
    is_replaced: Callable[[nn.Module], bool],
    made: Callable[[Any], nn.Module],
) -> Iterator[None]:
    """Put other modules in the place of the outermost ones of a kind, at all their places."""
    replacements: dict[int, nn.Module] = {}
    with ExitStack() as stack:
        for parent, name, module in [*_outermost(model, is_replaced)]:
            if id(module) not in replacements:
                replacements[id(module)] = made(module)
                stack.callback(_hand_on_hooks(module, replacements[id(module)]))
            stack.callback(parent._modules.__setitem__, name, module)
            parent._modules[name] = replacements[id(module)]
        yield


def _hand_on_hooks(module: nn.Module, other: nn.Module) -> Callable[[], None]:
    """Let somebody's hooks on a module run on another, and return what takes them off it again."""
    handed: list[tuple[dict[int, Any], int]] = []
    for kind, flags in HOOKS.items():
        for number, hook in getattr(module, kind).items():
            if not is_custom(hook):
                continue
            for held in (kind, *flags):
                of_module = getattr(module, held)
                if number in of_module:
                    getattr(other, held)[number] = of_module[number]
                    handed.append((getattr(other, held), number))

    def take_off() -> None:
        for held, number in handed:
            held.pop(number, None)

    return take_off


def _outermost(
    parent: nn.Module, is_sought: Callable[[nn.Module], bool]
) -> Iterator[tuple[nn.Module, str, nn.Module]]:
    """Yield the modules of a kind that lie in no other of it, each with its parent and name."""
    for name, module in parent.named_children():
        if is_sought(module):
            yield parent, name, module
        else:
            yield from _outermost(module, is_sought)


def _is_adapted(module: nn.Module) -> bool:
    return _is_tuned(module) or _is_trained_whole(module) or _is_trained_by_rows(module)


def _is_tuned(module: nn.Module) -> bool:
    return "base_layer" in module._modules and hasattr(module, "merge")


def _is_trained_whole(module: nn.Module) -> bool:
    return {"original_module", "modules_to_save"} <= module._modules.keys()


def _is_trained_by_rows(module: nn.Module) -> bool:
    return "token_adapter" in module._modules


def _plain(module: Any) -> nn.Module:
    """Return a module that does by itself what one with adapters does."""
    if _is_trained_by_rows(module):
        return _plain(module.token_adapter)
    if _is_trained_whole(module):
        active = [] if module.disable_adapters else module.active_adapters
        is_trained = bool(active) and active[0] in module.modules_to_save
        return _plain(module.modules_to_save[active[0]] if is_trained else module.original_module)
    if not _is_tuned(module):
        return module  # type: ignore[no-any-return]
    base = _plain(module.base_layer)
    if module.merged or module.disable_adapters:
        return base
    saved = [(part, {**part._modules}, {**part._parameters}) for part in module.modules()]
    module.base_layer = copy.deepcopy(base) if base is _innermost(module) else base
    try:
        with torch.no_grad():
            module.merge()
        base_module: nn.Module = module.base_layer  # some put another there, not other weights
    finally:
        module.merged_adapters.clear()
        for part, modules, parameters in saved:
            part._modules.update(modules)
            part._parameters.update(parameters)
    return base_module


def _innermost(module: Any) -> nn.Module:
    """Return the layer within all adapters of it, of which one may lie in another."""
    while _is_adapted(module):
        inner = ("base_layer", "token_adapter", "original_module")
        module = next(module._modules[name] for name in inner if name in module._modules)
    return module  # type: ignore[no-any-return]
