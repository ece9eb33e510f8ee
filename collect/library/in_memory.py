"""A model object that is in memory already: lent as it would be loaded, and given back as it was.

While it is lent its attention runs the code that its adapter asks for, it is in evaluation mode,
it computes in its own number format under autocast too, low-rank adapters are merged into copies
of their matrices, and weights lie in memory as those of a loaded model do. Afterwards everything
is as before, down to the last bit.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from collect.adapters import adapter_for
from collect.errors import InputError, UnsupportedModelError
from collect.model.alignment import aligned
from collect.model.checkpoint.checkpoint import Checkpoint
from collect.model.checkpoint.decoder import Decoder, decoder
from collect.model.checkpoint.load import DTYPES
from collect.model.checkpoint.shards import refuse_non_finite
from collect.model.labels import Labels

_DIVERGED = "Its training may have diverged: go back to a step before, at a lower learning rate."


@contextmanager
def lent(model: Any) -> Iterator[Decoder]:
    """Lend a model object as a decoder that gives the numbers of its saved checkpoint.

    Parameters
    ----------
    model
        Causal model of transformers, perhaps inside a wrapper of torch or of peft.

    Raises
    ------
    InputError
        If it is no such model, its weights are not all in memory here, or one is not finite.
    UnsupportedModelError
        If there is no adapter for it, or its weights are quantised.
    ConformanceError
        If it is not built as its adapter says.
    """
    bare = unwrapped(model)
    adapter = adapter_for(str(bare.config.model_type))
    _refuse_absent(bare)
    with ExitStack() as stack:
        stack.enter_context(_by_itself(bare))
        stack.enter_context(_evaluating(bare))
        stack.enter_context(_merged(bare))
        code = adapter.of(bare.config).attention_implementation(bare.config)
        stack.enter_context(_attending(bare, code))
        stack.enter_context(_aligned(bare))
        yield decoder(bare, adapter)


def unwrapped(model: Any) -> Any:
    """Return the model of transformers inside wrappers of torch and peft.

    Raises
    ------
    InputError
        If there is none.
    """
    inner = model
    for name in ("module", "_orig_mod"):
        while isinstance(getattr(inner, name, None), nn.Module):
            inner = getattr(inner, name)
    if callable(getattr(inner, "get_base_model", None)):
        kinds = getattr(inner, "peft_config", {}).values()
        if any(getattr(kind, "is_prompt_learning", False) for kind in kinds):
            raise InputError(
                "A model must be what its weights make it; learnt prompts stand in front of this "
                "one's.",
                "Measure the base model, with the prompt's text where it has one.",
            )
        inner = inner.get_base_model()
    is_model = isinstance(inner, nn.Module) and hasattr(inner, "get_input_embeddings")
    if not is_model or not hasattr(getattr(inner, "config", None), "model_type"):
        raise InputError(
            "A model object must be a causal model of transformers, or hold one as `module`; "
            f"found {type(model).__name__}.",
            "Give what AutoModelForCausalLM.from_pretrained returns.",
        )
    return inner


def described(
    lent_model: Decoder,
    model_id: str,
    revision: str | None = None,
    *,
    step: int | None = None,
    tokens: int | None = None,
) -> Checkpoint:
    """Return what is known of a model that was never saved, as that of a checkpoint.

    Parameters
    ----------
    lent_model
        From `lent`.
    model_id, revision
        Its name, and that of its state within a training.
    step, tokens
        Steps taken and tokens trained on, where known.
    """
    config = json.loads(lent_model.model.config.to_json_string())
    return Checkpoint(
        model_id=model_id,
        directory=Path(),
        revision=revision,
        adapter=lent_model.adapter,
        config=config,
        weight_files=(),
        dtype_weights="+".join(sorted({_name(p) for p in lent_model.model.parameters()})),
        labels=Labels(),
        revision_name=revision,
        training_step=step,
        training_tokens=tokens,
    )


def weights_sha256(lent_model: Decoder) -> str:
    """Return a hash over the names, shapes, number formats and values of the parameters."""
    digest = hashlib.sha256()
    for name, parameter in sorted(lent_model.model.named_parameters()):
        values = parameter.detach().cpu().contiguous()
        digest.update(f"{name}\0{tuple(values.shape)}\0{values.dtype}\n".encode())
        digest.update(values.reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


def device_of(lent_model: Decoder) -> str:
    """Return the device of a model as settings name it; ``auto`` where it is on several."""
    places = {str(parameter.device) for parameter in lent_model.model.parameters()}
    return places.pop() if len(places) == 1 else "auto"


def dtype_of(lent_model: Decoder) -> str:
    """Return the number format that a model computes in.

    Raises
    ------
    InputError
        If no pass can be measured in it.
    """
    dtype = str(lent_model.model.dtype).removeprefix("torch.")
    if dtype not in DTYPES:
        raise InputError(
            f"A model must compute in one of {', '.join(DTYPES)}; this one is in {dtype}.",
            "Convert it, for example with model.float().",
        )
    return dtype


def _name(parameter: Tensor) -> str:
    return str(parameter.dtype).removeprefix("torch.")


def _refuse_absent(model: nn.Module) -> None:
    """Refuse weights that are elsewhere: quantised, on no device, or shared out to processes."""
    if getattr(model.config, "quantization_config", None):
        raise UnsupportedModelError(
            "The weights must be plain floating numbers; those of this model are quantised.",
            "Give the model that it was quantised from.",
        )
    for name, parameter in model.named_parameters():
        if parameter.is_meta or parameter.numel() == 0 or hasattr(parameter, "ds_id"):
            raise InputError(
                f"All weights must be in the memory of this process; {name} is not.",
                "Gather the weights first: a sharded model is measured from a saved checkpoint.",
            )
        refuse_non_finite(name, parameter.detach(), _DIVERGED)


@contextmanager
def _by_itself(model: nn.Module) -> Iterator[None]:
    """Compute as a program does that has neither autocast nor a default device."""
    with ExitStack() as stack:
        for kind in {parameter.device.type for parameter in model.parameters()}:
            stack.enter_context(torch.autocast(kind, enabled=False))
        if torch.get_default_device().type != "cpu":
            stack.enter_context(torch.device("cpu"))
        yield


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    """Put a model into evaluation mode, and each module back into its own."""
    training = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, was_training in training.items():
            module.training = was_training


@contextmanager
def _attending(model: Any, code: str) -> Iterator[None]:
    """Let attention run some code, and its own again afterwards."""
    own = model.config._attn_implementation
    if own == code:
        yield
        return
    model.set_attn_implementation(code)
    try:
        yield
    finally:
        model.set_attn_implementation(own)


@contextmanager
def _aligned(model: nn.Module) -> Iterator[None]:
    """Let weights begin where those of a loaded model do, which decides the last bits."""
    own = [(parameter, parameter.data) for parameter in model.parameters()]
    try:
        for parameter, data in own:
            parameter.data = aligned(data)
        yield
    finally:
        for parameter, data in own:
            parameter.data = data


@contextmanager
def _merged(model: nn.Module) -> Iterator[None]:
    """Put matrices with their low-rank adapters merged in the place of both.

    An adapted layer is one of peft's: it has a ``base_layer`` and a ``merge``. A copy of the
    base layer is merged into, so the weights themselves are never touched.
    """
    layers = [
        (name, module)
        for name, module in model.named_modules()
        if hasattr(module, "base_layer") and hasattr(module, "merge")
    ]
    try:
        for name, layer in layers:
            _put(model, name, _merged_copy(layer))
        yield
    finally:
        for name, layer in layers:
            _put(model, name, layer)


def _merged_copy(layer: Any) -> nn.Module:
    """Return the base layer with its adapters merged in; the layer is left as it was."""
    own: nn.Module = layer.base_layer
    if layer.merged or layer.disable_adapters:
        return own
    merged = copy.deepcopy(own)
    layer.base_layer = merged
    try:
        with torch.no_grad():
            layer.merge()
        layer.merged_adapters.clear()
    finally:
        layer.base_layer = own
    return merged


def _put(model: nn.Module, name: str, module: nn.Module) -> None:
    """Put a module at a dotted path."""
    path, _, last = name.rpartition(".")
    setattr(model.get_submodule(path), last, module)
