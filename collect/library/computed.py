"""Weights that a model computes from others, put down as they are computed.

So are those of a parametrisation of torch, of pruning, and of the older weight and spectral
norms, which work by hooks. A saved checkpoint of such a model has the others, which no model of
its type can read; what is measured is what the model computes by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.utils import parametrize
from torch.nn.utils.prune import BasePruningMethod
from torch.nn.utils.spectral_norm import SpectralNorm
from torch.nn.utils.weight_norm import WeightNorm

from collect.library.adapted import instead

_HOOKS = (BasePruningMethod, SpectralNorm, WeightNorm)

#: What stands, behind its name, for a weight that a hook computes.
_PARTS = ("_orig", "_mask", "_g", "_v", "_u")


class _Computed(NamedTuple):
    """A weight that is computed: its name, and what computes it."""

    name: str
    compute: Callable[[], Any]


def put_down(model: nn.Module) -> AbstractContextManager[None]:
    """Put plain modules in the place of those whose weights are computed from others."""
    return instead(model, lambda module: any(_compute(module)), _plain)


def _compute(module: Any) -> Iterator[_Computed]:
    """Yield the weights of a module that are computed from others."""
    if parametrize.is_parametrized(module):
        for name, computed in module.parametrizations.items():
            yield _Computed(name, computed)
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, BasePruningMethod):
            yield _Computed(hook._tensor_name, partial(hook.apply_mask, module))
        elif isinstance(hook, WeightNorm):
            yield _Computed(hook.name, partial(hook.compute_weight, module))
        elif isinstance(hook, SpectralNorm):
            compute = partial(hook.compute_weight, module, do_power_iteration=False)
            yield _Computed(hook.name, compute)


def _plain(module: Any) -> Any:
    """Return a module that has as its own the weights that another computes."""
    plain: Any = object.__new__(parametrize.type_before_parametrizations(module))
    plain.__dict__ = {
        name: held.copy() if isinstance(held, (dict, set)) else held
        for name, held in vars(module).items()
    }
    plain._modules.pop("parametrizations", None)
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, _HOOKS):
            del plain._forward_pre_hooks[number]
    with torch.no_grad():
        weights = {name: compute().detach() for name, compute in _compute(module)}
    for name, weight in weights.items():
        for held in (plain._parameters, plain._buffers):
            for part in _PARTS:
                held.pop(f"{name}{part}", None)
        vars(plain).pop(name, None)
        plain._parameters[name] = nn.Parameter(weight, requires_grad=False)
    for name, child in plain._modules.items():
        if child is not None and any(_compute(child)):
            plain._modules[name] = _plain(child)
    return plain
