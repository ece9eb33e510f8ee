"""Products with the inverse covariance H^-1 = V^-1 sigma^2, without a matrix over rows.

With Z1 eliminated (H1 = Z1 Lambda1 Lambda1' Z1' + I) and K = Lambda2 A2^-1 Lambda2',
the Woodbury identity gives H^-1 = H1^-1 - H1^-1 Z2 K Z2' H1^-1. Satterthwaite's and
Kenward and Roger's degrees of freedom need Z'H^-1 Z and Z'H^-1 X only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.mixed.algebra.crossproducts import CrossProducts
from analysis.mixed.algebra.design import Block
from analysis.mixed.algebra.deviance import Profile
from analysis.mixed.algebra.estimates import later_kernel
from analysis.tidy.frame import Floats


@dataclass(frozen=True, slots=True)
class Information:
    """Products with H^-1 at a theta, in the internal design.

    Attributes
    ----------
    blocks
        Random effects, Z1 first.
    within
        Z1'H1^-1 Z1 per level, shape (L, k, k).
    outward
        Z1'H1^-1 Z2 per level, shape (L, k, q).
    kernel
        K, shape (q, q).
    first_later
        Z1'H^-1 Z2 per level, shape (L, k, q).
    later
        Z2'H^-1 Z2, shape (q, q).
    first_fixed
        Z1'H^-1 X per level, shape (L, k, p).
    later_fixed
        Z2'H^-1 X, shape (q, p).
    fixed
        X'H^-1 X, shape (p, p).
    """

    blocks: tuple[Block, ...]
    within: Floats
    outward: Floats
    kernel: Floats
    first_later: Floats
    later: Floats
    first_fixed: Floats
    later_fixed: Floats
    fixed: Floats

    def fixed_products(self, place: int) -> Floats:
        """Return Z'H^-1 X of a block per level, shape (L, k, p)."""
        if place == 0:
            return self.first_fixed
        block = self.blocks[place]
        return self.later_fixed[self.rows(place)].reshape(len(block.levels), block.width, -1)

    def rows(self, place: int) -> slice:
        """Return the rows of Z2 that belong to a later block."""
        sizes = [len(block.levels) * block.width for block in self.blocks[1:]]
        start = sum(sizes[: place - 1])
        return slice(start, start + sizes[place - 1])


def information(cross: CrossProducts, solution: Profile) -> Information:
    """Return the products with H^-1 at a profile's theta."""
    q, p = cross.n_random, cross.n_fixed
    diagonal, first_kernel = cross.diagonal, solution.eliminated.kernel
    remaining = np.eye(diagonal.shape[-1]) - diagonal @ first_kernel
    outward = remaining @ cross.cross[:, :, : q + p]
    reduced, kernel = solution.eliminated.reduced, later_kernel(cross, solution)
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
