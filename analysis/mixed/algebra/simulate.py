"""Draw the sums of a new response from their exact distribution.

Under the model y = X beta + Z b + e the cross-products of y are Gram products of beta and b
plus those of e, and the cross-products of e with the columns are normal with the Gram matrix
as covariance. Nothing is drawn per row, and nothing is approximated:
e'e given the rest is sigma^2 chi-squared on the remaining degrees of freedom.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from analysis.mixed.algebra.crossproducts import CrossProducts
from analysis.mixed.algebra.deviance import Profile, relative_factors, scaled_rows
from analysis.tidy.frame import Floats

#: Eigenvalues of a Gram matrix below this share of the largest are zero.
NULL = 1e-12

#: The same for what the first group leaves of the other columns.
REST_NULL = 1e-10

#: Columns whose sizes are within this factor are alike.
ALIKE = 1e3


@dataclass(frozen=True, slots=True)
class Simulator:
    """Sampler from a fitted model."""

    cross: CrossProducts  #: The cross-products of the fit.
    solution: Profile  #: The solution to draw from.
    first_root: Floats  #: Square root of Z1'Z1 per level, shape (L, k, k).
    regression: Floats  #: (Z1'Z1)^+ Z1'[Z2 | X] per level, shape (L, k, q + p).
    rest_root: Floats  #: Square root of the rest's Gram matrix given Z1, shape (q + p, q + p).
    n_free: int  #: Rows less the rank of [Z1 | Z2 | X].

    def draw(self, rng: np.random.Generator) -> CrossProducts:
        """Return the cross-products with a new response."""
        cross, solution = self.cross, self.solution
        sigma = np.sqrt(solution.variance)
        shape = self.first_root.shape[:2]
        normal, other = rng.standard_normal(shape), rng.standard_normal(len(self.rest_root))
        first_noise = sigma * np.einsum("lij,lj->li", self.first_root, normal)
        rest_noise = sigma * (self.rest_root @ other)
        rest_noise += np.einsum("lir,li->r", self.regression, first_noise)
        free = rng.chisquare(self.n_free) if self.n_free else 0.0
        # E'e of the part of e in the span of the columns, over the variance. The roots have a
        # column of zeros for every direction that is not spanned.
        in_first = (self.first_root != 0).any(axis=1)
        in_rest = (self.rest_root != 0).any(axis=0)
        used = float((normal[in_first] ** 2).sum() + (other[in_rest] ** 2).sum())
        noise = solution.variance * (used + free)
        first, later = self._effects(rng, sigma)
        dense = np.concatenate([later, solution.coefficients])
        columns = cross.cross[:, :, :-1]
        first_mean = np.einsum("lij,lj->li", cross.diagonal, first) + columns @ dense
        rest_mean = cross.rest[:-1, :-1] @ dense + np.einsum("lir,li->r", columns, first)
        square = (first * (first_mean + 2 * first_noise)).sum()
        square += dense @ (rest_mean + 2 * rest_noise) + noise
        return replace_response(cross, first_mean + first_noise, rest_mean + rest_noise, square)

    def _effects(self, rng: np.random.Generator, sigma: float) -> tuple[Floats, Floats]:
        """Return new random effects of the first block, (L, k), and of the others, (q,)."""
        factors = relative_factors(self.cross.blocks, self.solution.theta)
        shape = self.first_root.shape[:2]
        first = sigma * rng.standard_normal(shape) @ factors[0].T
        spherical = sigma * rng.standard_normal((self.cross.n_random, 1))
        later = scaled_rows(spherical, self.cross.blocks[1:], [f.T for f in factors[1:]])
        return first, later[:, 0]


def simulator(cross: CrossProducts, solution: Profile) -> Simulator:
    """Return a sampler from a fitted model."""
    first, rest = cross.diagonal, cross.rest[:-1, :-1]
    units = _units(np.sqrt(np.einsum("lkk->k", first)))
    values, vectors = np.linalg.eigh(first / np.outer(units, units))
    spanned = values > NULL * values.max()
    inverse = np.where(spanned, 1 / np.where(spanned, values, 1.0), 0.0)
    columns = cross.cross[:, :, :-1]
    half = vectors * inverse[:, None, :]
    regression = half @ vectors.transpose(0, 2, 1) @ (columns / units[:, None]) / units[:, None]
    remaining = rest - np.einsum("lir,lis->rs", columns, regression)
    rest_units = _units(np.sqrt(np.diag(rest)))
    scale = np.outer(rest_units, rest_units)
    rest_values, rest_vectors = np.linalg.eigh(remaining / scale)
    rest_spanned = rest_values > REST_NULL * np.diag(rest / scale).max(initial=0.0)
    return Simulator(
        cross=cross,
        solution=solution,
        first_root=units[:, None] * vectors * _roots(values, spanned)[:, None, :],
        regression=regression,
        rest_root=rest_units[:, None]
        * rest_vectors
        * np.sqrt(np.where(rest_spanned, rest_values, 0.0)),
        n_free=cross.n_obs - int(spanned.sum()) - int(rest_spanned.sum()),
    )


def _roots(values: Floats, spanned: NDArray[np.bool_]) -> Floats:
    """Return the square roots of eigenvalues, zero where nothing is spanned."""
    return np.sqrt(np.where(spanned, values, 0.0))


def _units(sizes: Floats) -> Floats:
    """Return units in which columns are alike, so that a small one is not lost beside a large one.

    Columns that are alike already keep theirs: other units draw other responses from a seed.
    """
    entered = sizes[sizes > 0]
    if not len(entered) or entered.max() <= ALIKE * entered.min():
        return np.ones(len(sizes))
    return np.where(sizes > 0, sizes, 1.0)


def replace_response(
    cross: CrossProducts, first: Floats, rest: Floats, square: float
) -> CrossProducts:
    """Return cross-products with another response: Z1'y (L, k), [Z2 | X]'y and y'y."""
    changed = cross.rest.copy()
    changed[:-1, -1] = changed[-1, :-1] = rest
    changed[-1, -1] = square
    across = cross.cross.copy()
    across[:, :, -1] = first
    return replace(cross, flat=across.reshape(cross.flat.shape), among=changed)
