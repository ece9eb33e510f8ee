"""Attention maps to their sufficient statistics, every sum in float64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from collect.instruments.grams import AT_A_TIME_ON_DEVICE, dots
from collect.measures.device import on_processor

#: Entries of attention maps that are worked on at a time, those of all heads together.
_ENTRIES_AT_A_TIME = 2**17


@dataclass(frozen=True, slots=True)
class AttentionStatistics:
    """Sufficient statistics of attention maps, each (n_prompts, n_heads) in float64.

    Attributes are the columns of table ``attention``.
    """

    mass: Tensor
    diagonal: Tensor
    first_column: Tensor
    above_diagonal: Tensor
    distance: Tensor
    entropy: Tensor
    sum_squares: Tensor


@dataclass(frozen=True, slots=True)
class MeanMapStatistics:
    """Statistics of attention maps averaged over heads, each (n_prompts,) in float64.

    Attributes are the columns of table ``attention_mean``; the count n_small is int64.
    """

    mass: Tensor
    diagonal: Tensor
    first_column: Tensor
    distance: Tensor
    entropy: Tensor
    sum_squares: Tensor
    n_small: Tensor


#: An attention weight below this counts as small, as in notebook 14.
SMALL = 0.01


def attention_statistics(
    maps: Tensor, n_tokens: Sequence[int]
) -> tuple[AttentionStatistics, MeanMapStatistics]:
    """Return the sufficient statistics of attention maps A, by head and of their average.

    mass = sum_ij A_ij, diagonal = sum_i A_ii, first_column = sum_i A_i0,
    above_diagonal = sum_{j>i} A_ij, distance = sum_ij A_ij |i - j| [tokens],
    entropy = -sum_ij A_ij ln A_ij with 0 ln 0 = 0 [nat], sum_squares = sum_ij A_ij^2, and n_small
    = entries of the average below 0.01, those above the diagonal included. Rows may sum to less
    than one. All is float64, the logarithm included.

    Parameters
    ----------
    maps
        (n_prompts, n_heads, n, n): row i is what token i attends to.
    n_tokens
        Length of each prompt, at most n. Rows beyond it are padding and do not count.
    """
    statistics = (
        _prompt_statistics(maps, n_tokens)
        if on_processor(maps)
        else _padded_statistics(maps, n_tokens)
    )
    linear, entropy, squares, of_average = statistics
    mass, diagonal, first_column, above_diagonal, distance = linear.unbind(-1)
    by_head = AttentionStatistics(
        mass, diagonal, first_column, above_diagonal, distance, entropy, squares
    )
    mass, diagonal, first_column, _, distance = linear.mean(1).unbind(-1)
    n_entries = torch.tensor([n * n for n in n_tokens], device=maps.device)
    return by_head, MeanMapStatistics(
        mass=mass,
        diagonal=diagonal,
        first_column=first_column,
        distance=distance,
        entropy=of_average.entropy,
        sum_squares=of_average.sum_squares,
        n_small=n_entries - of_average.n_large,
    )


class _OfAverage(NamedTuple):
    """Statistics of an average of maps that are not the average of those of the maps."""

    entropy: Tensor
    sum_squares: Tensor
    n_large: Tensor


#: Linear statistics (n_prompts, n_heads, 5), entropy and squared Frobenius norm by head, and what
#: the averages have.
_Averages = tuple[Tensor, Tensor, Tensor, _OfAverage]


def _padded_statistics(maps: Tensor, n_tokens: Sequence[int]) -> _Averages:
    """Return the statistics of maps and of their averages.

    For a device that is not the processor: prompts together, padding as zeros, nothing looked at.
    """
    _, n_heads, width, _ = maps.shape
    _, weights = _entries(width, maps.device, False)
    places = torch.arange(width)
    is_token = (places < torch.tensor(n_tokens)[:, None]).to(maps.device)
    is_own = is_token[:, None, :, None] & is_token[:, None, None, :]
    at_a_time = max(1, AT_A_TIME_ON_DEVICE // (n_heads * width * width))
    statistics = []
    for few, mask in zip(maps.split(at_a_time), is_own.split(at_a_time), strict=True):
        entries = few.double().where(mask, 0.0).flatten(-2)
        squares = torch.linalg.vector_norm(entries, dim=-1).square()
        statistics.append((entries @ weights.T, _entropy(entries), squares, entries.mean(1)))
    linear, entropy, squares, averages = (
        torch.cat(parts) for parts in zip(*statistics, strict=True)
    )
    n_large = (averages >= SMALL).sum(-1)
    of_average = _OfAverage(_entropy(averages), averages.square().sum(-1), n_large)
    return linear, entropy, squares, of_average


@lru_cache(maxsize=1)
def _entries(n: int, device: torch.device, is_causal: bool) -> tuple[Tensor, Tensor]:
    """Return the places of a flattened map to look at, row by row, and their weights.

    Of causal maps the zeros above the diagonal are left out. The weights (5, n_entries) are
    those of an entry in the first five statistics, which are linear.
    """
    rows, columns = torch.tril_indices(n, n, n * (not is_causal), device=device)
    ahead = columns - rows
    one = torch.ones_like(ahead)
    weights = (one, ahead == 0, one * (columns == 0), ahead > 0, ahead.abs())
    return rows * n + columns, torch.stack([weight.double() for weight in weights])


@lru_cache(maxsize=1)
def _above_diagonal(width: int, dtype: torch.dtype) -> Tensor:
    """Return 1 for each entry of a flattened map that is above the diagonal, else 0."""
    return torch.ones((width, width), dtype=dtype).triu(1).flatten()


@np.errstate(invalid="ignore", over="ignore")
def _prompt_statistics(maps: Tensor, n_tokens: Sequence[int]) -> _Averages:
    """Return the statistics of maps and of their averages, on a processor."""
    n_prompts, n_heads, width, _ = maps.shape
    is_causal = not bool((maps.flatten(-2) @ _above_diagonal(width, maps.dtype)).any())
    places, weights = _entries(width, maps.device, is_causal)
    by_head = np.zeros((7, n_prompts, n_heads))
    averages = np.zeros((n_prompts, len(places)))
    for prompt, n in enumerate(n_tokens):
        n_own = n * (n + 1) // 2 if is_causal else n * n
        inner = slice(n_own) if is_causal else (places // width < n) & (places % width < n)
        average = averages[prompt, :n_own]
        _add_up(maps[prompt], places[inner], weights[:, inner], by_head[:, prompt], average)
    averages /= n_heads
    n_large = np.count_nonzero(averages >= SMALL, axis=-1)
    of_average = (_entropy_of_array(averages), dots(averages, averages), n_large)
    statistics = torch.from_numpy(by_head)
    linear = statistics[:5].permute(1, 2, 0)
    return linear, statistics[5], statistics[6], _OfAverage(*map(torch.from_numpy, of_average))


def _add_up(
    maps: Tensor, places: Tensor, weights: Tensor, by_head: NDArray[Any], total: NDArray[Any]
) -> None:
    """Add statistics (7, n_heads) of the maps of a prompt to ``by_head``, and maps to ``total``."""
    flat, of_entries = maps.flatten(-2), weights.numpy()
    at_a_time = max(1, _ENTRIES_AT_A_TIME // len(maps))
    for start in range(0, len(places), at_a_time):
        few = slice(start, start + at_a_time)
        entries = flat.index_select(1, places[few]).double().numpy()
        entries.sum(0, out=total[few])
        by_head[:5] += dots(entries, of_entries[:, None, few])
        by_head[5] += _entropy_of_array(entries)
        by_head[6] += dots(entries, entries)


def _entropy_of_array(probabilities: NDArray[Any]) -> NDArray[Any]:
    """Return `_entropy` on a processor, whose logarithms are quicker in numpy."""
    logarithms = np.maximum(probabilities, np.finfo(np.float64).tiny)
    return -dots(np.log(logarithms, out=logarithms), probabilities)


def _entropy(probabilities: Tensor) -> Tensor:
    """Return -sum p ln p over the last dimension, 0 ln 0 being 0."""
    smallest = torch.finfo(probabilities.dtype).tiny
    return -probabilities.clamp_min(smallest).log_().mul_(probabilities).sum(-1)
