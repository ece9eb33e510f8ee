"""Tensors to numbers, one pure function per measured quantity, every sum in float64."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

#: A spread over features below this share of the length is the rounding of float32.
_ROUNDING = 1e-7

#: A squared difference below this share of the squared lengths is the rounding of float64.
_NOTHING = 1e-15

#: Numbers in float64 that are worked on at a time, so that they stay in the processor's cache.
_AT_A_TIME = 2**17

#: Entries of attention maps that are worked on at a time.
_ENTRIES_AT_A_TIME = 2**18


def grams(vectors: Sequence[Tensor], n_tokens: Sequence[int]) -> Tensor:
    """Return, token by token, all inner products of some vectors and of the vector of ones.

    Every length, sum over features and cosine of the vectors, and of their differences, is made
    of these.

    Parameters
    ----------
    vectors
        k tensors (n_prompts, n, d) of any floating type. Products and sums are float64: of
        float32 and shorter inputs, products are exact.
    n_tokens
        Length of each prompt, at most n; what comes after is padding and left out.

    Returns
    -------
    (sum of n_tokens, k + 1, k + 1) in float64, prompt after prompt; row and column 0 belong to
    the vector of ones.
    """
    first, n_rows = vectors[0], 1 + len(vectors)
    n_features = first.shape[-1]
    at_a_time = max(1, _AT_A_TIME // (n_rows * n_features))
    wide = first.new_empty((n_rows, at_a_time, n_features), dtype=torch.float64)
    wide[0] = 1
    products = first.new_empty((sum(n_tokens), n_rows, n_rows), dtype=torch.float64)
    done = 0
    for prompt, start, stop in _pieces(n_tokens, at_a_time):
        n = stop - start
        rows = wide[:, :n]
        for row, of_tokens in enumerate(vectors, start=1):
            rows[row].copy_(of_tokens[prompt, start:stop])
        of_token = rows.transpose(0, 1)
        torch.bmm(of_token, of_token.transpose(1, 2), out=products[done : done + n])
        done += n
    return products


def _pieces(n_tokens: Sequence[int], at_a_time: int) -> Iterator[tuple[int, int, int]]:
    """Yield (prompt, start, stop) of pieces of at most so many tokens, in order."""
    for prompt, n in enumerate(n_tokens):
        for start in range(0, n, at_a_time):
            yield prompt, start, min(start + at_a_time, n)


def stacked(tensors: Sequence[Tensor]) -> Tensor:
    """Return tensors of one shape stacked, on the device of the first; they may be on several."""
    return torch.stack([tensor.to(tensors[0].device) for tensor in tensors])


def difference(products: Tensor, row: int, less: int) -> Tensor:
    """Return `grams` with one vector more: one of the vectors less another.

    A difference shorter than about 5e-8 of the vectors is lost and becomes zero; vectors held
    in float32 are themselves no more exact than that.

    Parameters
    ----------
    products
        (..., k, k), from `grams`.
    row, less
        Which vectors, from 1.

    Returns
    -------
    (..., k + 1, k + 1).
    """
    change = torch.zeros_like(products[..., 0])
    change[..., row], change[..., less] = 1, -1
    with_all = (products @ change[..., None])[..., 0]
    length = (with_all * change).sum(-1)
    total = products[..., row, row] + products[..., less, less]
    is_nothing = length <= _NOTHING * total
    with_all = torch.where(is_nothing[..., None], 0.0, with_all)
    length = torch.where(is_nothing, 0.0, length)
    below = torch.cat([with_all, length[..., None]], dim=-1)
    wider = torch.cat([products, with_all[..., None]], dim=-1)
    return torch.cat([wider, below[..., None, :]], dim=-2)


def lengths(products: Tensor, row: int) -> tuple[Tensor, Tensor]:
    """Return norm |x| and centred norm |x - mean(x)| of one vector of `grams`.

    The centred norm is what LayerNorm sees. It comes from |x|^2 - (sum x)^2 / d, whose error
    is below 1e-8 |x|: less than the rounding of an x held in float32 or shorter.

    Parameters
    ----------
    products
        (..., k, k), from `grams`.
    row
        Which vector, from 1.
    """
    squared = products[..., row, row]
    in_mean = products[..., 0, row].square() / products[..., 0, 0]
    return squared.sqrt(), (squared - in_mean).clamp_min(0).sqrt()


def ratios(products: Tensor, row: int, stream: int) -> tuple[Tensor, Tensor]:
    """Return |v| / |x| and the cosine between v and x, of two vectors of `grams`.

    Parameters
    ----------
    products
        (..., k, k), from `grams`.
    row, stream
        Which vectors: v and x, from 1.

    Returns
    -------
    Two tensors (...) in float64; NaN where a length that is divided by is zero.
    """
    norm, of_stream = (products[..., place, place].sqrt() for place in (row, stream))
    nothing = torch.full_like(norm, torch.nan)
    ratio = torch.where(of_stream > 0, norm / of_stream, nothing)
    cosine = products[..., row, stream] / (norm * of_stream)
    return ratio, torch.where(norm * of_stream > 0, cosine.clamp(-1, 1), nothing)


def correlations(products: Tensor, row: int, other: int) -> Tensor:
    """Return the Pearson correlation, over features, of two vectors of `grams`.

    Parameters
    ----------
    products
        (..., k, k), from `grams`.
    row, other
        Which vectors, from 1.

    Returns
    -------
    (...) in float64; NaN where the features of one are equal up to rounding.
    """
    sums, n_features = products[..., 0, :], products[..., 0, 0]
    covariance = products[..., row, other] - sums[..., row] * sums[..., other] / n_features
    (norm, spread), (other_norm, other_spread) = lengths(products, row), lengths(products, other)
    correlation: Tensor = (covariance / (spread * other_spread)).clamp(-1, 1)
    is_spread = (spread > _ROUNDING * norm) & (other_spread > _ROUNDING * other_norm)
    return correlation.where(is_spread, torch.nan)


def token_norms(states: Tensor, n_tokens: Sequence[int]) -> Tensor:
    """Return the Euclidean norm of each token's vector, |x|.

    Parameters
    ----------
    states
        (n_prompts, n, d), any floating type [activation units].
    n_tokens
        Length of each prompt, at most n.

    Returns
    -------
    (sum of n_tokens,) in float64. Squares are accumulated in float64: a norm taken in bfloat16
    is off by up to 4e-3, and torch's own float32 norm loses digits on long vectors.
    """
    at_a_time = max(1, _AT_A_TIME // states.shape[-1])
    wide = states.new_empty((at_a_time, states.shape[-1]), dtype=torch.float64)
    norms = []
    for prompt, start, stop in _pieces(n_tokens, at_a_time):
        piece = wide[: stop - start].copy_(states[prompt, start:stop])
        norms.append(torch.linalg.vector_norm(piece, dim=-1))
    return torch.cat(norms)


def largest_features(states: Tensor, n_tokens: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Return each token's largest feature in absolute value, and which feature it is.

    Parameters
    ----------
    states
        (n_prompts, n, d) [activation units].
    n_tokens
        Length of each prompt, at most n.

    Returns
    -------
    (sum of n_tokens,) in float64 and the same in int64; of equal features the first is taken.
    """
    sizes = torch.empty_like(states[0])
    features, largest = [], []
    for of_prompt, n in zip(states, n_tokens, strict=True):
        feature = _places_of_largest(torch.abs(of_prompt[:n], out=sizes[:n]))
        features.append(feature)
        largest.append(sizes[:n].gather(-1, feature[:, None])[:, 0])
    return torch.cat(largest).double(), torch.cat(features)


def _places_of_largest(rows: Tensor) -> Tensor:
    """Return where each row is largest; torch's own search is several times slower on a CPU."""
    if rows.is_cpu:
        return torch.from_numpy(rows.float().numpy().argmax(-1))
    return rows.argmax(-1)


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
    is_causal = not bool((maps.flatten(-2) @ _above(width, maps)).any())
    places, weights = _entries(width, device, is_causal)
    averages = torch.zeros((len(maps), len(places)), dtype=torch.float64, device=device)
    found = []
    for of_heads, n, average in zip(maps, n_tokens, averages, strict=True):
        n_own = n * (n + 1) // 2 if is_causal else n * n
        own = slice(n_own) if is_causal else (places // width < n) & (places % width < n)
        found.append(_of_prompt(of_heads, places[own], weights[own], average[:n_own]))
    linear, entropy, norm = (torch.stack(parts) for parts in zip(*found, strict=True))
    mass, diagonal, first_column, above_diagonal, distance = linear.unbind(-1)
    by_head = AttentionStatistics(
        mass, diagonal, first_column, above_diagonal, distance, entropy, norm.square()
    )
    return by_head, MeanMapStatistics(
        mass=mass.mean(-1),
        diagonal=diagonal.mean(-1),
        first_column=first_column.mean(-1),
        distance=distance.mean(-1),
        entropy=_entropy(averages),
        sum_squares=averages.square().sum(-1),
        n_small=torch.tensor(n_tokens, device=device).square() - (averages >= SMALL).sum(-1),
    )


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


def spectral_norms(matrices: Tensor) -> Tensor:
    """Return the largest singular value of each matrix, sigma_max = sqrt(lambda_max(W W^T)).

    Parameters
    ----------
    matrices
        (..., rows, columns) [weight units]. The Gram matrix is formed on the shorter side.

    Returns
    -------
    (...) in float64. Gram matrix and eigenvalues are both float64: exact to about 1e-14,
    and no accelerator's reduced-precision product can enter.
    """
    wide = matrices.double()
    tall = wide if wide.shape[-2] <= wide.shape[-1] else wide.transpose(-1, -2)
    eigenvalues: Tensor = torch.linalg.eigvalsh(tall @ tall.transpose(-1, -2))
    return eigenvalues[..., -1].clamp_min(0).sqrt()
