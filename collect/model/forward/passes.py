"""A pass of batches through the body of a model, watched as it runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import torch
from torch import Tensor

from collect.model.checkpoint.decoder import Decoder
from collect.model.forward.positions import forget_lengths
from collect.prompts.tokens import Encoded, right_padded

#: Prompts that go through the model together, padded on the right to the longest.
Batch = tuple[Encoded, ...]

#: Tokens that cost about as much as a pass does by itself, found with GPT-2 on a processor: all
#: weights go through its cache once, however few tokens there are.
_TOKENS_OF_A_PASS = 64


class Watcher(Protocol):
    """What looks at a pass while it runs, and keeps what it wants to keep.

    A pass may run batch after batch through the whole body, or all batches through one block
    before the next block; a watcher keeps its state by batch and works with either.
    """

    def attached(self, decoder: Decoder) -> AbstractContextManager[None]:
        """Put hooks on the model, and take them off on leaving."""

    def watch(self, index: int) -> None:
        """Take what runs from now on as batch ``index``."""

    def finish(self, index: int, states: Tensor) -> None:
        """Take ``last_hidden_state`` of batch ``index``, (n_prompts, n_tokens, d)."""


def whole(
    decoder: Decoder,
    batches: Sequence[Batch],
    watcher: Watcher,
    *,
    without_gradients: Callable[[], AbstractContextManager[None]] = torch.inference_mode,
) -> Iterator[int]:
    """Run the body of a loaded model on each batch and yield the batch's index when done.

    Parameters
    ----------
    decoder, batches, watcher
        What runs, on what, and who looks on.
    without_gradients
        How gradients are left out. A model that is trained on afterwards must not keep what was
        made in inference mode; ``torch.no_grad`` is for it.
    """
    with watcher.attached(decoder):
        for index, batch in enumerate(batches):
            with without_gradients():
                watcher.watch(index)
                output = decoder.body(**inputs(decoder, batch), use_cache=False)
                watcher.finish(index, last_states(output))
                del output
            yield index


def last_states(output: Any) -> Tensor:
    """Return the ``last_hidden_state`` of what a body returns, be it a tuple as configured."""
    states: Tensor = output[0] if isinstance(output, tuple) else output.last_hidden_state
    return states


def inputs(decoder: Decoder, batch: Batch) -> dict[str, Tensor]:
    """Return the arguments of the body for a batch, on the device of its embedding.

    ``position_ids`` are left out where the body takes none, as in families whose positions
    enter through ALiBi.
    """
    forget_lengths(decoder.body)
    device = next(decoder.embedding.parameters()).device
    # The names of the arguments of a body. A forward pass that was put in the place of its own may
    # hand on whatever it is given: then those count that the class takes.
    body = decoder.body
    classes = [vars(kind)["forward"] for kind in type(body).__mro__ if "forward" in vars(kind)]
    passes = [inspect.signature(forward).parameters for forward in (body.forward, *classes)]
    taken = next((names for names in passes if "input_ids" in names), passes[0])
    return {
        name: of_batch for name, of_batch in right_padded(batch, device).items() if name in taken
    }


def buckets(
    prompts: Sequence[Encoded], batch_size: int, limits: Collection[int] = ()
) -> list[Batch]:
    """Return the prompts in batches of about equal length, shortest first.

    Of all ways to cut the prompts, sorted by length, into batches of at most ``batch_size``, the
    one that is cheapest to run: tokens with their padding, and 64 more for each batch. No batch
    has prompts on both sides of a limit, beyond which a model reads all of a batch otherwise.
    """
    kinds: dict[int, list[Encoded]] = {}
    for prompt in sorted(prompts, key=len):
        kinds.setdefault(sum(len(prompt) > limit for limit in limits), []).append(prompt)
    return [batch for ordered in kinds.values() for batch in _cheapest(ordered, batch_size)]


def _cheapest(ordered: Sequence[Encoded], batch_size: int) -> list[Batch]:
    cheapest = [(0, 0)]
    for stop, longest in enumerate(ordered, start=1):
        cheapest.append(
            min(
                (cheapest[start][0] + (stop - start) * len(longest) + _TOKENS_OF_A_PASS, start)
                for start in range(max(0, stop - batch_size), stop)
            )
        )
    return _cut(ordered, cheapest)


def _cut(ordered: Sequence[Encoded], cheapest: Sequence[tuple[int, int]]) -> list[Batch]:
    """Return the batches, from the cheapest start of the batch that ends at each place."""
    batches, stop = [], len(ordered)
    while stop:
        start = cheapest[stop][1]
        batches.append(tuple(ordered[start:stop]))
        stop = start
    return batches[::-1]
