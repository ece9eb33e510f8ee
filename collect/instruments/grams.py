"""Tensors to numbers, one pure function per measured quantity, every sum in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from collect.measures.device import on_processor

#: A spread over features below this share of the length is the rounding of float32.
_ROUNDING = 1e-7

#: A squared difference below this share of the squared lengths is the rounding of float64.
_NOTHING = 1e-15

#: Numbers in float64 that are worked on at a time: 1.5 MiB, which a processor's cache holds.
_AT_A_TIME = 3 * 2**16

#: Numbers that are multiplied and added up in one loop; a longer one is shared out among threads,
#: and its last bits then depend on how many there are.
_FEATURES_AT_A_TIME = 2**13

#: Floating types that numpy reads without a conversion, exactly enough.
_OF_NUMPY = (torch.float32, torch.float64)

#: Numbers in float64 that another device works on at a time: half a GiB, so that few operations
#: have to be started for each.
AT_A_TIME_ON_DEVICE = 2**26


#: Largest feature of each token, and which it is.
Largest: TypeAlias = tuple[Tensor, Tensor]

#: Where the vectors of some tokens of one prompt stand in a portion; which prompt, which tokens.
Part: TypeAlias = tuple[slice, tuple[int, slice]]


def grams(
    vectors: Sequence[Tensor], n_tokens: Sequence[int], known: Tensor | None = None
) -> Tensor:
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
    known
        What this has returned of the first of the vectors, alone or before others, on whatever
        device; None where it was not asked.

    Returns
    -------
    (sum of n_tokens, k + 1, k + 1) in float64, prompt after prompt; row and column 0 belong to
    the vector of ones.
    """
    if on_processor(vectors[0]):
        return _grams_on_processor(vectors, n_tokens, known)
    first, n_rows = vectors[0], 1 + len(vectors)
    at_a_time = _n_at_a_time(first, n_rows)
    x64 = first.new_empty((n_rows, at_a_time, first.shape[-1]), dtype=torch.float64)
    x64[0] = 1
    products = first.new_empty((sum(n_tokens), n_rows, n_rows), dtype=torch.float64)
    done = 0
    unpadded = [_unpad(of, n_tokens).split(at_a_time) for of in vectors]
    for pieces in zip(*unpadded, strict=True):
        n = len(pieces[0])
        rows = x64[:, :n]
        for row, piece in enumerate(pieces, start=1):
            rows[row].copy_(piece)
        of_token = rows.transpose(0, 1)
        torch.bmm(of_token, of_token.transpose(1, 2), out=products[done : done + n])
        done += n
    return products


def grams_and_largest(
    vectors: Sequence[Tensor], n_tokens: Sequence[int], row: int, known: Tensor | None = None
) -> tuple[Tensor, Largest]:
    """Return `grams`, and `largest_features` of one of the vectors, which is read once for both."""
    if not on_processor(vectors[0]):
        return grams(vectors, n_tokens), largest_features(vectors[row - 1], n_tokens)
    at_a_time = _n_at_a_time(vectors[0], len(vectors))
    largest = _LargestFeatures(vectors[row - 1], n_tokens, at_a_time)
    products = _grams_on_processor(vectors, n_tokens, known, largest.add)
    return products, largest.result()


@np.errstate(invalid="ignore", over="ignore")
def _grams_on_processor(
    vectors: Sequence[Tensor],
    n_tokens: Sequence[int],
    known: Tensor | None,
    see: Callable[[slice, Sequence[Part]], None] | None = None,
) -> Tensor:
    """Return `grams` on a processor; ``see`` is told each portion of tokens when it was read.

    Few enough tokens are taken at a time that their numbers stay in its cache, those of a token
    side by side.
    """
    n_vectors, n_features = len(vectors), vectors[0].shape[-1]
    n_known = 0 if known is None else 1
    x64 = np.empty((_n_at_a_time(vectors[0], n_vectors), n_vectors, n_features))
    ones = np.ones(n_features)
    products = np.empty((n_vectors + 1, n_vectors + 1, sum(n_tokens)))
    of_token = products.transpose(2, 0, 1)
    readers = [_reader(of) for of in vectors]
    for here, parts in _portions(tuple(n_tokens), len(x64)):
        rows = x64[: here.stop - here.start]
        for row, read in enumerate(readers):
            for place, tokens in parts:
                rows[place, row] = read(tokens)
        dots(rows[:, n_known:], ones, of_token[here, n_known + 1 :, 0])
        for row in range(n_known, n_vectors):
            dots(rows[:, : row + 1], rows[:, row, None], of_token[here, row + 1, 1 : row + 2])
        if see is not None:
            see(here, parts)
    if known is not None:
        products[:2, :2] = known[:, :2, :2].permute(1, 2, 0).cpu().numpy()
    products[0, 0] = n_features
    for row in range(1, n_vectors + 1):
        products[:row, row] = products[row, :row]
    return torch.from_numpy(products).permute(2, 0, 1)


class _LargestFeatures:
    """Finds `largest_features` on a processor, at most so many tokens at a time."""

    def __init__(self, states: Tensor, n_tokens: Sequence[int], at_a_time: int) -> None:
        n_features = states.shape[-1]
        self._read = _reader(states)
        self._sizes = np.empty(sum(n_tokens))
        self._features = np.zeros(sum(n_tokens), dtype=np.int64)
        number_format = np.float64 if states.dtype == torch.float64 else np.float32
        self._size = np.empty((at_a_time, n_features), number_format)
        self._starts = np.arange(at_a_time) * n_features

    def add(self, here: slice, parts: Sequence[Part]) -> None:
        """Find those of a portion of tokens, which are at ``here`` among all."""
        size, features = self._size[: here.stop - here.start], self._features[here]
        for place, tokens in parts:
            np.abs(self._read(tokens), out=size[place])
        size.argmax(-1, out=features)
        self._sizes[here] = size.ravel().take(self._starts[: len(size)] + features)

    def result(self) -> Largest:
        """Return those of all tokens."""
        return torch.from_numpy(self._sizes), torch.from_numpy(self._features)


def _slices(n: int, at_a_time: int) -> Iterator[slice]:
    """Yield slices of about one length that make up n places."""
    n_slices = -(-n // at_a_time)
    for number in range(n_slices):
        yield slice(n * number // n_slices, n * (number + 1) // n_slices)


def dots(rows: NDArray[Any], others: NDArray[Any], out: NDArray[Any] | None = None) -> NDArray[Any]:
    """Return the inner products of some vectors with others, the same with any number of threads.

    Parameters
    ----------
    rows, others
        (..., d) in float64, of shapes that can be broadcast.
    out
        (...) in float64, to be filled in, if given.
    """
    n_features = rows.shape[-1]
    if n_features <= _FEATURES_AT_A_TIME:
        products: NDArray[Any] = np.vecdot(rows, others, out=out)
        return products
    parts = _slices(n_features, _FEATURES_AT_A_TIME)
    products = np.stack([np.vecdot(rows[..., few], others[..., few]) for few in parts])
    return products.sum(0, out=out)


@lru_cache(maxsize=8)
def _portions(n_tokens: tuple[int, ...], at_a_time: int) -> list[tuple[slice, list[Part]]]:
    """Return portions of at most so many tokens, of one prompt or several.

    Each is its place among all tokens, prompts laid end to end, and the parts of prompts in it.
    """
    starts = [0, *accumulate(n_tokens)]
    portions = []
    for here in _slices(starts[-1], at_a_time):
        parts = []
        for prompt, (start, stop) in enumerate(pairwise(starts)):
            first, end = max(here.start, start), min(here.stop, stop)
            if first < end:
                place = slice(first - here.start, end - here.start)
                parts.append((place, (prompt, slice(first - start, end - start))))
        portions.append((here, parts))
    return portions


def _reader(states: Tensor) -> Callable[[tuple[int, slice]], NDArray[Any]]:
    """Return what gives the vectors (n, d) of some tokens of a prompt, a view where it can be."""
    if states.dtype in _OF_NUMPY:
        array: NDArray[Any] = states.numpy()
        return array.__getitem__
    return lambda tokens: states[tokens].float().numpy()


def _n_at_a_time(states: Tensor, n_rows: int = 1) -> int:
    """Return how many tokens, of so many vectors each, are worked on at a time."""
    numbers = _AT_A_TIME if on_processor(states) else AT_A_TIME_ON_DEVICE
    n_tokens = states.shape[0] * states.shape[1]
    return min(max(1, numbers // (n_rows * states.shape[-1])), n_tokens)


def _unpad(states: Tensor, n_tokens: Sequence[int]) -> Tensor:
    """Return the vectors (sum of n_tokens, d) of all tokens, prompt after prompt."""
    places = _token_places(tuple(n_tokens), states.shape[1], states.device)
    return states.flatten(0, 1).index_select(0, places)


@lru_cache(maxsize=2)
def _token_places(n_tokens: tuple[int, ...], width: int, device: torch.device) -> Tensor:
    """Return where the tokens of each prompt are in a batch as wide, padding left out."""
    tokens = [torch.arange(n) + prompt * width for prompt, n in enumerate(n_tokens)]
    return torch.cat(tokens).to(device)


@lru_cache(maxsize=2)
def last_places(n_tokens: tuple[int, ...], width: int, device: torch.device) -> Tensor:
    """Return where the last token of each prompt is in a batch as wide, prompts laid end to end."""
    return torch.tensor([p * width + n - 1 for p, n in enumerate(n_tokens)], device=device)


def stacked(tensors: Sequence[Tensor]) -> Tensor:
    """Return tensors of one shape stacked, on the device of the first; they may be on several."""
    device = tensors[0].device
    return torch.stack([tensor.to(device) for tensor in tensors])


def stacked_products(products: Sequence[Tensor]) -> Tensor:
    """Return what `grams` gave of several places stacked, each product of all tokens in one piece.

    That is how they lie on a processor, and how they are read quickest.
    """
    return stacked([of_place.permute(1, 2, 0) for of_place in products]).permute(0, 3, 1, 2)


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
    with_all = products[..., row] - products[..., less]
    length = with_all[..., row] - with_all[..., less]
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


@np.errstate(invalid="ignore", over="ignore")
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
    if not on_processor(states):
        few = _unpad(states, n_tokens).split(_n_at_a_time(states))
        return torch.cat([torch.linalg.vector_norm(of.double(), dim=-1) for of in few])
    x64 = np.empty((_n_at_a_time(states), states.shape[-1]))
    squares, read = np.empty(sum(n_tokens)), _reader(states)
    for here, parts in _portions(tuple(n_tokens), len(x64)):
        rows = x64[: here.stop - here.start]
        for place, tokens in parts:
            rows[place] = read(tokens)
        dots(rows, rows, squares[here])
    return torch.from_numpy(np.sqrt(squares))


def largest_features(states: Tensor, n_tokens: Sequence[int]) -> Largest:
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
    sizes = _unpad(states, n_tokens).abs()
    feature = sizes.argmax(-1)
    return sizes.gather(-1, feature[:, None])[:, 0].double(), feature
