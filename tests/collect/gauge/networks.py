"""Copies of a network with the same function, and how far their logits are apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import replace

from torch import Tensor

from collect.gauge.extreme import shift_stream
from collect.gauge.logits import Difference, largest, streamed
from collect.gauge.precision import widen
from collect.model.checkpoint.decoder import Decoder
from collect.prompts.tokens import Encoded


def widened(decoder: Decoder) -> Decoder:
    """Return a copy of a model in float64; see `widen`."""
    copy = replace(decoder, model=deepcopy(decoder.model))
    widen(copy)
    return copy


def shifted(decoder: Decoder, profile: Sequence[float]) -> Decoder:
    """Return a copy of a network whose stream is shifted; see `shift_stream`."""
    copy = replace(decoder, model=deepcopy(decoder.model))
    shift_stream(copy, profile)
    return copy


def logits(decoder: Decoder, prompts: Sequence[Encoded]) -> list[Tensor]:
    """Return what `streamed` yields, in the order of the prompts."""
    by_prompt = dict(streamed(decoder, prompts))
    return [by_prompt[prompt] for prompt in prompts]


def difference(before: Iterable[Tensor], after: Iterable[Tensor]) -> Difference:
    """Return how far the logits of the same prompts differ between two networks."""
    return largest(zip(before, after, strict=True))
