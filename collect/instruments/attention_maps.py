"""Attention maps to their sufficient statistics, every sum in float64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from collect.instruments.crossing import on_processor
from collect.instruments.measures import AT_A_TIME_ON_DEVICE

#: Entries of attention maps that are worked on at a time.
_ENTRIES_AT_A_TIME = 2**18


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
    width, device = maps.shape[-1], maps.device
    if not on_processor(maps):
        return _statistics(*_of_padded(maps, n_tokens), n_tokens)
    is_causal = not bool((maps.flatten(-2) @ _above(width, maps)).any())
    places, weights = _entries(width, device, is_causal)
    averages = torch.zeros((len(maps), len(places)), dtype=torch.float64, device=device)
    found = []
    for of_heads, n, average in zip(maps, n_tokens, averages, strict=True):
        n_own = n * (n + 1) // 2 if is_causal else n * n
        own = slice(n_own) if is_causal else (places // width < n) & (places % width < n)
        found.append(_of_prompt(of_heads, places[own], weights[own], average[:n_own]))
    linear, entropy, norm = (torch.stack(parts) for parts in zip(*found, strict=True))
    return _statistics(linear, entropy, norm, averages, n_tokens)


def _statistics(
    linear: Tensor, entropy: Tensor, norm: Tensor, averages: Tensor, n_tokens: Sequence[int]
) -> tuple[AttentionStatistics, MeanMapStatistics]:
    """Return the statistics of maps from those of their heads and from their averages."""
    mass, diagonal, first_column, above_diagonal, distance = linear.unbind(-1)
    by_head = AttentionStatistics(
        mass, diagonal, first_column, above_diagonal, distance, entropy, norm.square()
    )
    n_entries = torch.tensor([n * n for n in n_tokens], device=averages.device)
    return by_head, MeanMapStatistics(
        mass=mass.mean(-1),
        diagonal=diagonal.mean(-1),
        first_column=first_column.mean(-1),
        distance=distance.mean(-1),
        entropy=_entropy(averages),
        sum_squares=averages.square().sum(-1),
        n_small=n_entries - (averages >= SMALL).sum(-1),
    )


def _of_padded(maps: Tensor, n_tokens: Sequence[int]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return linear statistics, entropy and Frobenius norm by head, and the average maps.

    For a device that is not the processor: prompts together, padding as zeros, nothing looked at.
    """
    _, n_heads, width, _ = maps.shape
    _, weights = _entries(width, maps.device, False)
    places = torch.arange(width)
    is_token = (places < torch.tensor(n_tokens)[:, None]).to(maps.device)
    is_own = is_token[:, None, :, None] & is_token[:, None, None, :]
    at_a_time = max(1, AT_A_TIME_ON_DEVICE // (n_heads * width * width))
    found = []
    for few, own in zip(maps.split(at_a_time), is_own.split(at_a_time), strict=True):
        entries = few.double().where(own, 0.0).flatten(-2)
        norm = torch.linalg.vector_norm(entries, dim=-1)
        found.append((entries @ weights, _entropy(entries), norm, entries.mean(1)))
    linear, entropy, norm, averages = (torch.cat(parts) for parts in zip(*found, strict=True))
    return linear, entropy, norm, averages


def _above(n: int, like: Tensor) -> Tensor:
    """Return 1 for each entry of a flattened map that is above the diagonal, else 0."""
    return torch.ones((n, n), dtype=like.dtype, device=like.device).triu(1).flatten()


@lru_cache(maxsize=1)
def _entries(n: int, device: torch.device, is_causal: bool) -> tuple[Tensor, Tensor]:
    """Return the places of a flattened map to look at, row by row, and their weights.

    Of causal maps the zeros above the diagonal are left out. The weights (n_entries, 5) are
    those of an entry in the first five statistics, which are linear.
    """
    rows, columns = torch.tril_indices(n, n, n * (not is_causal), device=device)
    ahead = columns - rows
    one = torch.ones_like(ahead)
    weights = (one, ahead == 0, one * (columns == 0), ahead > 0, ahead.abs())
    return rows * n + columns, torch.stack([weight.double() for weight in weights], dim=-1)


def _of_prompt(
    maps: Tensor, places: Tensor, weights: Tensor, average: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return linear statistics, entropy and Frobenius norm of maps; fill in their average."""
    n_heads = len(maps)
    flat = maps.reshape(n_heads, -1)
    at_a_time = max(1, _ENTRIES_AT_A_TIME // len(places))
    found = []
    for start in range(0, n_heads, at_a_time):
        entries = flat[start : start + at_a_time].index_select(1, places).double()
        average.add_(entries.sum(0), alpha=1 / n_heads)
        norm = torch.linalg.vector_norm(entries, dim=-1)
        found.append((entries @ weights, _entropy(entries), norm))
    if len(found) == 1:
        return found[0]
    linear, entropy, norm = (torch.cat(parts) for parts in zip(*found, strict=True))
    return linear, entropy, norm


def _entropy(probabilities: Tensor) -> Tensor:
    """Return -sum p ln p over the last dimension, 0 ln 0 being 0."""
    smallest = torch.finfo(probabilities.dtype).tiny
    return -probabilities.clamp_min(smallest).log_().mul_(probabilities).sum(-1)
