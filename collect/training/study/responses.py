"""The responses of a study: how the stream of a network in training grows, block by block.

They come from the hooks and adapters that every other measurement uses.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.lib.stride_tricks import sliding_window_view
from torch import Tensor

from collect.adapters import adapter_for
from collect.instruments.gram_accumulator import Norms, Updates
from collect.instruments.hooks import Recorder
from collect.model.checkpoint.decoder import Decoder, decoder
from collect.model.conformance.refusal import examine, refuse
from collect.model.forward.passes import whole
from collect.prompts.tokenizer import N_BYTES
from collect.prompts.tokens import Encoded
from collect.training.text import held_out_part, training_part

#: Windows in one forward pass.
_BATCH = 8

#: Which tokens the means are taken over.
TOKENS = ("all", "without_first")


@dataclass(frozen=True, slots=True)
class Stream:
    """Lengths along the stream of every token, in float64.

    Attributes
    ----------
    lengths, lengths_centred
        Norm of what enters block 0 and of what leaves each block, (n_layers + 1, n_tokens), as it
        is and after removing the mean over the features.
    written, written_centred
        Norm of what block 0 adds, (n_tokens,).
    ratio, cosine
        r and c of each block's update, (n_layers, n_tokens).
    is_first
        Whether a token is the first of its window, (n_tokens,).
    """

    lengths: Tensor
    lengths_centred: Tensor
    written: Tensor
    written_centred: Tensor
    ratio: Tensor
    cosine: Tensor
    is_first: Tensor


def measured(network: Any, windows: Tensor) -> Stream:
    """Return the lengths along the stream of a network as it reads windows of tokens."""
    with _measurable(network) as placed:
        prompts = [
            Encoded(f"window:{place}", tuple(ids), (False,) * len(ids))
            for place, ids in enumerate(windows.tolist())
        ]
        batches = [tuple(prompts[n : n + _BATCH]) for n in range(0, len(prompts), _BATCH)]
        recorder = Recorder(batches, ("stream",))
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
        lengths=lengths,
        lengths_centred=centred,
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
    chosen = _choose(stream, tokens)
    row: dict[str, float] = {}
    for ending, lengths, written in (
        ("", stream.lengths, stream.written),
        ("_centred", stream.lengths_centred, stream.written_centred),
    ):
        gains = _log_gains(lengths)[:, chosen].mean(1)
        ratio = written[chosen] / lengths[1][chosen]
        row |= {
            f"first_log_gain{ending}": float(gains[0]),
            f"later_log_gain{ending}": float(gains[1:].sum()),
            f"equal_writes{ending}": equal_writes(ratio, len(gains) - 1),
            f"last_log_gain{ending}": float(gains[-1]),
            f"share_negative{ending}": _share(gains[1:] < 0),
        }
    return row


def equal_writes(ratio: Tensor, n_later: int) -> float:
    """Return the mean over tokens of ln(1 + n_later ratio^2) / 2.

    The growth of a stream to which ``n_later`` blocks each add an update of the length that
    block 0's had, orthogonal to it; ``ratio`` is that length over the stream's.
    """
    return float((1 + n_later * ratio.square()).log().mean() / 2)


def profile_rows(stream: Stream, tokens: str) -> pd.DataFrame:
    """Return the rows of table ``study_profile``, without run and step."""
    chosen = _choose(stream, tokens)
    gains = _log_gains(stream.lengths)[:, chosen]
    centred = _log_gains(stream.lengths_centred)[:, chosen]
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


def _rows(parts: Norms | Updates, values: Tensor, places: list[tuple[int, str]]) -> Tensor:
    index = {place: row for row, place in enumerate(parts.places)}
    return values[[index[place] for place in places]]


def _choose(stream: Stream, tokens: str) -> Tensor:
    return torch.ones_like(stream.is_first) if tokens == "all" else ~stream.is_first


def _log_gains(lengths: Tensor) -> Tensor:
    return (lengths[1:] / lengths[:-1]).log()


def _share(negative: Tensor) -> float:
    return float(negative.double().mean()) if len(negative) else 0.0


def held_out_loss(text: bytes, order: int) -> float:
    """Return the loss of an n-gram fitted to the training part of a text on what is held out.

    Returns
    -------
    Mean cross-entropy [nats per byte] over the held-out bytes with order - 1 bytes before them.
    """
    return cross_entropy(training_part(text), held_out_part(text), order)


def cross_entropy(training: bytes, stretches: Sequence[bytes], order: int) -> float:
    """Return the mean loss of an n-gram with Witten-Bell smoothing [nats per byte].

    A context h seen n(h) times before T(h) different bytes predicts
    p(b | h) = (n(h b) + T(h) p(b | h')) / (n(h) + T(h)), h' being h without its first byte; the
    shortest context of all predicts 1 / 256.

    Source: I. H. Witten and T. C. Bell, "The zero-frequency problem" (1991).
    """
    letters = [np.frombuffer(stretch, dtype=np.uint8) for stretch in stretches]
    grams = np.concatenate([sliding_window_view(of, order) for of in letters])
    probability = np.full(len(grams), 1 / N_BYTES)
    seen = np.frombuffer(training, dtype=np.uint8)
    for length in range(1, order + 1):
        probability = _smooth(seen, grams[:, order - length :], probability)
    return float(-np.log(probability).mean())


def _smooth(seen: np.ndarray, grams: np.ndarray, lower: np.ndarray) -> np.ndarray:
    """Return the probability of each gram's last byte, given that from the shorter context."""
    length = grams.shape[1]
    kinds, counts = np.unique(_codes(sliding_window_view(seen, length)), return_counts=True)
    contexts, first = np.unique(kinds // N_BYTES, return_index=True)
    n_after = np.add.reduceat(counts, first)
    n_kinds = np.diff(np.append(first, len(kinds)))
    asked = _codes(grams)
    count = _look_up(kinds, counts, asked)
    total = _look_up(contexts, n_after, asked // N_BYTES)
    different = _look_up(contexts, n_kinds, asked // N_BYTES)
    known = total + different > 0
    divisor = np.where(known, total + different, 1)
    return np.where(known, (count + different * lower) / divisor, lower)


def _codes(grams: np.ndarray) -> np.ndarray:
    """Return one number per gram, its last byte in the lowest place."""
    codes = np.zeros(len(grams), dtype=np.int64)
    for column in grams.T:
        codes = codes * N_BYTES + column
    return codes


def _look_up(keys: np.ndarray, values: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Return the value of each key asked for; 0 where it is none."""
    place = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
    return np.where(keys[place] == asked, values[place], 0)
