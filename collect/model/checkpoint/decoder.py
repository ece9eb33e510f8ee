"""A model with the places its adapter names: what every measurement works on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from collect.adapters import Adapter, AttentionCall, Heads, HeadWeights, cut, weight_names
from collect.adapters.capability import HEAD, HEADS, MAPS, PARTS
from collect.adapters.configuration import of_text as text_configuration
from collect.adapters.nested import moved
from collect.adapters.sites import Contribution, Sites
from collect.errors import ConformanceError, UnsupportedModelError

__all__ = ["Contribution", "Decoder", "HeadWeights", "Sites", "decoder"]

#: Rows of the output embedding that are taken at a time, few enough for a processor's cache.
_HEAD_ROWS = 2048


@dataclass(frozen=True, slots=True)
class Decoder:
    """A causal model, or one that has no output embedding, with the places its adapter names.

    Attributes
    ----------
    adapter
        In the form of this model's configuration and class.
    model
        The model, in evaluation mode; its parameters may be on the meta device.
    heads
        Number and width of heads, the width read from the attention module; 0 each where the
        adapter lacks heads, except for the number where there are maps.
    """

    adapter: Adapter
    model: Any
    heads: Heads

    @property
    def config(self) -> Any:
        """The configuration of the text, which some models hold within a larger one."""
        return text_configuration(self.model.config)

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
        """The attention module of every block, or what takes its place."""
        return [self.at(self.adapter.attention, block) for block in self.blocks]

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
        """The output embedding, of a model that does not lack it."""
        return self.at(self.adapter.head)

    @property
    def attention_implementation(self) -> str:
        """The attention code of transformers that runs, as the model reports it."""
        return str(self.config._attn_implementation)

    def device_of_block(self, layer: int) -> torch.device:
        """Return the device of a block, which what enters it may not be on yet."""
        return next(self.blocks[layer].parameters()).device

    def at(self, path: str, within: nn.Module | None = None) -> nn.Module:
        """Return the module at a dotted path from the model, or from a part of it.

        Of alternatives joined by ``|`` the first that is there.

        Raises
        ------
        ConformanceError
            If there is no such module, so that the adapter does not describe the model.
        """
        start = self.model if within is None else within
        for alternative in path.split("|"):
            with suppress(AttributeError):
                module: nn.Module = start.get_submodule(alternative)
                return module
        raise ConformanceError(
            f"The adapter {self.adapter.name} says there is a module {path!r}; "
            f"{type(start).__name__} has none.",
            "Give a model as AutoModelForCausalLM or AutoModel makes it; parts of it that were "
            "replaced must have the parts of the original.",
        )

    def layer_scale(self, layer: int) -> Tensor | None:
        """Return the number by which a block multiplies the stream, (1,), or None."""
        name = self.adapter.layer_scale
        scale: Tensor | None = None if name is None else getattr(self.blocks[layer], name)
        return scale

    def sites(self, layer: int) -> Sites:
        """Return what to watch in a block of an adapter that does not lack its parts."""
        adapter, block = self.adapter, self.blocks[layer]
        scale = float(adapter.update_scale(self.config))
        after = [self.at(path, block) for path in adapter.norms_after]
        attention_update = adapter.attention_update or adapter.attention
        ffn_update = adapter.ffn_update or adapter.ffn_input
        return Sites(
            block=block,
            attention=self.at(adapter.attention, block),
            ffn_input=self.at(adapter.ffn_input, block),
            mid=None if adapter.mid is None else self.at(adapter.mid, block),
            attention_update=Contribution(self.at(attention_update, block), scale),
            ffn_update=Contribution(self.at(ffn_update, block), scale),
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
        tensors = {name: tensor for name, tensor in asked.items() if tensor is not None}
        return cut(self.adapter, self.heads, tensors)

    def head_rows(self) -> Iterator[Tensor]:
        """Return the rows of the output embedding, a slice of them at a time."""
        weight: Any = self.head.weight
        # Rows are taken by place, because a streamed head reads them when they are asked for.
        for start in range(0, weight.shape[0], _HEAD_ROWS):
            yield weight[start : start + _HEAD_ROWS]

    @property
    def has_lens(self) -> bool:
        """Whether the head reads the stream behind the final norm, and no projection of it."""
        if not self.adapter.has(HEAD):
            return False
        weight: Any = self.head.weight
        width = int(weight.shape[1])
        return self.adapter.before_head is not None or width == int(self.config.hidden_size)

    def next_token_logits(self, states: Tensor) -> Tensor:
        """Return the logits of the next token in float32, whatever the model computes in.

        Parameters
        ----------
        states
            (n, d): rows of the body's ``last_hidden_state``.

        Returns
        -------
        (n, n_vocabulary), after what the family does in front of its head, and its own bias,
        scale or soft cap. The head is converted a slice at a time, so no float32 copy of it is
        made.
        """
        head: Any = self.head
        wide = self._head_input(states.float())
        logits = torch.cat(
            [wide.to(rows.device) @ rows.float().T for rows in self.head_rows()], dim=-1
        )
        if getattr(head, "bias", None) is not None:
            logits += head.bias.float()
        return self.adapter.logits(logits, self.config)

    def _head_input(self, states: Tensor) -> Tensor:
        """Return what the output embedding reads of states (n, d), in float32 as they are."""
        if self.adapter.before_head is None:
            return states
        module = self.at(self.adapter.before_head)
        wide = {name: parameter.float() for name, parameter in module.named_parameters()}
        device = next(iter(wide.values())).device
        read: Tensor = functional_call(module, wide, states.to(device))
        return read

    def gain(self, layer: int) -> Tensor | None:
        """Return what the norm in front of attention multiplies by, None where there is none."""
        if self.adapter.has(HEADS):
            return self.head_weights(layer).gain
        if self.adapter.attention_norm is None:
            return None
        norm: Any = self.at(self.adapter.attention_norm, self.blocks[layer])
        gain: Tensor = norm.weight.float() + self.adapter.gain_offset
        return gain


def decoder(model: Any, adapter: Adapter) -> Decoder:
    """Return a model with the places its adapter names, checked against its modules and shapes.

    Parameters
    ----------
    model
        Model of transformers, causal or without an output embedding; its parameters may be on
        the meta device.
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
    config = text_configuration(model.config)
    adapter = _class_adapter(model, adapter.of(config))
    refusal = adapter.refusal(config)
    if refusal is not None:
        raise UnsupportedModelError(
            f"This {config.model_type} model cannot be measured: {refusal}."
        )
    placed = Decoder(adapter, model, Heads(0, 0, 0))
    _check_attention_code(placed)
    _check_ends(placed)
    placed = Decoder(adapter, model, _heads(placed))
    for layer in range(len(placed.blocks)):
        if adapter.has(PARTS):
            placed.sites(layer)
        if adapter.has(HEADS):
            _check_shapes(placed, layer)
    return placed


def _class_adapter(model: Any, adapter: Adapter) -> Adapter:
    """Return an adapter as it is for the class of a model, which may have no output embedding.

    Such a class may be the body itself, or hold it under another name than the causal one.
    """
    output = getattr(model, "get_output_embeddings", None)
    if _has(model, adapter.head) or output is None or output() is not None:
        return adapter
    body = next(name for name, module in model.named_modules() if module is model.base_model)
    reason = f"a {type(model).__name__} has no output embedding, so it predicts no next token"
    return replace(
        moved(adapter, adapter.body.partition(".")[0], body),
        name=f"{adapter.name}_headless",
        lacks={**adapter.lacks, HEAD: reason},
        prefix=adapter.prefix or model.base_model_prefix,
    )


def _has(model: nn.Module, path: str) -> bool:
    """Return whether there is a module at a dotted path."""
    with suppress(AttributeError):
        model.get_submodule(path)
        return True
    return False


def _heads(placed: Decoder) -> Heads:
    """Return number and width of heads, as far as the layout has them."""
    adapter, config = placed.adapter, placed.config
    n_heads = int(config.num_attention_heads) if adapter.has(MAPS) or adapter.has(HEADS) else 0
    if not adapter.has(HEADS):
        return Heads(n_heads, 0, 0)
    if adapter.d_head is None:
        d_head = config.hidden_size // n_heads
    else:
        d_head = getattr(placed.attentions[0], adapter.d_head)
    return Heads(n_heads, adapter.n_kv_heads(config), int(d_head))


def _check_attention_code(placed: Decoder) -> None:
    needed = placed.adapter.attention_implementation(placed.config)
    if placed.attention_implementation != needed:
        raise ConformanceError(
            f"Attention must be computed by the {needed} code, whose maps are known and right; "
            f"the model reports {placed.attention_implementation!r}.",
            f"Load it with attn_implementation={needed!r}: its type cannot be seen afterwards.",
        )


def _check_ends(placed: Decoder) -> None:
    """Raise ConformanceError for a model without blocks, or with a head that is no matrix."""
    name = type(placed.model).__name__
    if not placed.blocks:
        raise ConformanceError(f"A model must have at least one block; this {name} has none.")
    _check_blocks(placed)
    if placed.adapter.has(HEAD) and not hasattr(placed.head, "weight"):
        raise ConformanceError(
            f"The head of a model must be one layer with a matrix, weight; that of this {name} is "
            f"{type(placed.head).__name__}.",
            "Put the head that the model was made with in its place.",
        )


def _check_blocks(placed: Decoder) -> None:
    """Raise ConformanceError where one module is two blocks, or a block is never run."""
    places: dict[int, int] = {}
    for layer, block in enumerate(placed.at(placed.adapter.blocks)._modules.values()):
        first = places.setdefault(id(block), layer)
        if first != layer:
            raise ConformanceError(
                f"Each block must be a module of its own; {layer} is {first} once more.",
                "Put a copy there, made by copy.deepcopy: the model computes the same.",
            )
    n_blocks, n_run = len(placed.blocks), getattr(placed.config, "num_hidden_layers", None)
    if n_run is not None and n_run < n_blocks:
        raise ConformanceError(
            f"All blocks must be run; there are {n_blocks}, and by the configuration the first "
            f"{n_run} are.",
            f"Set num_hidden_layers of the configuration to {n_blocks}, or take away the others.",
        )


def _check_shapes(placed: Decoder, layer: int) -> None:
    heads, d_model = placed.heads, placed.config.hidden_size
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
        is_absent = isinstance(error, KeyError)
        reason = f"there is no {error.args[0]}" if is_absent else str(error).splitlines()[0]
        raise ConformanceError(
            f"The attention weights of layer {layer} must be those of {heads.n_heads} query and "
            f"{heads.n_kv_heads} key and value heads of width {heads.d_head}; "
            f"cutting them fails: {reason}."
        ) from error
    for name, shape in expected.items():
        actual = tuple(getattr(weights, name).shape)
        if actual != shape:
            raise ConformanceError(
                f"The {name} weights of layer {layer} must have the shape {shape}; found {actual}."
            )
