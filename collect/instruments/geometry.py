"""How a set of vectors lies in space: alignment, spread over the sphere, rank.

Everything is float64, and none of it depends on the order of the vectors. None stands for what
is not defined, which it never is when an entry is not finite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

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
    wide = vectors.double()
    units = directions(wide)
    return Geometry(
        mean_cosine=mean_cosine(units),
        mean_cosine_body=mean_cosine(units[1:]),
        uniformity=uniformity(units),
        effective_rank=effective_rank(wide),
    )


def directions(vectors: Tensor) -> Tensor:
    """Return the vectors (n, d) scaled to length 1 in float64; a zero vector becomes NaN."""
    wide = vectors.double()
    units: Tensor = wide / torch.linalg.vector_norm(wide, dim=-1, keepdim=True)
    return units


def mean_cosine(units: Tensor) -> float | None:
    """Return the mean cosine over pairs of different vectors, (|sum u|^2 - n) / (n (n - 1)).

    No matrix of pairs is formed.

    Parameters
    ----------
    units
        (n, d), from `directions`.

    Returns
    -------
    None for fewer than two vectors, and where one has no direction.
    """
    n = len(units)
    if n < 2:
        return None
    in_common = float(units.sum(0).square().sum())
    return _defined((in_common - n) / (n * (n - 1)))


def uniformity(units: Tensor) -> float | None:
    """Return ln of the mean over pairs of different vectors of exp(-2 |u_i - u_j|^2) [nat].

    0 when all point the same way, -8 for two opposite vectors; the lower, the more evenly they
    cover the sphere. Wang and Isola (2020), Understanding contrastive representation learning
    through alignment and uniformity on the hypersphere, with t = 2.

    Parameters
    ----------
    units
        (n, d), from `directions`.

    Returns
    -------
    None for fewer than two vectors, and where one has no direction.
    """
    n = len(units)
    if n < 2:
        return None
    total = sum(float(_closeness(rows @ units.T).sum()) for rows in units.split(_ROWS))
    return _defined(math.log((total - n) / (n * (n - 1))))


def _closeness(cosines: Tensor) -> Tensor:
    """Return exp(-t |u_i - u_j|^2) of unit vectors, by |u_i - u_j|^2 = 2 - 2 cosine."""
    return torch.exp(2 * _SHARPNESS * (cosines - 1))


def effective_rank(vectors: Tensor) -> float | None:
    """Return exp of the entropy of the normalised singular values of the matrix of vectors.

    Between 1 (all on one line) and min(n, d) (orthogonal and of one length). Roy and Vetterli
    (2007), The effective rank: a measure of effective dimensionality. Singular values are the
    roots of the eigenvalues of the smaller Gram matrix, so that those below 1e-8 of the largest
    are noise.

    Parameters
    ----------
    vectors
        (n, d), neither centred nor scaled.

    Returns
    -------
    None where all vectors are zero.
    """
    wide = vectors.double()
    shorter = wide if wide.shape[0] <= wide.shape[1] else wide.T
    products = shorter @ shorter.T
    if not bool(products.isfinite().all()):
        return None
    singular_values = torch.linalg.eigvalsh(products).clamp_min(0).sqrt()
    total = singular_values.sum()
    if not total > 0:
        return None
    return math.exp(float(torch.special.entr(singular_values / total).sum()))


def _defined(number: float) -> float | None:
    return None if math.isnan(number) else number
