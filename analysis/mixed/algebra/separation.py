"""Find predictors that tell outcomes apart without error: their coefficients have no estimate.

Albert and Anderson (1984), Biometrika 71, 1: a logistic likelihood has a maximum unless some
combination of the predictors is never negative where the outcome is 1 and never positive where
it is 0. Konis (2007), Computational algorithms for detecting separated observations, chapter 4,
finds one by a linear programme.
"""

from __future__ import annotations

from collections.abc import Sequence

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


def separating_within(
    design: Floats, groups: Sequence[Integers], trials: Floats, successes: Floats
) -> list[int]:
    """Return the columns that separate the outcomes once every level of the groups is free.

    A level with one outcome is fitted by its own intercept and bounds no slope. Among the others a
    column separates where its coefficient can grow without bound in one direction alone. With
    normal levels the likelihood may have a maximum, but not its Laplace approximation, which is
    poor where levels lie as far apart as such slopes need.

    Parameters
    ----------
    design
        Predictors, shape (cells, p).
    groups
        Level of every cell, shape (cells,), by group.
    trials, successes
        Counts, shape (cells,).
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, hstack, vstack

    informative = np.ones(len(trials), dtype=np.bool_)
    before = -1
    while before != (before := int(informative.sum())):
        for codes in groups:
            won = np.bincount(codes, successes * informative)
            lost = np.bincount(codes, (trials - successes) * informative)
            informative &= ((won > 0) & (lost > 0))[codes]
    if not before:
        return []
    centred = design[informative] - design[informative].mean(axis=0)
    sizes = np.abs(centred).max(axis=0)
    varying = np.flatnonzero(sizes > NEGLIGIBLE * np.abs(design).max(axis=0))
    levels = [csr_array(np.eye(int(codes.max()) + 1)[codes[informative]]) for codes in groups]
    cells = hstack([csr_array(centred[:, varying] / sizes[varying]), *levels], format="csr")
    has_won, has_lost = successes[informative] > 0, (trials - successes)[informative] > 0
    limits = vstack([-cells[has_won], cells[has_lost]])
    bounds = [(-1, 1)] * len(varying) + [(None, None)] * (cells.shape[1] - len(varying))
    separating = []
    for place, column in enumerate(varying):
        towards = np.zeros(cells.shape[1])
        towards[place] = 1.0
        reach = [
            linprog(sign * towards, A_ub=limits, b_ub=np.zeros(limits.shape[0]), bounds=bounds).fun
            for sign in (1, -1)
        ]
        if sum((each or 0.0) < -NEGLIGIBLE for each in reach) == 1:
            separating.append(int(column))
    return separating


def levels_with_both(codes: Integers, n_levels: int, trials: Floats, successes: Floats) -> int:
    """Return how many levels of a group hold both outcomes."""
    won = np.bincount(codes, successes, n_levels)
    lost = np.bincount(codes, trials - successes, n_levels)
    return int(((won > 0) & (lost > 0)).sum())
