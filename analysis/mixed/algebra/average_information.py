r"""The average information: a Hessian of the profiled deviance that costs two solves, no inverse.

Of the deviance's second derivative by two parameters of the covariance V, one part is a trace that
costs as much as the gradient for each pair. The mean of the observed and the expected information
has none (Gilmour, Thompson and Cullis 1995, Biometrics 51): with P as in REML,

.. math:: y' P V_i P V_j P y = t_i' P t_j, \quad t_i = V_i P y.

Here t_i = Z_b a_i, where a_i is dS_b (Z_b' H^-1 e) level by level, S_b = Lambda_b Lambda_b', so
that all of it follows from the cross-products. The residual variance is profiled out as a
parameter of its own, with t_0 = e. It is positive semidefinite everywhere, and near the optimum
off by a share of about one over the root of the number of levels.
"""

from __future__ import annotations

import numpy as np

from analysis.mixed.algebra.crossproducts import CrossProducts
from analysis.mixed.algebra.design import Block, block_rows
from analysis.mixed.algebra.deviance import Profile, relative_factors, scaled_rows, solve_lower
from analysis.tidy.frame import Floats


def average_information(cross: CrossProducts, solution: Profile) -> Floats:
    """Return the average information of the deviance by theta, (m, m), at a solution."""
    first, later = cross.blocks[0], cross.blocks[1:]
    factors, eliminated = relative_factors(cross.blocks, solution.theta), solution.eliminated
    q, n_levels = cross.n_random, len(first.levels)
    effects = _unscale(solution.modes, later, factors[1:])
    direction = np.concatenate([-effects, -solution.coefficients, [1.0]])
    of_level = (n_levels, first.width, -1)
    met = (cross.flat @ direction).reshape(of_level)
    modes = eliminated.kernel @ met
    residual_first = met - cross.diagonal @ modes
    residual_later = (cross.among @ direction - cross.flat.T @ modes.ravel())[:q]
    changes_first, changes_later = _changes(cross, factors, residual_first, residual_later)
    with_others = np.zeros((cross.size, changes_later.shape[1]))
    with_others[:q] = changes_later
    into_first = cross.diagonal @ changes_first.reshape(of_level)
    into_first += (cross.flat @ with_others).reshape(of_level)
    into_rest = cross.flat.T @ changes_first + cross.among @ with_others
    inner = changes_first.T @ into_first.reshape(len(changes_first), -1)
    inner += changes_later.T @ into_rest[:q]
    right = factors[0].T @ into_first
    solved = eliminated.inverse[eliminated.codes] @ right
    inner -= np.einsum("lki,lkj->ij", right, solved)
    through = (factors[0] @ solved).reshape(len(changes_first), -1)
    reduced = scaled_rows((into_rest - cross.flat.T @ through)[:-1], later, factors[1:])
    half = solve_lower(solution.root, reduced)
    inner -= half.T @ half
    along = changes_first.T @ residual_first.ravel() + changes_later.T @ residual_later
    variance = solution.variance
    return np.asarray(inner / variance - np.outer(along, along) / (solution.df * variance**2))


def _changes(
    cross: CrossProducts, factors: list[Floats], of_first: Floats, of_later: Floats
) -> tuple[Floats, Floats]:
    """Return a_i for every parameter: of the first block (L k, m), of the later ones (q, m)."""
    blocks = cross.blocks
    count = sum(len(block.positions) for block in blocks)
    first, later = np.zeros((of_first.size, count)), np.zeros((len(of_later), count))
    parts = [(first, slice(None)), *((later, rows) for rows in block_rows(blocks[1:]))]
    residuals = [of_first.ravel(), *(of_later[rows] for _, rows in parts[1:])]
    place = 0
    for block, factor, (into, rows), residual in zip(
        blocks, factors, parts, residuals, strict=True
    ):
        for derivative in _derivatives(block, factor):
            by_level = residual.reshape(-1, block.width)
            into[rows, place] = (by_level @ derivative).ravel()
            place += 1
    return first, later


def _derivatives(block: Block, factor: Floats) -> list[Floats]:
    """Return the derivative of S = Lambda Lambda' by every parameter of a block, (k, k) each."""
    derivatives = []
    for row, column in block.positions:
        one = np.zeros_like(factor)
        one[row] = factor[:, column]
        derivatives.append(one + one.T)
    return derivatives


def _unscale(modes: Floats, blocks: tuple[Block, ...], factors: list[Floats]) -> Floats:
    """Return b = Lambda u of the later blocks."""
    return scaled_rows(modes[:, None], blocks, [factor.T for factor in factors])[:, 0]
