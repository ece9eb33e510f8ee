"""Logits after every token of some prompts, and how far two networks differ in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from collect.adapters.configuration import rotation_limits
from collect.gauge.precision import Float64
from collect.model.checkpoint.decoder import Decoder
from collect.model.forward.passes import buckets, inputs, last_states
from collect.prompts.tokens import Encoded
from collect.record.atomic.files import write_atomically
from collect.record.writer import write_tensors

#: Largest difference of logits over the largest logit that passes for unchanged, by number format.
TOLERANCES = {"float64": 1e-9, "float32": 1e-4}

#: Name of the one tensor in a file of `Reference`.
_LOGITS = "logits"


@dataclass(frozen=True, slots=True)
class Difference:
    """The largest difference of a logit, and the largest logit in size [logits]."""

    largest: float
    largest_logit: float

    @property
    def relative(self) -> float:
        """The largest difference over the largest logit [1]."""
        return self.largest / self.largest_logit


@torch.no_grad()
def streamed(decoder: Decoder, prompts: Sequence[Encoded]) -> Iterator[tuple[Encoded, Tensor]]:
    """Yield the logits after every token, (n_tokens, n_vocabulary), of one prompt after another.

    A network in float64 is run in float64 throughout, another in its own format.
    """
    is_wide = next(decoder.model.parameters()).dtype == torch.float64
    for batch in buckets(prompts, 8, rotation_limits(decoder.config)):
        with Float64() if is_wide else nullcontext():
            states = last_states(decoder.body(**inputs(decoder, batch), use_cache=False))
        for of_prompt, prompt in zip(states, batch, strict=True):
            with Float64() if is_wide else nullcontext():
                of_tokens = decoder.next_token_logits(of_prompt[: len(prompt)])
            yield prompt, of_tokens


def largest(pairs: Iterable[tuple[Tensor, Tensor]]) -> Difference:
    """Return how far the logits of the same prompts differ between two networks."""
    sizes = [
        (float((one.double() - other.double()).abs().max()), float(one.double().abs().max()))
        for one, other in pairs
    ]
    return Difference(*map(max, zip(*sizes, strict=True)))


class Reference:
    """The logits of one network in files, for the network itself is about to be changed.

    Parameters
    ----------
    decoder, prompts
        As for `streamed`.
    directory
        A free place for a file per prompt, n_tokens x n_vocabulary numbers in the network's format.
    """

    def __init__(self, decoder: Decoder, prompts: Sequence[Encoded], directory: Path) -> None:
        self._prompts = tuple(prompts)
        self._files = {
            p: directory / f"{place}.safetensors" for place, p in enumerate(self._prompts)
        }
        for prompt, of_tokens in streamed(decoder, self._prompts):
            tensors = {_LOGITS: of_tokens.clone()}
            write_atomically(self._files[prompt], partial(write_tensors, tensors))

    def difference(self, decoder: Decoder) -> Difference:
        """Return how far the logits of another network differ from these."""
        return largest(
            (load_file(self._files[prompt])[_LOGITS], of_tokens)
            for prompt, of_tokens in streamed(decoder, self._prompts)
        )
