"""Predictions for levels that were fitted: fixed effects and conditional modes, with their errors.

The variance of x'(b^ - b) + z'(u^ - u) is sigma^2 times the quadratic form of (x, z) in the
inverse of Henderson's mixed-model equations (Henderson 1975, Biometrics 31, 423), theta held. They
are factored once: a row costs one triangular solution.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.linalg import solve_triangular

from analysis.mixed.algebra.deviance import relative_factors
from analysis.mixed.inference.fitted import Fitted
from analysis.mixed.prediction.known_levels import known_effects
from analysis.mixed.reading.statistics import Statistics
from analysis.tidy.frame import Floats, Integers

#: Rows whose columns are written out at a time.
BATCH = 2000


def conditional(
    model: Fitted, design: Floats, points: Statistics, rows: pd.DataFrame
) -> tuple[Floats, Floats, list[str]]:
    """Return the mean of every row given its levels, the variance of its error, and a note.

    A level that was not fitted has an effect of zero, whose whole variance is added.

    Parameters
    ----------
    model
        The fit.
    design
        Fixed design of the rows, shape (n, p).
    points
        The rows' factors and numbers.
    rows
        The rows, for the levels of the groups.
    """
    estimated, cross = model.inference.estimated, model.cross
    groups = [(modes.block, modes.covariance, modes.effects) for modes in estimated.modes]
    known = known_effects(model, groups, points, rows)
    variance = np.empty(len(rows))
    internal = design @ cross.centring
    for start in range(0, len(rows), BATCH):
        part = slice(start, start + BATCH)
        variance[part] = _forms(
            model, internal[part], [e[part] for e in known.columns], [k[part] for k in known.levels]
        )
    mean = design @ estimated.coefficients + known.part
    return mean, model.found.variance * variance + known.variances, known.notes


def _forms(
    model: Fitted, internal: Floats, effects: list[Floats], levels: list[Integers]
) -> Floats:
    """Return the quadratic forms of rows in the inverse of the mixed-model equations."""
    cross, found = model.cross, model.found
    q = cross.n_random
    factors = relative_factors(cross.blocks, found.theta)
    kernel = found.eliminated.kernel[levels[0]]
    through = np.einsum("nij,nj->ni", kernel, effects[0])
    form = np.einsum("ni,ni->n", effects[0], through)
    across = -np.einsum("nir,ni->nr", cross.cross[levels[0]][:, :, :-1], through)
    across[:, q:] += internal
    start = 0
    for place in range(1, len(cross.blocks)):
        block, factor = cross.blocks[place], factors[place]
        shape = (len(block.levels), block.width)
        end = start + shape[0] * shape[1]
        theirs = across[:, start:end].reshape(-1, *shape)
        theirs[np.arange(len(theirs)), levels[place]] += effects[place]
        across[:, start:end] = (theirs @ factor).reshape(len(theirs), -1)
        start = end
    solved = solve_triangular(found.root, across.T, lower=True)
    return np.asarray(form + (solved**2).sum(axis=0), dtype=np.float64)
