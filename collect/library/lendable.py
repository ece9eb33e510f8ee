"""What must be true of a model object, and its tokenizer, before the model is lent."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from collect.errors import InputError, UnsupportedModelError
from collect.library.custom import is_custom
from collect.model.checkpoint.shards import refuse_non_finite

_DIVERGED = "Its training may have diverged: go back to a step before, at a lower learning rate."

#: Formats of weights that stand for themselves, and those of tables and counts.
_PLAIN = {torch.float64, torch.float32, torch.float16, torch.bfloat16}
_COUNTS = {torch.int64, torch.int32, torch.int16, torch.bool}

_LENT: set[int] = set()
_LOCK = threading.Lock()


@contextmanager
def alone(model: nn.Module) -> Iterator[None]:
    """Lend a model to one measurement at a time.

    Raises
    ------
    InputError
        If another has it.
    """
    with _LOCK:
        if id(model) in _LENT:
            raise InputError(
                "A model must be measured by one call at a time; another measurement of this one "
                "has not ended.",
                "Wait for it, or measure a copy made by copy.deepcopy.",
            )
        _LENT.add(id(model))
    try:
        yield
    finally:
        _LENT.discard(id(model))


def refuse_absent(model: nn.Module) -> None:
    """Refuse weights that are elsewhere: quantised, on no device, or shared out to processes.

    Raises
    ------
    InputError
        If they are, or one is not finite.
    UnsupportedModelError
        If they are quantised.
    """
    if _is_packed(getattr(model.config, "quantization_config", None)):
        raise _quantised_error("those of this model are quantised")
    for name, module in model.named_modules():
        if type(module).__module__.startswith("torch.ao.nn.quantized"):
            raise _quantised_error(f"those of {name} are quantised")
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        if _is_elsewhere(tensor) or (isinstance(tensor, nn.Parameter) and tensor.numel() == 0):
            raise InputError(
                f"All weights must be in the memory of this process; {name} is not.",
                "Gather the weights first: a model that is offloaded or shared out is measured "
                "from a saved checkpoint.",
            )
    for name, parameter in model.named_parameters():
        if type(parameter.data) is not Tensor or parameter.dtype not in _PLAIN | _COUNTS:
            dtype = str(parameter.dtype).removeprefix("torch.")
            raise _quantised_error(
                f"those of {name} are {type(parameter.data).__name__} of {dtype}"
            )
    for name, tensor in [*model.named_parameters(), *saved_buffers(model)]:
        refuse_non_finite(name, tensor.detach(), _DIVERGED)


def _is_packed(configuration: Any) -> bool:
    """Return whether a model is quantised in memory too: some formats hold weights in buffers.

    What was read from a GGUF file, or dequantised as it was loaded, has plain parameters, or ones
    that show what they are.
    """
    if not configuration:
        return False
    entries = configuration if isinstance(configuration, dict) else vars(configuration)
    return entries.get("quant_method") != "gguf" and not entries.get("dequantize")


def refuse_other_attention(configurations: Iterable[Any]) -> None:
    """Refuse attention by a function of somebody's own, in whose place another would run.

    Raises
    ------
    InputError
        If a configuration names one.
    """
    for name in {str(config._attn_implementation) for config in configurations}:
        # One with a slash is a kernel from a hub, which computes what it stands for.
        code = ALL_ATTENTION_FUNCTIONS.get(name)
        if code is not None and "/" not in name and is_custom(code):
            raise InputError(
                f"Attention must be computed by code of transformers, whose maps are known; {name} "
                "is a function of somebody's own.",
                'Choose other code, such as model.set_attn_implementation("eager"), and put what '
                "the function changes into hooks.",
            )


def tokenizer_of(given: Any) -> Any:
    """Return a tokenizer, or that within what reads images or sound beside text.

    Raises
    ------
    InputError
        If it is none of transformers.
    """
    if given is None or isinstance(given, PreTrainedTokenizerBase):
        return given  # one that comes with a model's own code may hold another, which it works by
    within = getattr(given, "tokenizer", None)
    if not isinstance(within, PreTrainedTokenizerBase):
        raise InputError(
            f"The tokenizer must be one of transformers; found {type(given).__name__}.",
            "AutoTokenizer.from_pretrained makes it from a name or a directory; without one give "
            "prompts as token ids.",
        )
    return within


def saved_buffers(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Yield the buffers that a checkpoint holds beside parameters, such as a router's biases."""
    for path, module in model.named_modules():
        for name, buffer in module.named_buffers(recurse=False):
            if name not in module._non_persistent_buffers_set and buffer.numel():
                yield f"{path}.{name}", buffer


def _is_elsewhere(tensor: Tensor) -> bool:
    """Return whether a tensor has no numbers here, or is a part of what is shared out."""
    marks = ("ds_id", "placements")  # of DeepSpeed, and of a tensor that several processes share
    is_flat = getattr(tensor, "_is_flat_param", False)  # several weights in one, as FSDP has them
    return tensor.is_meta or bool(is_flat) or any(hasattr(tensor, mark) for mark in marks)


def _quantised_error(reason: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"The weights must be plain floating numbers; {reason}.",
        "Give the model that it was quantised from.",
    )
