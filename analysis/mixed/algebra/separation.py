"""Find predictors that tell outcomes apart without error: their coefficients have no estimate.

Albert and Anderson (1984), Biometrika 71, 1: a logistic likelihood has a maximum unless some
combination of the predictors is never negative where the outcome is 1 and never positive where
it is 0. Konis (2007), Computational algorithms for detecting separated observations, chapter 4,
finds one by a linear programme.
"""

from __future__ import annotations

import numpy as np

from analysis.tidy.frame import Floats, Integers

#: A weight of a separating combination below this is zero.
NEGLIGIBLE = 1e-7


def separating_columns(design: Floats, trials: Floats, successes: Floats) -> list[int]:
    """Return the columns of a combination that separates the outcomes, none if there is none.

    Parameters
    ----------
    design
        Predictors, shape (cells, p).
    trials, successes
        Counts, shape (cells,).
    """
    from scipy.optimize import linprog

    sizes = np.abs(design).max(axis=0)
    varying = np.flatnonzero(sizes)  # a column of zeros tells nothing apart
    scaled = design[:, varying] / sizes[varying]
    points, cell = np.unique(scaled, axis=0, return_inverse=True)
    won = np.bincount(cell.reshape(-1), successes)
    lost = np.bincount(cell.reshape(-1), trials - successes)
    both = (won > 0) & (lost > 0)
    towards = np.where(won > 0, 1.0, -1.0)[~both, None] * points[~both]
    if not len(towards):
        return []
    optimum = linprog(
        -towards.sum(axis=0),
        A_ub=-towards,
        b_ub=np.zeros(len(towards)),
        A_eq=points[both] if both.any() else None,
        b_eq=np.zeros(int(both.sum())) if both.any() else None,
        bounds=(-1, 1),
    )
    weights = np.asarray(optimum.x, dtype=np.float64)
    if towards.sum(axis=0) @ weights < NEGLIGIBLE:
        return []
    return [int(place) for place in varying[np.abs(weights) > NEGLIGIBLE]]


def levels_with_both(codes: Integers, n_levels: int, trials: Floats, successes: Floats) -> int:
    """Return how many levels of a group hold both outcomes."""
    won = np.bincount(codes, successes, n_levels)
    lost = np.bincount(codes, trials - successes, n_levels)
    return int(((won > 0) & (lost > 0)).sum())
