"""A model object that is in memory already: lent as it would be loaded, and given back as it was.

While it is lent its attention runs the code that its adapter asks for, it is in evaluation mode,
it computes in its own number format under autocast too, low-rank adapters are merged into copies
of their matrices, weights that are computed from others are put down, and weights lie in memory
as those of a loaded model do. Afterwards everything is as before, down to the last bit.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from collect.adapters import adapter_for
from collect.errors import ConformanceError, InputError
from collect.library.adapted import merged, uncompiled
from collect.library.computed import put_down
from collect.library.custom import abbreviate, custom_parts
from collect.library.lendable import (
    alone,
    refuse_absent,
    refuse_other_attention,
    saved_buffers,
)
from collect.model.checkpoint.checkpoint import Checkpoint
from collect.model.checkpoint.decoder import Decoder, decoder
from collect.model.checkpoint.load import DTYPES
from collect.model.checkpoint.shards import aligned
from collect.model.conformance.refusal import BLAMED
from collect.model.labels import Labels


@contextmanager
def lent(model: Any) -> Iterator[Decoder]:
    """Lend a model object as a decoder that gives the numbers of its saved checkpoint.

    Parameters
    ----------
    model
        Model of transformers, causal or without an output embedding, perhaps inside a wrapper of
        torch or of peft.

    Raises
    ------
    InputError
        If it is no such model, its weights are not all in memory here, one is not finite, its
        attention is a function of somebody's own, or another measurement has it.
    UnsupportedModelError
        If there is no adapter for it, or its weights are quantised.
    ConformanceError
        If it is not built as its adapter says.
    """
    bare = unwrapped(model)
    adapter = adapter_for(str(bare.config.model_type))
    refuse_absent(bare)
    refuse_other_attention(_configurations(bare))
    with ExitStack() as stack:
        stack.enter_context(alone(bare))
        stack.enter_context(_isolate(bare))
        stack.enter_context(_evaluating(bare))
        stack.enter_context(uncompiled(bare))
        stack.enter_context(put_down(bare))
        stack.enter_context(merged(bare))
        code = adapter.of(bare.config).attention_implementation(bare.config)
        stack.enter_context(_attending(bare, code))
        stack.enter_context(_align(bare))
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
                "A model must be its weights alone; learned prompts stand in front of this one's.",
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


def weights_sha256(lent_model: Decoder, revision: str | None = None) -> str:
    """Return a hash over names, shapes, number formats and values of a model's state.

    That is its parameters and the buffers that are saved with them, and the revision where one
    tells apart models of the same weights.
    """
    digest, model = hashlib.sha256(), lent_model.model
    for name, tensor in [*sorted(model.named_parameters()), *sorted(saved_buffers(model))]:
        values = tensor.detach().cpu().contiguous()
        digest.update(f"{name}\0{tuple(values.shape)}\0{values.dtype}\n".encode())
        digest.update(values.reshape(-1).view(torch.uint8).numpy())
    if revision is not None:
        digest.update(f"revision\0{revision}\n".encode())
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


@contextmanager
def explained(lent_model: Decoder) -> Iterator[None]:
    """Say what a model object may fail by: formats that differ, and what was changed in it.

    Raises
    ------
    InputError
        If torch says that formats differ, which only autocast lets work together, and those of
        the model do.
    ConformanceError
        As it is raised, with what of the model is somebody's own.
    """
    try:
        yield
    except ConformanceError as error:
        parts = [*custom_parts(lent_model.model)]
        if not parts or BLAMED not in error.hint:
            raise
        cause = f"The cause may be what was changed in the model: {abbreviate(parts)}."
        if "batch_equals_single" in error.problem:
            cause += " What goes by the last place of a batch meets padding but for batch_size=1."
        raise ConformanceError(error.problem, error.hint.replace(BLAMED, cause)) from error
    except RuntimeError as error:
        formats = sorted({_name(parameter) for parameter in lent_model.model.parameters()})
        if len(formats) == 1 or "dtype" not in str(error):
            raise
        message = str(error).partition("\n")[0]
        raise InputError(
            "All parts of a model must work together without autocast; those of this one are in "
            f"{' and '.join(formats)}, of which torch says: {message}",
            "Convert it to one format, for example with model.float().",
        ) from error


def _name(parameter: Tensor) -> str:
    return str(parameter.dtype).removeprefix("torch.")


@contextmanager
def _isolate(model: nn.Module) -> Iterator[None]:
    """Compute as a program does that has neither autocast nor a default device."""
    with ExitStack() as stack:
        attributes = vars(model)
        if (
            "_original_forward" in attributes and "forward" in attributes
        ):  # accelerate's, within autocast
            stack.callback(attributes.__setitem__, "forward", attributes["forward"])
            attributes["forward"] = attributes["_original_forward"]
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
    before = [(config, config._attn_implementation) for config in _configurations(model)]
    if all(named == code for _, named in before):
        yield
        return
    try:
        model.set_attn_implementation(code)
        if model.config._attn_implementation == code:
            for config, _ in before:  # a block that was copied has a configuration of its own
                config._attn_implementation_internal = code
        yield
    finally:
        for config, named in before:
            config._attn_implementation_internal = named


def _configurations(model: nn.Module) -> list[Any]:
    """Return the configurations that the modules of a model read, its own and those within."""
    held = [getattr(module, "config", None) for module in (model, *model.modules())]
    within = [
        getattr(config, name, None)
        for config in held
        for name in getattr(config, "sub_configs", ())
    ]
    known = {id(config): config for config in [*held, *within]}
    return [config for config in known.values() if hasattr(config, "_attn_implementation_internal")]


@contextmanager
def _align(model: nn.Module) -> Iterator[None]:
    """Let weights begin where those of a loaded model do, which decides the last bits."""
    before = [(parameter, parameter.data) for parameter in model.parameters()]
    try:
        for parameter, data in before:
            parameter.data = aligned(data)
        yield
    finally:
        for parameter, data in before:
            parameter.data = data
