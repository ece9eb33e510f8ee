"""Devices that do not exist: tensors carry a label, and mixing labels fails as on real devices.

Labels are ``cpu:0`` and ``cpu:1``, which torch never tells apart, or those of an accelerator.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

#: What moves numbers from one device to another.
_MAY_MIX = {Tensor.copy_, Tensor.set_}


class PretendedDevices(TorchFunctionMode):
    """While active, operations on tensors of several labels raise RuntimeError."""

    def __init__(self) -> None:
        super().__init__()
        self._labels: dict[int, torch.device] = {}

    def label(self, tensor: Tensor, device: torch.device) -> Tensor:
        """Say that a tensor is on a device."""
        key = id(tensor)
        if key not in self._labels:
            weakref.finalize(tensor, self._labels.pop, key, None)
        self._labels[key] = device
        return tensor

    def place(self, module: nn.Module, device: torch.device) -> None:
        """Say that a module's parameters and buffers are on a device, and inputs come to it."""
        for tensor in (*module.parameters(), *module.buffers()):
            self.label(tensor, device)
        own = module.forward

        def forward(*args: Any, **kwargs: Any) -> Any:
            args, kwargs = pytree.tree_map_only(Tensor, lambda t: t.to(device), (args, kwargs))
            return own(*args, **kwargs)

        module.forward = forward

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func == Tensor.device.__get__:
            return self._labels.get(id(args[0]), func(*args))
        if func == Tensor.is_cpu.__get__:
            return self._is_on_processor(args[0])
        if func is Tensor.numpy and not self._is_on_processor(args[0]):
            raise TypeError("can't convert a tensor of an accelerator to numpy")
        if func in (Tensor.to, Tensor.cpu):
            return self._moved(func, args, kwargs)
        named = kwargs.pop("device", None)
        labels = {label for _, label in self._labelled(args, kwargs)}
        if len(labels) > 1 and func not in _MAY_MIX:
            raise RuntimeError(f"{func} got tensors on {sorted(map(str, labels))}")
        label = torch.device(named) if named is not None else self._first_label(args, kwargs)
        made = func(*args, **kwargs)
        if label is not None:
            pytree.tree_map_only(Tensor, lambda tensor: self.label(tensor, label), made)
        return made

    def _is_on_processor(self, tensor: Tensor) -> bool:
        return self._labels.get(id(tensor), tensor.device).type == "cpu"

    def _moved(self, func: Any, args: Any, kwargs: Any) -> Tensor:
        tensor, *rest = args
        target = torch.device("cpu") if func is Tensor.cpu else kwargs.pop("device", None)
        kept = []
        for value in rest:
            if isinstance(value, Tensor):
                target = self._labels.get(id(value), value.device)
                kept.append(value.dtype)
            elif isinstance(value, torch.dtype):
                kept.append(value)
            elif isinstance(value, str | torch.device):
                target = torch.device(value)
        result = self._labels.get(id(tensor))
        made = tensor.view_as(tensor)
        made = made.to(*kept, **kwargs) if kept or kwargs else made
        device = result if target is None else target
        return made if device is None else self.label(made, device)

    def _first_label(self, args: Any, kwargs: Any) -> torch.device | None:
        return next((label for _, label in self._labelled(args, kwargs)), None)

    def _labelled(self, args: Any, kwargs: Any) -> Iterator[tuple[Tensor, torch.device]]:
        """Yield tensors with a label; a lone number mixes with everything, as in torch."""
        for leaf in pytree.tree_leaves((args, kwargs)):
            if isinstance(leaf, Tensor) and leaf.ndim and id(leaf) in self._labels:
                yield leaf, self._labels[id(leaf)]
