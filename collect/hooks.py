"""One forward pass to residual norms and attention statistics, reduced as it runs.

Hooks sit on the block list itself, because ``hidden_states`` of transformers never holds the
output of the last block: its last entry has already been through the final norm. No hidden
state and no attention map outlives the hook that sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from collect.errors import ConformanceError
from collect.load import Decoder
from collect.measures import (
    AttentionStatistics,
    attention_statistics,
    centred_norms,
    next_token_logits,
    token_norms,
)
from collect.tokens import Encoded, right_padded


@dataclass(slots=True)
class Observation:
    """What one forward pass leaves behind, the prompts in the order they were given.

    Attributes
    ----------
    norms
        By (layer, site): norm and centred norm, each (n_prompts, n_tokens) in float64;
        positions beyond a prompt's own length are padding.
    attention
        By layer: the statistics of each prompt.
    logits
        (n_prompts, n_vocabulary) in float32, after the last token of each prompt.
    """

    norms: dict[tuple[int, str], tuple[Tensor, Tensor]] = field(default_factory=dict)
    attention: dict[int, list[AttentionStatistics]] = field(default_factory=dict)
    logits: Tensor = field(default_factory=lambda: torch.empty(0))


def observe(decoder: Decoder, prompts: Sequence[Encoded]) -> Observation:
    """Run the model once on a batch of prompts and return what the hooks measured.

    Prompts are padded on the right, with explicit mask and positions, so the numbers of a
    prompt do not depend on the others (up to rounding).

    Raises
    ------
    ConformanceError
        If an attention module returns no attention map.
    """
    observation = Observation()
    lengths = [len(prompt) for prompt in prompts]
    device = decoder.head.weight.device
    with torch.inference_mode(), _hooked(decoder, observation, lengths):
        output = decoder.body(**right_padded(prompts, device), use_cache=False)
        last = torch.tensor(lengths, device=device) - 1
        states = output.last_hidden_state[torch.arange(len(lengths), device=device), last]
        observation.logits = next_token_logits(
            states, decoder.head.weight, getattr(decoder.head, "bias", None)
        )
    return observation


@contextmanager
def _hooked(decoder: Decoder, observation: Observation, lengths: list[int]) -> Iterator[None]:
    """Put hooks on blocks, attention and final norm, and take them off again."""
    blocks = decoder.blocks
    keep_input = _norm_keeper(observation, 0, "block_input")
    handles = [
        blocks[0].register_forward_pre_hook(
            lambda _module, args, kwargs: keep_input(args[0] if args else kwargs["hidden_states"]),
            with_kwargs=True,
        ),
        _on_output(decoder.final_norm, _norm_keeper(observation, len(blocks) - 1, "final_norm")),
    ]
    for layer, (block, attention) in enumerate(zip(blocks, decoder.attentions, strict=True)):
        handles.append(_on_output(block, _norm_keeper(observation, layer, "block_output")))
        handles.append(
            attention.register_forward_hook(_attention_keeper(observation, layer, lengths))
        )
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _on_output(module: nn.Module, keep: Callable[[Tensor], None]) -> Any:
    """Call ``keep`` with what the module returns, alone or first of a tuple."""
    return module.register_forward_hook(
        lambda _module, _args, output: keep(output[0] if isinstance(output, tuple) else output)
    )


def _norm_keeper(observation: Observation, layer: int, site: str) -> Callable[[Tensor], None]:
    def keep(states: Tensor) -> None:
        observation.norms[layer, site] = (token_norms(states), centred_norms(states))

    return keep


def _attention_keeper(
    observation: Observation, layer: int, lengths: list[int]
) -> Callable[[nn.Module, Any, Any], None]:
    def keep(_module: nn.Module, _args: Any, output: Any) -> None:
        maps = output[1] if isinstance(output, tuple) and len(output) > 1 else None
        if maps is None:
            raise ConformanceError(
                f"The attention module of layer {layer} must return its attention map; "
                "it returned none."
            )
        observation.attention[layer] = [
            attention_statistics(maps[row, :, :length, :length])
            for row, length in enumerate(lengths)
        ]

    return keep
