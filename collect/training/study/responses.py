"""The responses of a study: how the stream of a network in training grows, block by block.

They come from the hooks and adapters that every other measurement uses.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from collect.adapters import adapter_for
from collect.instruments.hooks import Recorder
from collect.instruments.observation import Norms, Updates
from collect.model.checkpoint.decoder import Decoder, decoder
from collect.model.conformance.refusal import examine, refuse
from collect.model.forward.passes import Batch, whole
from collect.prompts.tokens import Encoded

#: Windows in one forward pass.
_BATCH = 8

#: Which tokens the means are taken over.
TOKENS = ("all", "without_first")


@dataclass(frozen=True, slots=True)
class Stream:
    """Lengths along the stream of every token, in float64.

    Attributes
    ----------
    entering, leaving
        Norm of what enters and leaves each block, (n_layers, n_tokens).
    entering_centred, leaving_centred
        The same after removing the mean over the features.
    written, written_centred
        Norm of what block 0 adds, (n_tokens,).
    ratio, cosine
        r and c of each block's update, (n_layers, n_tokens).
    is_first
        Whether a token is the first of its window, (n_tokens,).
    """

    entering: Tensor
    leaving: Tensor
    entering_centred: Tensor
    leaving_centred: Tensor
    written: Tensor
    written_centred: Tensor
    ratio: Tensor
    cosine: Tensor
    is_first: Tensor


def measured(network: Any, windows: Tensor) -> Stream:
    """Return the lengths along the stream of a network as it reads windows of tokens."""
    with _measurable(network) as placed:
        recorder = Recorder(_batches(windows), ("stream",))
        parts = [recorder.observation(index) for index in whole(placed, recorder.batches, recorder)]
    norms: list[Norms] = [part["residual_norm"] for part in parts]
    updates: list[Updates] = [part["residual_update"] for part in parts]
    n_layers = len(placed.blocks)
    places = [(0, "block_input"), *((layer, "block_output") for layer in range(n_layers))]
    lengths = torch.cat([_rows(norm, norm.norm, places) for norm in norms], dim=1)
    centred = torch.cat([_rows(norm, norm.norm_centred, places) for norm in norms], dim=1)
    blocks = [(layer, "block") for layer in range(n_layers)]
    of_blocks = {
        name: torch.cat([_rows(update, getattr(update, name), blocks) for update in updates], dim=1)
        for name in ("norm", "norm_centred", "ratio", "cosine")
    }
    return Stream(
        entering=lengths[:-1],
        leaving=lengths[1:],
        entering_centred=centred[:-1],
        leaving_centred=centred[1:],
        written=of_blocks["norm"][0],
        written_centred=of_blocks["norm_centred"][0],
        ratio=of_blocks["ratio"],
        cosine=of_blocks["cosine"],
        is_first=torch.arange(windows.numel()) % windows.shape[1] == 0,
    )


def require_conforming(network: Any) -> None:
    """Raise ConformanceError unless a network does what its adapter promises."""
    with _measurable(network) as placed:
        refuse(examine(placed, partial(whole, placed)))


@contextmanager
def _measurable(network: Any) -> Iterator[Decoder]:
    """Lend a network under the attention code its adapter asks for, and put it back."""
    config = network.config
    adapter, before = adapter_for(config.model_type), str(config._attn_implementation)
    needed = adapter.of(config).attention_implementation(config)
    try:
        if needed != before:
            network.set_attn_implementation(needed)
        yield decoder(network, adapter)
    finally:
        if needed != before:
            network.set_attn_implementation(before)


def response_row(stream: Stream, tokens: str) -> dict[str, float]:
    """Return a row of table ``study_response``, without its key and loss."""
    chosen = _chosen(stream, tokens)
    raw = _log_gains(stream.entering, stream.leaving)[:, chosen].mean(1)
    centred = _log_gains(stream.entering_centred, stream.leaving_centred)[:, chosen].mean(1)
    first, first_centred = stream.leaving[0][chosen], stream.leaving_centred[0][chosen]
    n_later = len(raw) - 1
    return {
        "first_log_gain": float(raw[0]),
        "first_log_gain_centred": float(centred[0]),
        "later_log_gain": float(raw[1:].sum()),
        "later_log_gain_centred": float(centred[1:].sum()),
        "equal_writes": equal_writes(stream.written[chosen] / first, n_later),
        "equal_writes_centred": equal_writes(
            stream.written_centred[chosen] / first_centred, n_later
        ),
        "last_log_gain": float(raw[-1]),
        "last_log_gain_centred": float(centred[-1]),
        "share_negative": _share(raw[1:] < 0),
        "share_negative_centred": _share(centred[1:] < 0),
    }


def equal_writes(ratio: Tensor, n_later: int) -> float:
    """Return the mean over tokens of ln(1 + n_later ratio^2) / 2.

    The growth of a stream to which ``n_later`` blocks each add an update of the length that
    block 0's had, orthogonal to it; ``ratio`` is that length over the stream's.
    """
    return float((1 + n_later * ratio.square()).log().mean() / 2)


def profile_rows(stream: Stream, tokens: str) -> pd.DataFrame:
    """Return the rows of table ``study_profile``, without run and step."""
    chosen = _chosen(stream, tokens)
    gains = _log_gains(stream.entering, stream.leaving)[:, chosen]
    centred = _log_gains(stream.entering_centred, stream.leaving_centred)[:, chosen]
    cosine = stream.cosine[:, chosen].nanmean(1)
    return pd.DataFrame(
        {
            "tokens": tokens,
            "layer": range(len(gains)),
            "log_gain": gains.mean(1).numpy(),
            "log_gain_sd": gains.std(1).numpy(),
            "log_gain_centred": centred.mean(1).numpy(),
            "share_negative": (gains < 0).double().mean(1).numpy(),
            "ratio": stream.ratio[:, chosen].mean(1).numpy(),
            "cosine": [None if math.isnan(value) else value for value in cosine.tolist()],
        }
    )


def _batches(windows: Tensor) -> list[Batch]:
    prompts = [
        Encoded(f"window:{place}", tuple(ids), (False,) * len(ids))
        for place, ids in enumerate(windows.tolist())
    ]
    return [tuple(prompts[n : n + _BATCH]) for n in range(0, len(prompts), _BATCH)]


def _rows(parts: Norms | Updates, values: Tensor, places: list[tuple[int, str]]) -> Tensor:
    index = {place: row for row, place in enumerate(parts.places)}
    return values[[index[place] for place in places]]


def _chosen(stream: Stream, tokens: str) -> Tensor:
    return torch.ones_like(stream.is_first) if tokens == "all" else ~stream.is_first


def _log_gains(entering: Tensor, leaving: Tensor) -> Tensor:
    return (leaving / entering).log()


def _share(negative: Tensor) -> float:
    return float(negative.double().mean()) if len(negative) else 0.0
