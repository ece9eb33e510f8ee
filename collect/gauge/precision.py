"""A forward pass in float64 throughout, also where the library's code narrows to float32."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from collect.model.checkpoint.decoder import Decoder

_NARROW = (torch.float32, torch.float16, torch.bfloat16)


class Float64(TorchFunctionMode):
    """Within it, every conversion to a shorter floating type goes to float64 instead.

    Norms, softmax and rotary angles of transformers are computed in float32 whatever the type
    of the model; differences below 1e-7 would drown in that.
    """

    def __enter__(self) -> Float64:
        """Make float64 the type of new tensors as well."""
        self._before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: Any) -> None:
        """Put the type of new tensors back."""
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        torch.set_default_dtype(self._before)

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run a function of torch with every shorter floating type replaced."""
        if func in (torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16):
            return args[0].double()
        wide = tuple(_widen(value) for value in args)
        return func(*wide, **{name: _widen(value) for name, value in (kwargs or {}).items()})


def _widen(value: Any) -> Any:
    return torch.float64 if isinstance(value, torch.dtype) and value in _NARROW else value


def widen(decoder: Decoder) -> None:
    """Put a model into float64 in place, its buffers too, with experts run one by one.

    The grouped code of experts knows no float64, and GPT-2's scores that go up to float32 are
    refused by its code in a longer format. Parameters are replaced one after the other, so that
    the model is never held twice.
    """
    model = decoder.model.double()
    if hasattr(model.config, "_experts_implementation"):
        model.config._experts_implementation = "eager"
    for module in model.modules():
        if hasattr(module, "reorder_and_upcast_attn"):
            module.reorder_and_upcast_attn = False
