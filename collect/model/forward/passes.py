"""A pass of batches through the body of a model, watched as it runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

import torch

from collect.model.forward.positions import forget_lengths
from collect.prompts.tokens import Encoded, right_padded

if TYPE_CHECKING:
    from torch import Tensor

    from collect.model.checkpoint.decoder import Decoder

#: Prompts that go through the model together, padded on the right to the longest.
Batch = tuple[Encoded, ...]


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
    taken = _taken(decoder.body)
    return {
        name: of_batch for name, of_batch in right_padded(batch, device).items() if name in taken
    }


def _taken(body: Any) -> Collection[str]:
    """Return the names of the arguments of a body.

    A forward pass that was put in the place of its own may hand on whatever it is given: then
    those count that the class takes.
    """
    classes = [vars(kind)["forward"] for kind in type(body).__mro__ if "forward" in vars(kind)]
    passes = [inspect.signature(forward).parameters for forward in (body.forward, *classes)]
    return next((names for names in passes if "input_ids" in names), passes[0])
