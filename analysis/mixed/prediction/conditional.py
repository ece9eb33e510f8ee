"""The error of x'b^ + z'u^ at new rows: its variance, and the gradient for Satterthwaite's df.

The variance is sigma^2 times the quadratic form of (x, z) in the inverse of Henderson's
mixed-model equations (Henderson 1975, Biometrics 31, 423), theta held. The predictor c'y has the
smallest variance among the unbiased, so that c can be held in the gradient: with e = z - Z'c, the
derivative is sigma^2 e' dS e, S the relative covariance of the random effects. A level that was not
fitted adds z'Sz.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from analysis.mixed.algebra.deviance import relative_factors, scaled_rows
from analysis.mixed.algebra.optimise import natural_scale
from analysis.mixed.inference.fitted import Fitted
from analysis.mixed.prediction.known_levels import KnownEffects
from analysis.tidy.frame import Floats, Integers

#: Rows whose columns are written out at a time.
BATCH = 2000


def error_variances(model: Fitted, design: Floats, known: KnownEffects) -> tuple[Floats, Floats]:
    """Return the variance of every row's error, and its gradient.

    Parameters
    ----------
    model
        The fit.
    design
        Fixed design of the rows, shape (n, p).
    known
        Random effects of the rows.

    Returns
    -------
    Variances, shape (n,), and their derivatives by the m elements of theta, in units of
    `natural_scale`, and by log sigma, shape (n, m + 1).
    """
    cross, solution = model.cross, model.solution
    factors = relative_factors(cross.blocks, solution.theta)
    remaining = np.linalg.inv(np.eye(len(factors[0])) + cross.diagonal @ factors[0] @ factors[0].T)
    outward = remaining @ cross.cross[:, :, :-1]
    squares = np.einsum("lir,ljs->ijrs", outward, outward, optimize=True)
    internal, forms = design @ cross.centring, np.empty(len(design))
    moments = [_outer(new) for new in known.new_columns]
    for start in range(0, len(design), BATCH):
        part = slice(start, start + BATCH)
        columns, levels = [e[part] for e in known.columns], [k[part] for k in known.levels]
        forms[part], weights, later = _forms(model, internal[part], columns, levels)
        left = np.einsum("nij,nj->ni", remaining[levels[0]], columns[0])
        lost = np.einsum("nir,nr->ni", outward[levels[0]], weights)
        # e of every level of the first block is -lost, but for the row's: left - lost.
        moments[0][part] += np.einsum("nr,ijrs,ns->nij", weights, squares, weights, optimize=True)
        moments[0][part] += _outer(left - lost) - _outer(lost)
        for total, each in zip(moments[1:], later, strict=True):
            total[part] += np.einsum("nli,nlj->nij", each, each)
    by_theta = [
        2 * solution.variance * (moment @ factor)[:, row, column]
        for block, moment, factor in zip(cross.blocks, moments, factors, strict=True)
        for row, column in block.positions
    ]
    variances = solution.variance * forms + known.variances
    gradient = np.array([*by_theta, 2 * variances]).T
    gradient[:, :-1] /= natural_scale(cross)
    return variances, gradient


def _outer(vectors: Floats) -> Floats:
    return np.asarray(vectors[:, :, None] * vectors[:, None, :], dtype=np.float64)


def _forms(
    model: Fitted, internal: Floats, effects: list[Floats], levels: list[Integers]
) -> tuple[Floats, Floats, list[Floats]]:
    """Return the quadratic forms of n rows, and what their solutions leave.

    Returns
    -------
    The forms, shape (n,); the solutions for [Z2 | X], shape (n, q + p); and e of every later block,
    shape (n, L, k).
    """
    cross, solution = model.cross, model.solution
    blocks, factors = cross.blocks[1:], relative_factors(cross.blocks, solution.theta)[1:]
    through = np.einsum("nij,nj->ni", solution.eliminated.kernel[levels[0]], effects[0])
    across = -np.einsum("nir,ni->nr", cross.cross[levels[0]][:, :, :-1], through)
    across[:, cross.n_random :] += internal
    start, later = 0, []
    for block, columns, level in zip(blocks, effects[1:], levels[1:], strict=True):
        places = start + level[:, None] * block.width + np.arange(block.width)
        across[np.arange(len(across))[:, None], places] += columns
        start += len(block.levels) * block.width
    solved = solve_triangular(solution.root, scaled_rows(across.T, blocks, factors), lower=True)
    forms = np.einsum("ni,ni->n", effects[0], through) + (solved**2).sum(axis=0)
    spherical = solve_triangular(solution.root, solved, lower=True, trans=1)
    weights = scaled_rows(spherical, blocks, [factor.T for factor in factors]).T
    left, start = across - weights @ solution.eliminated.reduced[:-1, :-1], 0
    for block in blocks:
        end = start + len(block.levels) * block.width
        later.append(left[:, start:end].reshape(len(left), -1, block.width))
        start = end
    return forms, weights, later
