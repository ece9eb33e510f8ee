"""Checkpoint to model, tokenizer and the row of table ``model``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
import torch
import transformers
from torch import Tensor, nn

from collect.adapters import Adapter, Heads
from collect.adapters.layouts import output_columns
from collect.checkpoint import Checkpoint
from collect.errors import ConformanceError, InputError

ATTENTION_IMPLEMENTATION = "eager"

#: Number formats a forward pass may run in.
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True, slots=True)
class HeadWeights:
    """W_V and W_O of one layer, cut into heads; views of the model's own parameters.

    Attributes
    ----------
    value
        (n_kv_heads, d_head, d_model).
    value_bias
        (n_kv_heads, d_head), or None.
    output
        (n_heads, d_model, d_head).
    output_bias
        (d_model,), or None.
    """

    value: Tensor
    value_bias: Tensor | None
    output: Tensor
    output_bias: Tensor | None


@dataclass(frozen=True, slots=True)
class Decoder:
    """A loaded model with the places its adapter names.

    Attributes
    ----------
    model
        The causal model, in evaluation mode, with attention computed by the eager code.
    heads
        Number and width of heads, the width read from the attention module.
    """

    adapter: Adapter
    model: Any
    heads: Heads

    @property
    def body(self) -> nn.Module:
        """The model without its head."""
        return self.at(self.adapter.body)

    @property
    def blocks(self) -> list[nn.Module]:
        """The transformer blocks in order."""
        return list(self.at(self.adapter.blocks).children())

    @property
    def attentions(self) -> list[nn.Module]:
        """The attention module of every block."""
        return [block.get_submodule(self.adapter.attention) for block in self.blocks]

    @property
    def final_norm(self) -> nn.Module:
        """The norm after the last block."""
        return self.at(self.adapter.final_norm)

    @property
    def head(self) -> Any:
        """The output embedding."""
        return self.at(self.adapter.head)

    def at(self, path: str) -> nn.Module:
        """Return the module at a dotted path.

        Raises
        ------
        ConformanceError
            If the model has no such module, so that the adapter does not describe it.
        """
        try:
            module: nn.Module = self.model.get_submodule(path)
        except AttributeError as error:
            raise ConformanceError(
                f"The adapter {self.adapter.model_type} says there is a module {path!r}; "
                "the model has none."
            ) from error
        return module

    def head_weights(self, layer: int) -> HeadWeights:
        """Return W_V and W_O of a layer, head by head, and their biases."""
        attention = self.attentions[layer]
        value: Any = attention.get_submodule(self.adapter.value)
        output: Any = attention.get_submodule(self.adapter.output)
        value_weight, output_weight = value.weight, output.weight
        if self.adapter.is_conv1d:
            value_weight, output_weight = value_weight.T, output_weight.T
        value_bias = getattr(value, "bias", None)
        return HeadWeights(
            self.adapter.value_rows(value_weight, self.heads),
            None if value_bias is None else self.adapter.value_rows(value_bias, self.heads),
            output_columns(output_weight, self.heads),
            getattr(output, "bias", None),
        )


def load_model(checkpoint: Checkpoint, *, dtype: str = "float32", device: str = "cpu") -> Decoder:
    """Load the weights, with eager attention and without running code of the checkpoint.

    Raises
    ------
    InputError
        If the files do not make up the model that ``config.json`` describes, or the
        device is not there.
    ConformanceError
        If the model is not built as its adapter says.
    """
    _quieten()
    factory: Any = transformers.AutoModelForCausalLM
    try:
        model, report = factory.from_pretrained(
            checkpoint.directory,
            dtype=DTYPES[dtype],
            attn_implementation=ATTENTION_IMPLEMENTATION,
            use_safetensors=True,
            trust_remote_code=False,
            local_files_only=True,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
        )
    except Exception as error:
        raise InputError(
            f"The checkpoint {checkpoint.directory} must load as the model its config.json "
            f"describes; it does not: {_first_line(error)}",
            "Copy or download it again, or check config.json.",
        ) from error
    _refuse_incomplete(report, checkpoint)
    return decoder(_on_device(model, device).eval(), checkpoint.adapter)


def _refuse_incomplete(report: Any, checkpoint: Checkpoint) -> None:
    """Refuse weights that transformers would have filled with random numbers."""
    missing = sorted(report["missing_keys"])
    mismatched = sorted(key[0] for key in report["mismatched_keys"])
    for names, fault in ((missing, "it lacks"), (mismatched, "of another shape there are")):
        if names:
            raise InputError(
                f"The checkpoint {checkpoint.directory} must hold every weight that its "
                f"config.json describes; {fault} {len(names)}, for example {names[0]}.",
                "Copy or download it again, or check config.json.",
            )


def decoder(model: Any, adapter: Adapter) -> Decoder:
    """Return a loaded model with the places its adapter names, and check its heads.

    Raises
    ------
    ConformanceError
        If attention is not eager, or the shapes of W_V and W_O contradict the adapter.
    """
    config = model.config
    if config._attn_implementation != ATTENTION_IMPLEMENTATION:
        raise ConformanceError(
            f"Attention must be computed by the {ATTENTION_IMPLEMENTATION} code, which returns "
            f"its weights; the model reports {config._attn_implementation!r}."
        )
    placed = Decoder(adapter, model, Heads(1, 1, 1))
    heads = Heads(
        n_heads=config.num_attention_heads,
        n_kv_heads=getattr(config, "num_key_value_heads", None) or config.num_attention_heads,
        d_head=int(getattr(placed.attentions[0], adapter.d_head)),
    )
    placed = Decoder(adapter, model, heads)
    expected = (heads.n_kv_heads, heads.d_head, config.hidden_size)
    try:
        found = tuple(placed.head_weights(0).value.shape)
    except RuntimeError as error:
        raise ConformanceError(
            f"W_V must have the shape {expected}; {_first_line(error)}."
        ) from error
    if found != expected:
        raise ConformanceError(f"W_V must have the shape {expected}; found {found}.")
    return placed


def load_tokenizer(checkpoint: Checkpoint) -> Any:
    """Load the tokenizer of a checkpoint.

    Raises
    ------
    InputError
        If there is none, or it is broken.
    """
    _quieten()
    if not any((checkpoint.directory / name).is_file() for name in _TOKENIZER_FILES):
        raise InputError(
            f"A checkpoint must bring its tokenizer; {checkpoint.directory} has none of "
            f"{', '.join(_TOKENIZER_FILES)}.",
            "Save it there with tokenizer.save_pretrained.",
        )
    try:
        return transformers.AutoTokenizer.from_pretrained(
            checkpoint.directory, trust_remote_code=False, local_files_only=True
        )
    except Exception as error:
        raise InputError(
            f"The tokenizer of {checkpoint.directory} must load; it does not: {_first_line(error)}",
            "Save it again with tokenizer.save_pretrained.",
        ) from error


_TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "spiece.model")


def model_row(checkpoint: Checkpoint, loaded: Decoder) -> pd.DataFrame:
    """Return the row of table ``model``: labels of the checkpoint, shape of the loaded model."""
    config, adapter, heads = loaded.model.config, loaded.adapter, loaded.heads
    embedding = loaded.model.get_input_embeddings().weight
    labels = checkpoint.labels
    row = {
        "model_id": checkpoint.model_id,
        "revision": checkpoint.revision,
        "lab": labels.lab,
        "suite": labels.suite,
        "family": config.model_type,
        "base_model_id": labels.base_model_id,
        "year": labels.year,
        "n_layers": len(loaded.blocks),
        "d_model": config.hidden_size,
        "n_heads": heads.n_heads,
        "n_kv_heads": heads.n_kv_heads,
        "d_head": heads.d_head,
        "d_ffn": adapter.d_ffn(config),
        "n_vocabulary": embedding.shape[0],
        "n_context": config.max_position_embeddings,
        "norm_kind": adapter.norm_kind,
        "norm_position": adapter.norm_position,
        "positional_scheme": adapter.positional_scheme,
        "is_parallel": adapter.is_parallel(config),
        "is_tied": loaded.head.weight.data_ptr() == embedding.data_ptr(),
        "n_parameters": sum(parameter.numel() for parameter in loaded.model.parameters()),
        "n_parameters_source": "counted",
    }
    return pd.DataFrame([row])


def _on_device(model: Any, device: str) -> Any:
    try:
        return model.to(device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(
            f"The device {device!r} must be usable by torch; {_first_line(error)}",
            "Use --device cpu.",
        ) from error


def _quieten() -> None:
    chatter: Any = transformers.logging
    chatter.set_verbosity_error()
    chatter.disable_progress_bar()


def _first_line(error: Exception) -> str:
    """Return the first line of a message, and those after it as long as a colon announces them."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    n_told = next((n for n, line in enumerate(lines, start=1) if not line.endswith(":")), None)
    return " ".join(lines[:n_told]) or type(error).__name__
