"""A checkpoint's model, with its weights or without, and its tokenizer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
import transformers
from transformers.models.auto import modeling_auto

from collect.adapters.configuration import of_text as text_configuration
from collect.adapters.nested import WHOLE
from collect.errors import InputError, first_line
from collect.model.checkpoint import blueprint, memory, placement
from collect.model.checkpoint.checkpoint import Checkpoint, tensor_names
from collect.model.checkpoint.configuration import (
    cause,
    configuration,
    not_the_model,
    quieten,
)
from collect.model.checkpoint.decoder import Decoder, decoder
from collect.model.checkpoint.gguf import vocabulary
from collect.model.checkpoint.gguf.header import ANOTHER_FILE
from collect.model.checkpoint.shards import Shards, aligned, refuse_non_finite
from collect.prompts.sets import PromptSet
from collect.prompts.tokens import needs_tokenizer

#: Number formats a forward pass may run in.
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

#: Device that stands for all accelerators of the machine together.
AUTO = "auto"

#: What makes models without an output embedding, and the names of their classes by type.
_HEADLESS: dict[str, Mapping[str, Any]] = {
    "AutoModel": modeling_auto.MODEL_MAPPING_NAMES,
    "AutoModelForSequenceClassification": (
        modeling_auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES
    ),
    "AutoModelForTokenClassification": modeling_auto.MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES,
    "AutoModelForQuestionAnswering": modeling_auto.MODEL_FOR_QUESTION_ANSWERING_MAPPING_NAMES,
}

#: How classes of reward models end, which transformers has none of.
_REWARD = "RewardModel"

_TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "spiece.model")


def load_model(checkpoint: Checkpoint, *, dtype: str = "float32", device: str = "cpu") -> Decoder:
    """Load the weights, with the attention code its adapter asks for and no code of its own.

    Parameters
    ----------
    checkpoint
        The files.
    dtype
        Number format of the forward pass, one of `DTYPES`.
    device
        A device of torch, or ``auto`` to spread the blocks over all accelerators.

    Raises
    ------
    InputError
        If the files do not make up the model that ``config.json`` describes, a weight is not
        finite, the device is not there, or the model does not fit into its memory.
    UnsupportedModelError
        If the weights are quantised, or the adapter refuses the configuration.
    ConformanceError
        If the model is not built as its adapter says.
    """
    bare = load_skeleton(checkpoint, dtype=dtype)
    shards = Shards(checkpoint, blueprint.model_blueprint(bare.model))
    if checkpoint.gguf is not None:
        return _dequantise(checkpoint, bare, shards, device)
    factory = _factory(checkpoint, bare.model.config)
    try:
        model, report = factory.from_pretrained(
            checkpoint.directory,
            config=bare.model.config,
            dtype=DTYPES[dtype],
            attn_implementation=bare.attention_implementation,
            use_safetensors=True,
            trust_remote_code=False,
            local_files_only=True,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
            device_map=AUTO if device == AUTO else None,
        )
    except Exception as error:
        memory.refuse_exhausted(error, str(checkpoint.directory))
        raise not_the_model(checkpoint, error) from error
    invented = {*report["missing_keys"], *(key[0] for key in report["mismatched_keys"])}
    if invented:
        raise InputError(
            f"The checkpoint {checkpoint.directory} must hold every weight that its "
            f"config.json describes; {len(invented)} did not load, for example "
            f"{min(invented)}.",
            "Copy or download it again, or check config.json.",
        )
    _refuse_offloaded(model, checkpoint)
    _restore_padding(model, shards)
    for name, parameter in model.named_parameters():
        parameter.data = aligned(parameter.data)
        refuse_non_finite(name, parameter.detach())
    placed = model if device == AUTO else _move(model, device)
    return decoder(placed.eval(), checkpoint.adapter)


def _dequantise(checkpoint: Checkpoint, bare: Decoder, shards: Shards, device: str) -> Decoder:
    """Return the model of a GGUF file: the library's reader of such files would hold it twice."""
    if device == AUTO:
        raise InputError(
            "A GGUF file must be on one device; --device auto is given for "
            f"{checkpoint.directory}.",
            "Use --device cuda, add --stream, or write it as safetensors: collect dequantise.",
        )
    try:
        placement.place(shards, shards.parameters, device="cpu")
    except (RuntimeError, MemoryError) as error:
        memory.refuse_exhausted(error, str(checkpoint.directory))
        raise
    bare.model.tie_weights()
    return decoder(_move(bare.model, device).eval(), checkpoint.adapter)


def load_skeleton(
    checkpoint: Checkpoint, *, dtype: str = "float32", device: str = "cpu"
) -> Decoder:
    """Return the model without its weights: parameters on the meta device, buffers real.

    Parameters
    ----------
    checkpoint
        The files, of which only ``config.json`` is read, and the names of tensors where it names
        a class without an output embedding.
    dtype
        Number format the weights would have.
    device
        Where the buffers are: what ``config.json`` determines and no file holds, such as
        rotary frequencies and masks.

    Raises
    ------
    InputError
        If ``config.json`` describes no model, or the device is not there.
    UnsupportedModelError
        If the adapter refuses the configuration.
    ConformanceError
        If the model is not built as its adapter says.
    """
    config = configuration(checkpoint)
    factory = _factory(checkpoint, config)
    try:
        of_text = text_configuration(config)
        adapter = checkpoint.adapter.of(of_text)
        for name, value in adapter.amended.items():
            setattr(of_text, name, value)
        with torch.device("meta"):
            model = factory.from_config(
                config,
                dtype=DTYPES[dtype],
                attn_implementation=adapter.attention_implementation(of_text),
                trust_remote_code=False,
            )
    except Exception as error:
        memory.refuse_exhausted(error, str(checkpoint.directory))
        raise not_the_model(checkpoint, error) from error
    make_buffers(model, device)
    return decoder(model.eval(), checkpoint.adapter)


def untie(bare: Decoder, names: Iterable[str]) -> None:
    """Give parameters of a model without weights a place of their own, as the library does.

    Parameters
    ----------
    bare
        What `load_skeleton` returned.
    names
        Parameters that share the place of another; see `Shards.held_apart`.
    """
    for name in names:
        path, _, leaf = name.rpartition(".")
        module = bare.model.get_submodule(path)
        setattr(module, leaf, torch.nn.Parameter(getattr(module, leaf).detach().clone()))


def _factory(checkpoint: Checkpoint, config: Any) -> Any:
    """Return what of the library makes the model of a checkpoint from its configuration.

    That is one that predicts tokens, but for a class without an output embedding whose files
    hold none. Files that do hold it were saved from another class than they name.
    """
    named = checkpoint.config.get("architectures")
    names = [name for name in named if isinstance(name, str)] if isinstance(named, list) else []
    known = ((auto, of_type.get(config.model_type)) for auto, of_type in _HEADLESS.items())
    auto_class = next((auto for auto, name in known if name in names), None)
    is_reward = any(name.endswith(_REWARD) for name in names)
    headless = "AutoModel" if auto_class is None and is_reward else auto_class
    head = f"{checkpoint.adapter.head}.weight"
    if headless is not None and not any(n.endswith(head) for n in tensor_names(checkpoint)):
        return getattr(transformers, headless)
    of_text: Any = transformers.AutoModelForCausalLM
    of_more: Any = transformers.AutoModelForImageTextToText
    is_of_text = type(config) in of_text._model_mapping and config.model_type not in WHOLE
    return of_text if is_of_text else of_more


def make_buffers(model: Any, device: str) -> None:
    """Put the buffers of a model on a device and fill them as the library initialises them."""
    for parameter in model.parameters():
        # The library's own mark for a weight that it must leave alone.
        parameter._is_hf_initialized = True
    for module in model.modules():
        for name, buffer in module.named_buffers(recurse=False):
            module._buffers[name] = _move(torch.zeros_like(buffer, device="cpu"), device)
    model.initialize_weights()


def _restore_padding(model: Any, shards: Shards) -> None:
    """Put back the stored row of the padding token, which some types zero after loading it.

    With a tied head it is a row of the head too, and counts in every logit.
    """
    for path, module in model.named_modules():
        if not isinstance(module, torch.nn.Embedding) or module.padding_idx is None:
            continue
        name, place = f"{path}.weight", module.padding_idx
        if shards.stored_name(name) and shards.is_stored_as_it_is(name):
            module.weight.data[place].copy_(shards.rows(name, [place])[0])


def _refuse_offloaded(model: Any, checkpoint: Checkpoint) -> None:
    """Refuse a model that the library could only place by leaving weights out of memory."""
    if any(parameter.is_meta for parameter in model.parameters()):
        raise InputError(
            f"The accelerators and the main memory must hold the weights of "
            f"{checkpoint.directory}; they do not.",
            "Add --stream, which holds one block at a time.",
        )


def tokenizer_for(checkpoint: Checkpoint, sets: Sequence[PromptSet]) -> Any:
    """Return a checkpoint's tokenizer; None without prompts, or where it has none and need not.

    Token ids need none; one that is there tells which of them are special.

    Raises
    ------
    InputError
        If prompts need a tokenizer and there is none, or it is broken.
    """
    is_needed = any(needs_tokenizer(prompt_set.prompts) for prompt_set in sets)
    is_asked = is_needed or (len(sets) > 0 and _has_tokenizer(checkpoint))
    return load_tokenizer(checkpoint, for_text=is_needed) if is_asked else None


def _has_tokenizer(checkpoint: Checkpoint) -> bool:
    """Return whether a checkpoint has any of the files that tokenizers are kept in."""
    if checkpoint.gguf is not None:
        return vocabulary.has_tokenizer(checkpoint.gguf)
    return any((checkpoint.directory / name).is_file() for name in _TOKENIZER_FILES)


def load_tokenizer(checkpoint: Checkpoint, *, for_text: bool = True) -> Any:
    """Load the tokenizer of a checkpoint.

    Parameters
    ----------
    checkpoint
        The files.
    for_text
        Whether texts are to be cut; False where only token ids are looked up.

    Raises
    ------
    InputError
        If there is none, it is broken, or it is not known how it splits a text.
    """
    quieten()
    if not _has_tokenizer(checkpoint):
        raise InputError(
            f"A checkpoint must bring its tokenizer; {checkpoint.directory} has none of "
            f"{', '.join(_TOKENIZER_FILES)}.",
            "Save it there with tokenizer.save_pretrained, or give prompts as token ids.",
        )
    try:
        if checkpoint.gguf is not None:
            return vocabulary.load(checkpoint.gguf, for_text=for_text)
        return transformers.AutoTokenizer.from_pretrained(
            checkpoint.directory, trust_remote_code=False, local_files_only=True
        )
    except InputError:
        raise
    except Exception as error:
        memory.refuse_exhausted(error, f"the tokenizer of {checkpoint.directory}")
        reason = cause(error, {})
        place, hint = checkpoint.directory, "Save it again with tokenizer.save_pretrained."
        if checkpoint.gguf is not None:
            place = checkpoint.gguf.path
            hint = ANOTHER_FILE
        raise InputError(f"The tokenizer of {place} must load; it does not: {reason}", hint) from (
            error
        )


def _move(holder: Any, device: str) -> Any:
    """Return a model or tensor on a device."""
    try:
        return holder.to(device)
    except (RuntimeError, AssertionError, MemoryError) as error:
        memory.refuse_exhausted(error, f"what was to be put on {device!r}")
        raise InputError(
            f"The device {device!r} must be usable by torch; {first_line(error)}",
            "Use --device cpu.",
        ) from error
