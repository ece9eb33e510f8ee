"""Logits after every token of some prompts, and how far two networks differ in them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor

from collect.adapters.configuration import rotation_limits
from collect.gauge.precision import Float64
from collect.model.checkpoint.decoder import Decoder
from collect.model.forward.passes import inputs, last_states
from collect.prompts.tokens import Encoded, buckets

#: Largest difference of logits over the largest logit that passes for unchanged, by number format.
TOLERANCES = {"float64": 1e-9, "float32": 1e-4}


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
def logits(decoder: Decoder, prompts: Sequence[Encoded]) -> list[Tensor]:
    """Return the logits after every token, (n_tokens, n_vocabulary), prompt by prompt.

    A network in float64 is run in float64 throughout, another in its own format.
    """
    is_wide = next(decoder.model.parameters()).dtype == torch.float64
    by_prompt: dict[Encoded, Tensor] = {}
    with Float64() if is_wide else nullcontext():
        for batch in buckets(prompts, 8, rotation_limits(decoder.config)):
            states = last_states(decoder.body(**inputs(decoder, batch), use_cache=False))
            for of_prompt, prompt in zip(states, batch, strict=True):
                by_prompt[prompt] = decoder.next_token_logits(of_prompt[: len(prompt)])
    return [by_prompt[prompt] for prompt in prompts]


def difference(before: Sequence[Tensor], after: Sequence[Tensor]) -> Difference:
    """Return how far the logits of the same prompts differ between two networks."""
    pairs = list(zip(before, after, strict=True))
    return Difference(
        max(float((one.double() - other.double()).abs().max()) for one, other in pairs),
        max(float(one.double().abs().max()) for one, _ in pairs),
    )
