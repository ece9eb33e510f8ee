"""What the tiny model of a family does with two prompts, run once and kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial

import torch
from torch import Tensor

from collect.adapters import ADAPTERS
from collect.model.checkpoint.decoder import Decoder, decoder
from collect.model.conformance.refusal import Finding, examine
from collect.model.forward.passes import inputs, whole
from collect.prompts.tokens import Encoded
from tests.collect.families import tiny_family

LONG, SHORT = (
    Encoded(
        name,
        tuple(torch.randint(3, 97, (n,), generator=torch.Generator().manual_seed(n)).tolist()),
        (False,) * n,
    )
    for name, n in (("long", 12), ("short", 7))
)


@dataclass
class Shown:
    """What a model did with the two prompts together, and with each alone."""

    decoder: Decoder
    states: dict[int, Tensor] = field(default_factory=dict)
    maps: dict[int, Tensor] = field(default_factory=dict)
    projected: dict[int, Tensor] = field(default_factory=dict)
    streams: dict[str, list[Tensor]] = field(default_factory=dict)


@contextmanager
def hooked(decoder: Decoder, see: Callable[..., None]) -> Iterator[None]:
    """Call ``see(layer, kind, args, kwargs, output)`` for attention, W_O and the block."""
    handles = []
    for layer, block in enumerate(decoder.blocks):
        modules = {
            "attention": decoder.attentions[layer],
            "projection": block.get_submodule(decoder.adapter.output),
            "block": block,
        }
        handles += [
            module.register_forward_hook(
                lambda _module, *call, layer=layer, kind=kind: see(layer, kind, *call),
                with_kwargs=True,
            )
            for kind, module in modules.items()
        ]
    yield
    for handle in handles:
        handle.remove()


def loaded_family(name: str) -> Decoder:
    model = tiny_family(name)
    return decoder(model, ADAPTERS[model.config.model_type])


@cache
def shown(name: str) -> Shown:
    """Run the tiny model of a name once, and keep what it showed."""
    placed = loaded_family(name)
    result = Shown(placed)

    def see(layer, kind, args, kwargs, output):
        if kind == "attention" and label == "together":
            result.states[layer] = (args[0] if args else kwargs["hidden_states"]).clone()
            result.maps[layer] = placed.attention_maps(layer, args, kwargs, output).clone()
        elif kind == "projection" and label == "together":
            result.projected[layer] = output.clone()
        elif kind == "block":
            first = output[0] if isinstance(output, tuple | list) else output
            result.streams.setdefault(label, []).append(first.clone())

    batches = {"together": (LONG, SHORT), "long": (LONG,), "short": (SHORT,)}
    with torch.no_grad(), hooked(placed, see):
        for label, batch in batches.items():
            output = placed.body(**inputs(placed, batch), use_cache=False)
            result.streams[label].append(output.last_hidden_state)
    return result


def examined(placed: Decoder) -> dict[str, Finding]:
    """Return what the examination finds of a loaded model, by property."""
    return {finding.property: finding for finding in examine(placed, partial(whole, placed))}


def rows_by_head(placed: Decoder) -> dict[str, Tensor]:
    """Return which rows of its projection each value head has, one tensor for each projection."""
    adapter, heads = placed.adapter, placed.heads
    n_rows = heads.n_kv_heads * heads.d_head
    if adapter.layout is None:
        return {adapter.projections[2]: torch.arange(n_rows)}
    rows = torch.arange(heads.n_heads * heads.d_head + 2 * n_rows)
    return {adapter.projections[0]: adapter.layout(rows, heads)[2].flatten()}
