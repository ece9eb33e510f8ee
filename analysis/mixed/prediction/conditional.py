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
    cross, found = model.cross, model.found
    factors = relative_factors(cross.blocks, found.theta)
    remaining = np.linalg.inv(np.eye(len(factors[0])) + cross.diagonal @ factors[0] @ factors[0].T)
    outward = remaining @ cross.cross[:, :, :-1]
    squares = np.einsum("lir,ljs->ijrs", outward, outward, optimize=True)
    internal, forms = design @ cross.centring, np.empty(len(design))
    moments = [new[:, :, None] * new[:, None, :] for new in known.new_columns]
    for start in range(0, len(design), BATCH):
        part = slice(start, start + BATCH)
        columns, levels = [e[part] for e in known.columns], [k[part] for k in known.levels]
        forms[part], of_batch = _forms(model, remaining, squares, internal[part], columns, levels)
        for total, each in zip(moments, of_batch, strict=True):
            total[part] += each
    by_theta = [
        2 * found.variance * (moment @ factor)[:, row, column]
        for block, moment, factor in zip(cross.blocks, moments, factors, strict=True)
        for row, column in block.positions
    ]
    variances = found.variance * forms + known.variances
    gradient = np.array([*by_theta, 2 * variances]).T
    gradient[:, :-1] /= natural_scale(cross)
    return variances, gradient


def _forms(
    model: Fitted,
    remaining: Floats,
    squares: Floats,
    internal: Floats,
    effects: list[Floats],
    levels: list[Integers],
) -> tuple[Floats, list[Floats]]:
    """Return the quadratic forms of rows, and per block the sum over levels of e e', (n, k, k)."""
    cross, found = model.cross, model.found
    later, factors = cross.blocks[1:], relative_factors(cross.blocks, found.theta)[1:]
    first, towards = effects[0], cross.cross[levels[0]][:, :, :-1]
    through = np.einsum("nij,nj->ni", found.eliminated.kernel[levels[0]], first)
    across = -np.einsum("nir,ni->nr", towards, through)
    across[:, cross.n_random :] += internal
    start, bounds = 0, []
    for block, columns, level in zip(later, effects[1:], levels[1:], strict=True):
        places = start + level[:, None] * block.width + np.arange(block.width)
        across[np.arange(len(across))[:, None], places] += columns
        bounds.append(slice(start, start + len(block.levels) * block.width))
        start = bounds[-1].stop
    solved = solve_triangular(found.root, scaled_rows(across.T, later, factors), lower=True)
    forms = np.einsum("ni,ni->n", first, through) + (solved**2).sum(axis=0)
    spherical = solve_triangular(found.root, solved, lower=True, trans=1)
    weights = scaled_rows(spherical, later, [factor.T for factor in factors]).T
    lost = np.einsum("nij,njr,nr->ni", remaining[levels[0]], towards, weights, optimize=True)
    inside = np.einsum("nij,nj->ni", remaining[levels[0]], first) - lost
    of_first = np.einsum("nr,ijrs,ns->nij", weights, squares, weights, optimize=True)
    of_first += inside[:, :, None] * inside[:, None, :] - lost[:, :, None] * lost[:, None, :]
    left = across - weights @ found.eliminated.reduced[:-1, :-1]
    by_level = [
        left[:, bound].reshape(len(left), -1, block.width)
        for bound, block in zip(bounds, later, strict=True)
    ]
    return forms, [of_first, *(np.einsum("nli,nlj->nij", each, each) for each in by_level)]
