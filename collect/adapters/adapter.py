"""What an adapter declares about a layout of models: where things are and how they lie."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from collect.adapters.capability import NEEDED, PARTS
from collect.adapters.configuration import always, entry, own_or_shared_heads
from collect.adapters.layouts import Heads
from collect.adapters.logits import unchanged

if TYPE_CHECKING:
    from torch import Tensor

    from collect.adapters.layouts import HeadWeights

#: A fused projection's rows to those of Q, K and V.
Layout = Callable[["Tensor", Heads], tuple["Tensor", "Tensor", "Tensor"]]

_EAGER = always("eager")
_NEVER = always(None)
_ONE = always(1.0)
_CLIP = entry("clip_qkv")
_EXPERTS = entry("num_experts_per_tok")
_WIDTH = entry("intermediate_size")
_CONTEXT = entry("max_position_embeddings")


@dataclass(frozen=True, slots=True)
class AttentionCall:
    """One call of an attention module: its input, keyword arguments, output and weights."""

    states: Tensor
    kwargs: Mapping[str, Any]
    output: Any
    weights: Callable[[], HeadWeights]
    heads: Heads


def returned_maps(call: AttentionCall) -> Tensor | None:
    """Return the attention map that the module returned beside its output, if it did."""
    output = call.output
    return output[1] if isinstance(output, tuple) and len(output) > 1 else None


@dataclass(frozen=True, slots=True)
class Form:
    """An adapter for those configurations of its types that ``applies`` accepts."""

    applies: Callable[[Any], bool]
    adapter: Adapter


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """Where models of one layout keep their parts. Data, not code.

    Paths are dotted names of modules; where blocks differ, alternatives are joined by ``|`` and
    the first that a block has is meant. Functions take the transformers configuration.

    Attributes
    ----------
    name
        Name of the layout, recorded with every run.
    model_types
        ``model_type`` of every transformers configuration that has this layout.
    forms
        Adapters that take this one's place for some configurations; the first that applies.
    lacks
        By capability (see `capability`): why the layout has it not. Fields that only serve what
        is lacking are left empty.
    amended
        Entries of the configuration that are set before the model is made, where they change the
        format of the computation and not its result.
    body, blocks, final_norm, head
        Paths from the causal model: to the part without the head, the list of blocks, the
        norm after the last block (None when there is none) and the output embedding.
    before_head
        Path from the causal model to what the states that leave the body go through, token by
        token, on their way to the output embedding; None when they reach it as they are.
    prefix
        First part of names that files may add to those of the model; None when it is that of body.
    attention
        Path from a block to its attention module, or to what takes its place.
    mixing
        What that part is called in table ``residual_update``: ``mixer`` where it is not attention
        in every block.
    ffn_input
        Path from a block to the module whose first argument is what feed-forward reads.
    mid
        Path from a block to a module whose first argument is the stream between attention
        and feed-forward; None when both read the same stream (parallel).
    attention_update, ffn_update
        Paths from a block to the modules that return what is added to the stream; empty where
        those at `attention` and `ffn_input` do.
    update_scale
        Factor on both before they are added.
    layer_scale
        Attribute of a block that holds the number by which it multiplies the stream before it
        returns it, what entered included; None where blocks add to the stream as it is.
    norms_after
        Paths from a block to the norms that the sums after attention and after feed-forward go
        through before they are the stream (post-norm); empty when the sum is the stream.
    adds_to_norm
        True when updates are added to the normed stream instead of the stream.
    projections
        Paths from a block to the projections for Q, K and V, or to the one fused.
    layout
        How Q, K and V lie in the fused projection; None when there are three.
    output
        Path from a block to the projection that holds W_O.
    is_conv1d
        True when projections are stored transposed, (in, out), as GPT-2 does.
    attention_norm
        Path from a block to the norm in front of attention; None when there is none.
    gain_offset
        Number added to that norm's weight before it multiplies: 1 for Gemma.
    clip
        Bound on the entries of Q, K and V after projection, or None.
    has_sinks
        True when part of a row of attention goes to a learned sink outside the map.
    experts_per_token
        Experts that a router chooses for a token; None when there is no router.
    n_kv_heads
        Number of key and value heads.
    d_head
        Attribute of the attention module that says how wide a head is; None where heads share the
        width of the stream and the module does not say.
    d_ffn
        Inner width of the feed-forward layer; of one expert that is chosen where there are several,
        also where other blocks have none; None where no block has such a layer.
    n_context
        Longest input, or None when the configuration names none.
    norm_kind, norm_position, positional_scheme
        As in table ``model``.
    attention_implementation
        Attention code of transformers to run: the one whose maps can be had and are right.
    maps
        Returns the attention maps (batch, n_heads, n, n) of a call, or None.
    logits
        Turns the head's output into logits.
    refusal
        Returns why a configuration cannot be measured, or None.
    """

    name: str
    model_types: tuple[str, ...]
    forms: tuple[Form, ...] = ()
    lacks: Mapping[str, str] = field(default_factory=dict)
    amended: Mapping[str, Any] = field(default_factory=dict)
    body: str
    blocks: str
    final_norm: str | None
    head: str = "lm_head"
    before_head: str | None = None
    prefix: str | None = None
    attention: str = ""
    mixing: str = "attention"
    ffn_input: str = ""
    mid: str | None = None
    attention_update: str = ""
    ffn_update: str = ""
    update_scale: Callable[[Any], float] = _ONE
    layer_scale: str | None = None
    norms_after: tuple[str, ...] = ()
    adds_to_norm: bool = False
    projections: tuple[str, ...] = ()
    layout: Layout | None = None
    output: str = ""
    is_conv1d: bool = False
    attention_norm: str | None = None
    gain_offset: float = 0.0
    clip: Callable[[Any], float | None] = _CLIP
    has_sinks: bool = False
    experts_per_token: Callable[[Any], int | None] = _EXPERTS
    n_kv_heads: Callable[[Any], int] = own_or_shared_heads
    d_head: str | None = "head_dim"
    d_ffn: Callable[[Any], int | None] = _WIDTH
    n_context: Callable[[Any], int | None] = _CONTEXT
    norm_kind: str
    norm_position: str = "pre"
    positional_scheme: Callable[[Any], str]
    attention_implementation: Callable[[Any], str] = _EAGER
    maps: Callable[[AttentionCall], Tensor | None] = returned_maps
    logits: Callable[[Tensor, Any], Tensor] = unchanged
    refusal: Callable[[Any], str | None] = _NEVER

    def variant(self, name: str, *model_types: str, **fields: Any) -> Adapter:
        """Return a layout that differs in some fields; without any its type is its name."""
        return replace(self, name=name, model_types=model_types or (name,), **fields)

    def of(self, config: Any) -> Adapter:
        """Return the adapter for a configuration: the first form that applies, or this one."""
        return next((form.adapter for form in self.forms if form.applies(config)), self)

    def has(self, *capabilities: str) -> bool:
        """Return whether the layout lacks none of some capabilities."""
        return not any(name in self.lacks for name in capabilities)

    def gap(self, quantity: str) -> str | None:
        """Return why a quantity, or one table of it, is not defined for the layout, or None."""
        needed = NEEDED.get(quantity, ())
        return next((self.lacks[name] for name in needed if name in self.lacks), None)

    def defined(self, asked: Sequence[str]) -> tuple[str, ...]:
        """Return the quantities among some that are defined for the layout."""
        return tuple(quantity for quantity in asked if self.gap(quantity) is None)

    @property
    def is_parallel(self) -> bool | None:
        """Whether attention and feed-forward read the same stream; None where parts are lacking."""
        return self.mid is None if self.has(PARTS) else None
