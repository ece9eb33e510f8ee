"""A causal model with the places its adapter names: what every measurement works on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd
import torch
from torch import Tensor, nn

from collect.adapters import Adapter, AttentionCall, Heads, HeadWeights, cut, weight_names
from collect.errors import ConformanceError, UnsupportedModelError
from collect.model.checkpoint.checkpoint import Checkpoint

__all__ = ["Contribution", "Decoder", "HeadWeights", "Missing", "Sites", "decoder", "model_row"]

#: Rows of the output embedding that are taken at a time.
_HEAD_ROWS = 8192


@dataclass(frozen=True, slots=True)
class Contribution:
    """The vector a part of a block adds to the stream: scale times what ``module`` returns.

    The output may be a tuple (the first entry counts) and may be flattened to (tokens, d). It
    must be read while the hook runs: Falcon adds to it in place afterwards.
    """

    module: nn.Module
    scale: float

    def of(self, output: Any, like: Tensor) -> Tensor:
        """Return the vectors from the module's output, in the shape of ``like``."""
        vectors: Tensor = (output[0] if isinstance(output, tuple) else output).view_as(like)
        return vectors if self.scale == 1.0 else vectors * self.scale


@dataclass(frozen=True, slots=True)
class Sites:
    """What to watch in one block.

    Attributes
    ----------
    block
        Its first argument is the stream that enters, its (first) output the stream that leaves.
    attention
        Its first argument is what attention reads; see ``Decoder.attention_maps`` for the rest.
    ffn_input
        Its first argument is what the feed-forward part reads, after its norm; it may be
        flattened to (tokens, d).
    mid
        Its first argument is the stream between attention and feed-forward, perhaps flattened;
        None when the two are parallel.
    attention_update, ffn_update
        What each part adds.
    norms_after
        The norms that the sums after attention and after feed-forward go through (post-norm),
        or None.
    adds_to_norm
        True when what is added to is not the stream but what attention, or feed-forward, reads.
    """

    block: nn.Module
    attention: nn.Module
    ffn_input: nn.Module
    mid: nn.Module | None
    attention_update: Contribution
    ffn_update: Contribution
    norms_after: tuple[nn.Module, nn.Module] | None
    adds_to_norm: bool


@dataclass(frozen=True, slots=True)
class Missing:
    """A quantity this model cannot give, and why; as table ``not_measured``."""

    table: str
    quantity: str
    reason: str


@dataclass(frozen=True, slots=True)
class Decoder:
    """A causal model with the places its adapter names.

    Attributes
    ----------
    adapter
        In the form of this model's configuration.
    model
        The causal model, in evaluation mode; its parameters may be on the meta device.
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
    def embedding(self) -> nn.Module:
        """The token embedding."""
        module: nn.Module = self.model.get_input_embeddings()
        return module

    @property
    def final_norm(self) -> nn.Module | None:
        """The norm after the last block, if there is one."""
        path = self.adapter.final_norm
        return None if path is None else self.at(path)

    @property
    def head(self) -> nn.Module:
        """The output embedding."""
        return self.at(self.adapter.head)

    @property
    def attention_implementation(self) -> str:
        """The attention code of transformers that runs, as the model reports it."""
        return str(self.model.config._attn_implementation)

    def device_of_block(self, layer: int) -> torch.device:
        """Return the device of a block, which what enters it may not be on yet."""
        return next(self.blocks[layer].parameters()).device

    def at(self, path: str, within: nn.Module | None = None) -> nn.Module:
        """Return the module at a dotted path from the model, or from a part of it.

        Raises
        ------
        ConformanceError
            If there is no such module, so that the adapter does not describe the model.
        """
        try:
            return (self.model if within is None else within).get_submodule(path)
        except AttributeError as error:
            raise ConformanceError(
                f"The adapter {self.adapter.name} says there is a module {path!r}; "
                f"{type(self.model).__name__} has none."
            ) from error

    def sites(self, layer: int) -> Sites:
        """Return what to watch in a block."""
        adapter, block = self.adapter, self.blocks[layer]
        scale = float(adapter.update_scale(self.model.config))
        after = [self.at(path, block) for path in adapter.norms_after]
        return Sites(
            block=block,
            attention=self.at(adapter.attention, block),
            ffn_input=self.at(adapter.ffn_input, block),
            mid=None if adapter.mid is None else self.at(adapter.mid, block),
            attention_update=Contribution(self.at(adapter.attention_update, block), scale),
            ffn_update=Contribution(self.at(adapter.ffn_update, block), scale),
            norms_after=(after[0], after[1]) if after else None,
            adds_to_norm=adapter.adds_to_norm,
        )

    def attention_maps(
        self, layer: int, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
    ) -> Tensor:
        """Return the maps A (batch, n_heads, n, n) of one call of an attention module.

        Parameters
        ----------
        layer
            Block the module belongs to.
        args, kwargs, output
            What a forward hook ``with_kwargs`` gets.

        Raises
        ------
        ConformanceError
            If the module returns no map.
        """
        call = AttentionCall(
            states=args[0] if args else kwargs["hidden_states"],
            kwargs=kwargs,
            output=output,
            weights=lambda: self.head_weights(layer),
            heads=self.heads,
        )
        maps = self.adapter.maps(call)
        if maps is None:
            raise ConformanceError(
                f"The attention module of layer {layer} must return its attention map; "
                f"with the {self.attention_implementation} code it returned none."
            )
        return maps

    def head_weights(self, layer: int) -> HeadWeights:
        """Return Q, K, V and O of a layer, head by head: views of the model's own parameters."""
        parameters = dict(self.blocks[layer].named_parameters())
        asked = {name: parameters.get(name) for name in weight_names(self.adapter)}
        found = {name: tensor for name, tensor in asked.items() if tensor is not None}
        return cut(self.adapter, self.heads, found)

    def head_rows(self) -> Iterator[Tensor]:
        """Return the rows of the output embedding, a slice of them at a time."""
        weight: Any = self.head.weight
        # Rows are taken by place, because a streamed head reads them when they are asked for.
        for start in range(0, weight.shape[0], _HEAD_ROWS):
            yield weight[start : start + _HEAD_ROWS]

    def next_token_logits(self, states: Tensor) -> Tensor:
        """Return the logits of the next token in float32, whatever the model computes in.

        Parameters
        ----------
        states
            (n, d): rows of the body's ``last_hidden_state``.

        Returns
        -------
        (n, n_vocabulary), after the family's own bias, scale or soft cap. The head is
        converted a slice at a time, so no float32 copy of it is made.
        """
        head: Any = self.head
        wide = states.float()
        logits = torch.cat(
            [wide.to(rows.device) @ rows.float().T for rows in self.head_rows()], dim=-1
        )
        if getattr(head, "bias", None) is not None:
            logits += head.bias.float()
        return self.adapter.logits(logits, self.model.config)

    def missing(self) -> list[Missing]:
        """Return what this model cannot give, with reasons."""
        adapter, found = self.adapter, []
        if adapter.is_parallel:
            reason = (
                "Attention and feed-forward read the same stream, so there is none between them."
            )
            found.append(Missing("residual_norm", "site block_mid", reason))
        if self.final_norm is None:
            reason = "The model has no norm after its last block."
            tables = ("residual_norm", "token_geometry", "prompt_geometry")
            found += [Missing(table, "site final_norm", reason) for table in tables]
        if adapter.attention_norm is None:
            reason = "Attention reads the stream without a norm before it, so there is no gain."
            found.append(Missing("weight_norm", "is_folded", reason))
        if adapter.n_context(self.model.config) is None:
            reason = "The configuration names no longest input."
            found.append(Missing("model", "n_context", reason))
        return found


def decoder(model: Any, adapter: Adapter) -> Decoder:
    """Return a model with the places its adapter names, checked against its modules and shapes.

    Parameters
    ----------
    model
        Causal model of transformers; its parameters may be on the meta device.
    adapter
        The adapter of its ``model_type``, which is put into the form of its configuration.

    Raises
    ------
    UnsupportedModelError
        If the adapter refuses this configuration.
    ConformanceError
        If attention runs another code than the adapter asks for, a module is not there, or the
        shapes of Q, K, V and O contradict the adapter.
    """
    config = model.config
    adapter = adapter.of(config)
    refusal = adapter.refusal(config)
    if refusal is not None:
        raise UnsupportedModelError(
            f"This {config.model_type} model cannot be measured: {refusal}."
        )
    placed = Decoder(adapter, model, Heads(1, 1, 1))
    _check_attention_code(placed)
    heads = Heads(
        n_heads=config.num_attention_heads,
        n_kv_heads=adapter.n_kv_heads(config),
        d_head=int(getattr(placed.attentions[0], adapter.d_head)),
    )
    placed = Decoder(adapter, model, heads)
    for layer in range(len(placed.blocks)):
        placed.sites(layer)
        _check_shapes(placed, layer)
    return placed


def _check_attention_code(placed: Decoder) -> None:
    needed = placed.adapter.attention_implementation(placed.model.config)
    if placed.attention_implementation != needed:
        raise ConformanceError(
            f"Attention must be computed by the {needed} code, whose maps are known and right; "
            f"the model reports {placed.attention_implementation!r}."
        )


def _check_shapes(placed: Decoder, layer: int) -> None:
    heads, d_model = placed.heads, placed.model.config.hidden_size
    shared = (heads.n_kv_heads, heads.d_head, d_model)
    expected = {
        "query": (heads.n_heads, heads.d_head, d_model),
        "key": shared,
        "value": shared,
        "output": (heads.n_heads, d_model, heads.d_head),
    }
    try:
        weights = placed.head_weights(layer)
    except (RuntimeError, KeyError) as error:
        raise ConformanceError(
            f"The attention weights of layer {layer} must be those of {heads.n_heads} query and "
            f"{heads.n_kv_heads} key and value heads of width {heads.d_head}; "
            f"cutting them fails: {str(error).splitlines()[0]}."
        ) from error
    for name, shape in expected.items():
        found = tuple(getattr(weights, name).shape)
        if found != shape:
            raise ConformanceError(
                f"The {name} weights of layer {layer} must have the shape {shape}; found {found}."
            )


def model_row(checkpoint: Checkpoint, placed: Decoder) -> pd.DataFrame:
    """Return the row of table ``model``: labels of the checkpoint, shape of the model."""
    config, adapter, heads = placed.model.config, placed.adapter, placed.heads
    embedding: Any = placed.embedding
    head: Any = placed.head
    labels = checkpoint.labels
    row = {
        "model_id": checkpoint.model_id,
        "revision": checkpoint.revision,
        "lab": labels.lab,
        "suite": labels.suite,
        "family": config.model_type,
        "base_model_id": labels.base_model_id,
        "year": labels.year,
        "n_layers": len(placed.blocks),
        "d_model": config.hidden_size,
        "n_heads": heads.n_heads,
        "n_kv_heads": heads.n_kv_heads,
        "d_head": heads.d_head,
        "d_ffn": adapter.d_ffn(config),
        "n_vocabulary": embedding.weight.shape[0],
        "n_context": adapter.n_context(config),
        "norm_kind": adapter.norm_kind,
        "norm_position": adapter.norm_position,
        "positional_scheme": adapter.positional_scheme(config),
        "is_parallel": adapter.is_parallel,
        "is_tied": head.weight is embedding.weight,
        "n_parameters": sum(parameter.numel() for parameter in placed.model.parameters()),
        "n_parameters_source": "counted",
        "training_step": checkpoint.training_step,
        "training_tokens": checkpoint.training_tokens,
    }
    return pd.DataFrame([row])
