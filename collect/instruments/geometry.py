"""How a set of vectors lies in space: alignment, spread over the sphere, rank.

Everything is float64, and none of it depends on the order of the vectors. None stands for what
is not defined, which it never is when an entry is not finite.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from collect.instruments.transfer import on_processor

#: Vectors whose cosines with all others are held at a time.
_ROWS = 256

#: Factor t on the squared distance in `uniformity`, as Wang and Isola choose it.
_SHARPNESS = 2.0


@dataclass(frozen=True, slots=True)
class Geometry:
    """`mean_cosine` of all vectors and of all but the first, `uniformity`, `effective_rank`."""

    mean_cosine: float | None
    mean_cosine_body: float | None
    uniformity: float | None
    effective_rank: float | None


def geometry(vectors: Tensor) -> Geometry:
    """Return how vectors lie to each other.

    Parameters
    ----------
    vectors
        (n, d), any floating type.
    """
    return of_sums(len(vectors), sums(vectors[None], [len(vectors)])[0].tolist())


def sums(vectors: Tensor, n_vectors: Sequence[int]) -> Tensor:
    """Return what the geometry of each of some sets of vectors is made of, read by `of_sums`.

    Nothing is read from the device where the vectors lie.

    Parameters
    ----------
    vectors
        (n_sets, n, d), any floating type.
    n_vectors
        How many of each set count, at most n.

    Returns
    -------
    (n_sets, 4) in float64: |sum u|^2 of all directions u and of all but the first, the sum over
    all pairs of their closeness, and the entropy of the normalised singular values; NaN where
    one is not defined.
    """
    unpadded = [of_set[:n].double() for of_set, n in zip(vectors, n_vectors, strict=True)]
    products = [_smaller_gram(wide) for wide in unpadded]
    by_set = []
    for wide, gram in zip(unpadded, products, strict=True):
        if len(gram) == len(wide):
            by_set.append(_of_cosines(_cosines(gram)))
            continue
        units = directions(wide)  # of so many vectors that the cosines are not held
        of_units = [_in_common(units), _in_common(units[1:]), _total_closeness(units)]
        by_set.append(torch.stack(of_units))
    return torch.cat([torch.stack(by_set), _rank_entropies(products)[:, None]], dim=1)


def _cosines(gram: Tensor) -> Tensor:
    """Return the cosines between vectors from their Gram matrix."""
    lengths = gram.diagonal().sqrt()
    cosines: Tensor = (gram / lengths).div_(lengths[:, None])
    return cosines


def _of_cosines(cosines: Tensor) -> Tensor:
    """Return the first three of `sums` for vectors of which all cosines are held."""
    in_common_body = cosines[1:, 1:].sum()
    return torch.stack([cosines.sum(), in_common_body, _closeness(cosines).sum()])


def of_sums(n: int, numbers: Sequence[float]) -> Geometry:
    """Return the geometry of n vectors from their row of `sums`."""
    in_common, in_common_body, closeness, entropy = numbers
    return Geometry(
        mean_cosine=_mean_cosine(in_common, n),
        mean_cosine_body=_mean_cosine(in_common_body, n - 1),
        uniformity=_uniformity(closeness, n),
        effective_rank=_defined(math.exp(entropy)),
    )


def directions(vectors: Tensor) -> Tensor:
    """Return the vectors (n, d) scaled to length 1 in float64; a zero vector becomes NaN."""
    wide = vectors.double()
    units: Tensor = wide / torch.linalg.vector_norm(wide, dim=-1, keepdim=True)
    return units


def _in_common(units: Tensor) -> Tensor:
    return units.sum(0).square().sum()


def _mean_cosine(in_common: float, n: int) -> float | None:
    return None if n < 2 else _defined((in_common - n) / (n * (n - 1)))


def _total_closeness(units: Tensor) -> Tensor:
    total = units.new_zeros(())
    for rows in units.split(_ROWS):
        total = total + _closeness(rows @ units.T).sum()
    return total


def _uniformity(closeness: float, n: int) -> float | None:
    return None if n < 2 else _defined(math.log((closeness - n) / (n * (n - 1))))


def _closeness(cosines: Tensor) -> Tensor:
    """Return exp(-t |u_i - u_j|^2) of unit vectors, by |u_i - u_j|^2 = 2 - 2 cosine."""
    return torch.exp(2 * _SHARPNESS * (cosines - 1))


def _smaller_gram(wide: Tensor) -> Tensor:
    shorter = wide if wide.shape[0] <= wide.shape[1] else wide.T
    return shorter @ shorter.T


def _rank_entropies(products: Sequence[Tensor]) -> Tensor:
    """Return the entropies of the normalised singular values behind some Gram matrices.

    The processor takes the matrices one by one; a device takes all at once, each with zeros
    around it, which add singular values of 0. NaN where an entry is not finite or all are 0.
    """
    if on_processor(products[0]):
        return torch.cat([_rank_entropy(of_set[None]) for of_set in products])
    size = max(len(of_set) for of_set in products)
    together = products[0].new_zeros((len(products), size, size))
    for around, of_set in zip(together, products, strict=True):
        around[: len(of_set), : len(of_set)] = of_set
    return _rank_entropy(together)


def _rank_entropy(products: Tensor) -> Tensor:
    is_finite = products.isfinite().all(-1).all(-1)
    eigenvalues = torch.linalg.eigvalsh(products.where(is_finite[:, None, None], 0.0))
    singular_values = eigenvalues.clamp_min(0).sqrt()
    shares = singular_values / singular_values.sum(-1, keepdim=True)
    entropies: Tensor = torch.special.entr(shares).sum(-1)
    return entropies.where(is_finite, torch.nan)


def _defined(number: float) -> float | None:
    return None if math.isnan(number) else number
