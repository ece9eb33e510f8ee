"""The causal model's own way from the states that leave its body to logits.

States that are already known answer in place of the body, so that no block runs again and none
needs to be in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from collect.model.checkpoint.decoder import Decoder


class _BodyOutput(tuple[Tensor]):
    """What a body returns: the states, first of a tuple or by name, and nothing besides."""

    __slots__ = ()

    @property
    def last_hidden_state(self) -> Tensor:
        return self[0]

    def __getattr__(self, name: str) -> None:
        """Return None for what only some bodies return, such as caches or router logits."""
        if name.startswith("__"):
            raise AttributeError(name)


def own_logits(decoder: Decoder, states: Tensor) -> Tensor:
    """Return the logits that the model's own code makes of states.

    Parameters
    ----------
    decoder
        A model whose head has its weight, be it read by slices.
    states
        (n_prompts, n_tokens, d): rows of the body's ``last_hidden_state``.

    Returns
    -------
    (n_prompts, n_tokens, n_vocabulary), in the number format of the model or a wider one.
    """
    # The model may call its body, or a part of it that holds the blocks, as OPT does.
    path = decoder.adapter.blocks.split(".")
    around_blocks = [decoder.at(".".join(path[:n])) for n in range(1, len(path))]
    with ExitStack() as stack:
        for module in around_blocks:
            stack.enter_context(_answering(module, lambda *_, **__: _BodyOutput((states,))))
        if not isinstance(decoder.head.weight, Tensor):
            stack.enter_context(_answering(decoder.head, _sliced_head(decoder)))
        tokens = torch.zeros(states.shape[:-1], dtype=torch.long, device=states.device)
        output = decoder.model(input_ids=tokens, use_cache=False)
        logits: Tensor = output[0] if isinstance(output, tuple) else output.logits
    return logits


def _sliced_head(decoder: Decoder) -> Callable[[Tensor], Tensor]:
    """Return what the head does, with a slice of its rows in memory at a time."""

    def forward(states: Tensor) -> Tensor:
        head: Any = decoder.head
        logits = torch.cat([states @ rows.T for rows in decoder.head_rows()], dim=-1)
        bias: Tensor | None = getattr(head, "bias", None)
        return logits if bias is None else logits + bias

    return forward


@contextmanager
def _answering(module: nn.Module, forward: Callable[..., Any]) -> Iterator[None]:
    """Let a module answer with another function, and with its own again afterwards."""
    original = {name: value for name, value in module.__dict__.items() if name == "forward"}
    module.__dict__["forward"] = forward
    try:
        yield
    finally:
        del module.__dict__["forward"]
        module.__dict__.update(original)
