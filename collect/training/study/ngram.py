"""Byte n-grams: what a table of counts predicts, the yardstick of a network that has learnt."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from collect.prompts.tokenizer import N_BYTES
from collect.training.text import held_out_part, training_part


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
