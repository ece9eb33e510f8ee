"""What a checkpoint must hold: parameters by name and shape, and what stored tensors make them up.

A model is one blueprint. The attention weights alone are another, drawn from ``config.json`` and
the adapter, for which the library's code of the model is never imported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from transformers import conversion_mapping
from transformers.models.auto import modeling_auto

from collect.adapters import Adapter, Heads
from collect.adapters.configuration import of_text as text_configuration
from collect.adapters.nested import WHOLE

#: Numbers that old checkpoints hold and every version of the library computes itself.
_DERIVED = frozenset(
    (
        r"rotary_emb\.inv_freq$",
        r"(^|\.)position_ids$",
        r"attn\.(masked_)?bias$",
        r"attention\.(masked_)?bias$",
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Blueprint:
    """The parameters that a checkpoint must hold, and how its tensors make them up.

    Attributes
    ----------
    shapes
        By parameter or buffer: its shape.
    required
        Those without which the checkpoint is incomplete.
    weights
        Those that must be plain floating numbers; the rest are buffers.
    prefix
        First part of names, which a checkpoint may have added or left out.
    conversions
        The library's renamings and conversions of stored tensors, in its order.
    config
        The configuration of transformers, as conversions ask for it.
    tied
        By parameter: the one whose numbers it shares.
    model
        The model, where there is one.
    ignored
        Patterns of the tensors that the library leaves out on purpose, or None where tensors
        of other parameters are to be expected.
    """

    shapes: dict[str, tuple[int, ...]]
    required: frozenset[str]
    weights: frozenset[str]
    prefix: str
    conversions: Sequence[Any]
    config: Any
    tied: dict[str, str] = field(default_factory=dict)
    model: Any = None
    ignored: frozenset[str] | None = None


def model_blueprint(model: Any) -> Blueprint:
    """Return the blueprint of a causal model, whose parameters may be on the meta device."""
    state: dict[str, Any] = model.state_dict()
    ignored = [re.compile(pattern) for pattern in model._keys_to_ignore_on_load_missing]
    return Blueprint(
        shapes={name: tuple(tensor.shape) for name, tensor in state.items()},
        required=frozenset(
            name for name in state if not any(pattern.search(name) for pattern in ignored)
        ),
        weights=frozenset(name for name, _ in model.named_parameters(remove_duplicate=False)),
        prefix=model.base_model_prefix,
        conversions=conversion_mapping.get_model_conversion_mapping(model),
        config=model.config,
        tied=model.all_tied_weights_keys,
        model=model,
        ignored=frozenset(model._keys_to_ignore_on_load_unexpected or ()) | _DERIVED,
    )


def attention_blueprint(adapter: Adapter, config: Any) -> Blueprint:
    """Return the blueprint of the attention weights, drawn from a configuration.

    Biases and gains need not exist: only the code of the model knows.

    Parameters
    ----------
    adapter
        In the form of the configuration.
    config
        Configuration of transformers.
    """
    of_text = text_configuration(config)
    blocks = [f"{adapter.blocks}.{layer}" for layer in range(of_text.num_hidden_layers)]
    parts = [*_parts(adapter, of_text)]
    shapes = {f"{block}.{part.name}": part.shape for block in blocks for part in parts}
    named = [*(config.architectures or ()), config.model_type]
    mappings = (conversion_mapping.get_checkpoint_conversion_mapping(name) for name in named)
    rules: list[Any] = next((mapping for mapping in mappings if mapping is not None), [])
    if config.model_type in WHOLE:  # the body within renames once more
        body = modeling_auto.MODEL_MAPPING_NAMES[config.model_type]
        for renaming in conversion_mapping.get_checkpoint_conversion_mapping(body) or ():
            renaming.scope_prefix, renaming.base_model_prefix = "", "model"
            rules = [*rules, renaming]
    legacy = conversion_mapping.get_checkpoint_conversion_mapping("legacy")
    return Blueprint(
        shapes=shapes,
        required=frozenset(
            f"{block}.{part.name}" for block in blocks for part in parts if part.is_required
        ),
        weights=frozenset(shapes),
        prefix=adapter.prefix or adapter.body.partition(".")[0],
        conversions=[*rules, *legacy],
        config=config,
    )


def heads_of(adapter: Adapter, config: Any) -> Heads:
    """Return number and width of heads as a configuration gives them."""
    n_heads = int(config.num_attention_heads)
    d_head = getattr(config, "head_dim", None) or config.hidden_size // n_heads
    return Heads(n_heads, int(adapter.n_kv_heads(config)), int(d_head))


@dataclass(frozen=True, slots=True)
class _Part:
    """A parameter of a block, named from the block."""

    name: str
    shape: tuple[int, ...]
    is_required: bool = False


def _parts(adapter: Adapter, config: Any) -> Iterator[_Part]:
    """Yield the parameters of a block that `cut` may ask for, with their shapes."""
    heads, d_model = heads_of(adapter, config), int(config.hidden_size)
    query, shared = (n * heads.d_head for n in (heads.n_heads, heads.n_kv_heads))
    rows = (query, shared, shared) if adapter.layout is None else (query + 2 * shared,)
    maps = [(path, n, d_model) for path, n in zip(adapter.projections, rows, strict=True)]
    for path, n_out, n_in in (*maps, (adapter.output, d_model, query)):
        shape = (n_in, n_out) if adapter.is_conv1d else (n_out, n_in)
        yield _Part(f"{path}.weight", shape, is_required=True)
        yield _Part(f"{path}.bias", (n_out,))
    if adapter.attention_norm is not None:
        yield _Part(f"{adapter.attention_norm}.weight", (d_model,))
