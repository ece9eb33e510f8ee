"""Conditional modes at a theta, and products with the inverse covariance H^-1 = V^-1 sigma^2.

No matrix is over rows. With Z1 eliminated (H1 = Z1 Lambda1 Lambda1' Z1' + I) and
K = Lambda2 A2^-1 Lambda2', the Woodbury identity gives H^-1 = H1^-1 - H1^-1 Z2 K Z2' H1^-1.
Satterthwaite's and Kenward and Roger's degrees of freedom need Z'H^-1 Z and Z'H^-1 X only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve

from analysis.mixed.algebra.crossproducts import CrossProducts
from analysis.mixed.algebra.design import Block, block_rows
from analysis.mixed.algebra.deviance import Profile, reduce, relative_factors, scaled_rows
from analysis.tidy.frame import Floats


@dataclass(frozen=True, slots=True)
class Modes:
    """Conditional modes of one grouping factor."""

    block: Block  #: The grouping factor.
    effects: Floats  #: Modes of the L levels, shape (L, k).
    #: Conditional standard deviations, theta and the fixed effects held, shape (L, k).
    std_errors: Floats
    covariance: Floats  #: Estimated covariance of the effects, shape (k, k).


def fixed_covariance(cross: CrossProducts, solution: Profile) -> Floats:
    """Return the covariance of the fixed effects at theta, (p, p) (Bates et al. 2015, 28 to 30)."""
    q = cross.n_random
    inner = cho_solve((solution.root[q:, q:], True), np.eye(cross.n_fixed))
    return np.asarray(solution.variance * cross.centring @ inner @ cross.centring.T)


def covariances(cross: CrossProducts, solution: Profile) -> list[tuple[Block, Floats]]:
    """Return the estimated covariance of the effects of every grouping factor, (k, k)."""
    factors = relative_factors(cross.blocks, solution.theta)
    scaled = [solution.variance * factor @ factor.T for factor in factors]
    return list(zip(cross.blocks, scaled, strict=True))


def conditional_modes(cross: CrossProducts, solution: Profile) -> tuple[Modes, ...]:
    """Return the random effects by grouping factor (Bates et al. 2015, equation 31)."""
    factors = relative_factors(cross.blocks, solution.theta)
    later = scaled_rows(
        solution.modes[:, None], cross.blocks[1:], [factor.T for factor in factors[1:]]
    )[:, 0]
    kernel = later_kernel(cross, solution)
    parts = [
        _first_modes(cross, solution, later, kernel),
        *_later_modes(cross, later, np.diag(kernel)),
    ]
    return tuple(
        Modes(block, values, np.sqrt(solution.variance * spread), covariance)
        for (values, spread), (block, covariance) in zip(
            parts, covariances(cross, solution), strict=True
        )
    )


def later_kernel(cross: CrossProducts, solution: Profile) -> Floats:
    """Return K = Lambda2 A2^-1 Lambda2', the conditional covariance of u2 over variance."""
    q = cross.n_random
    if q == 0:
        return np.zeros((0, 0))
    inverse = cho_solve((solution.root[:q, :q], True), np.eye(q))
    factors = [factor.T for factor in relative_factors(cross.blocks, solution.theta)[1:]]
    half = scaled_rows(inverse, cross.blocks[1:], factors)
    return scaled_rows(half.T, cross.blocks[1:], factors)


def _first_modes(
    cross: CrossProducts, solution: Profile, later: Floats, later_spread: Floats
) -> tuple[Floats, Floats]:
    """Return b1 = B (Z1'y - Z1'Z2 b2 - Z1'X beta) of every level, and its variance over sigma^2."""
    kernel, q = solution.eliminated.kernel, cross.n_random
    direction = np.concatenate([-later, -solution.coefficients, [1.0]])
    values, spread = np.empty(kernel.shape[:2]), np.einsum("lii->li", kernel).copy()
    for few, columns in cross.level_portions():
        values[few] = np.einsum("lij,ljr,r->li", kernel[few], columns, direction, optimize=True)
        through = kernel[few] @ columns[:, :, :q]
        flat = through.reshape(through.shape[0] * through.shape[1], q)
        half = (flat @ later_spread).reshape(through.shape)
        spread[few] += np.einsum("lir,lir->li", half, through)
    return values, spread


def _later_modes(
    cross: CrossProducts, later: Floats, spread: Floats
) -> Iterator[tuple[Floats, Floats]]:
    """Yield the same of every later block."""
    for block, rows in zip(cross.blocks[1:], block_rows(cross.blocks[1:]), strict=True):
        shape = (len(block.levels), block.width)
        yield later[rows].reshape(shape), spread[rows].reshape(shape)


@dataclass(frozen=True, slots=True)
class Information:
    """Products with H^-1 at a theta, in the internal design."""

    blocks: tuple[Block, ...]  #: Random effects, Z1 first.
    within: Floats  #: Z1'H1^-1 Z1 per level, shape (L, k, k).
    outward: Floats  #: Z1'H1^-1 Z2 per level, shape (L, k, q).
    kernel: Floats  #: K, shape (q, q).
    first_later: Floats  #: Z1'H^-1 Z2 per level, shape (L, k, q).
    later: Floats  #: Z2'H^-1 Z2, shape (q, q).
    first_fixed: Floats  #: Z1'H^-1 X per level, shape (L, k, p).
    later_fixed: Floats  #: Z2'H^-1 X, shape (q, p).
    fixed: Floats  #: X'H^-1 X, shape (p, p).

    def fixed_products(self, place: int) -> Floats:
        """Return Z'H^-1 X of a block per level, shape (L, k, p)."""
        if place == 0:
            return self.first_fixed
        block = self.blocks[place]
        return self.later_fixed[self.rows(place)].reshape(len(block.levels), block.width, -1)

    def rows(self, place: int) -> slice:
        """Return the rows of Z2 that belong to a later block."""
        return list(block_rows(self.blocks[1:]))[place - 1]


def information(cross: CrossProducts, solution: Profile) -> Information:
    """Return the products with H^-1 at a profile's theta."""
    q, p = cross.n_random, cross.n_fixed
    diagonal, first_kernel = cross.diagonal, solution.eliminated.kernel
    remaining = np.eye(diagonal.shape[-1]) - diagonal @ first_kernel
    outward = remaining @ cross.cross[:, :, : q + p]
    reduced, kernel = reduce(cross, solution.eliminated), later_kernel(cross, solution)
    among, across = reduced[:q, :q], reduced[:q, q : q + p]
    to_later, to_fixed = outward[:, :, :q], outward[:, :, q:]
    root = solution.root[q:, q:]
    return Information(
        blocks=cross.blocks,
        within=remaining @ diagonal,
        outward=to_later,
        kernel=kernel,
        first_later=to_later - to_later @ (kernel @ among),
        later=among - among @ kernel @ among,
        first_fixed=to_fixed - to_later @ (kernel @ across),
        later_fixed=across - among @ (kernel @ across),
        fixed=root @ root.T,
    )
