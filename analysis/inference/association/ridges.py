"""The highest of several maxima of the penalised likelihood of a logistic regression.

Where the outcomes are separated, log|X'WX| is nearly that of the p rows nearest to the boundary,
and each choice of rows has a ridge of its own. The maxima are sought from boundaries through p - 1
rows, at several distances, and from multiples of the maxima known: many starts are evaluated, the
better ones raised together, and the highest of these are climbed from.
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
from scipy.special import expit, log_expit

from analysis.inference.association.penalised import LONGEST_STEP, Point, climb, evaluate
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, Integers

#: Boundaries that are tried, fewer where there are many rows; starts that are raised, by how many
#: steps; and maxima that are climbed to.
MOST_BOUNDARIES = 1000
MOST_VALUES = 4_000_000
RAISED = 120
RISES = 12
CLIMBED = 8

#: Sizes of the starts, as multiples of a maximum known and in logits.
MULTIPLES = np.geomspace(0.125, 16, 57)
LOGITS = np.geomspace(1, 64, 4)

#: A maximum is higher when its likelihood is by more than this.
HIGHER = 1e-8

#: Added to the information as a share of its diagonal, that a step can be solved for.
LEAST_INFORMATION = 1e-10
LEAST_WEIGHT = 1e-100


def highest(
    design: Floats, response: Floats, known: tuple[Point, ...], held: int | None = None
) -> Point:
    """Return the highest maximum that is met from many starts.

    Parameters
    ----------
    design, response
        As for `penalised.maximise`; the columns of about one size.
    known
        Points whose multiples are starts; the last is the maximum that others are compared with.
    held
        Position of a coefficient held at the last point's value; None when all are free.
    """
    at = known[-1]
    free = np.array([place for place in range(design.shape[1]) if place != held], dtype=np.intp)
    if not len(free) or design.shape[1] == 1:
        return at
    value = None if held is None else float(at.coefficients[held])
    starts = _boundaries(design, held, value)
    before = None
    while before is not at:
        before = at
        multiples = [np.outer(MULTIPLES, point.coefficients) for point in (*known, at)]
        starts = np.concatenate([*multiples, starts])
        if held is not None:
            starts[:, held] = value
        for start in _raised(design, response, starts, free):
            at = _higher(design, response, at, start, free)
        starts, known = starts[:0], ()
    return at


def _higher(design: Floats, response: Floats, at: Point, start: Floats, free: Integers) -> Point:
    """Return the maximum uphill of a start if it is higher than the one known."""
    try:
        other = climb(design, response, evaluate(design, response, start), free)
    except DesignError:
        return at
    return other if other.log_likelihood > at.log_likelihood + HIGHER else at


def _boundaries(design: Floats, held: int | None, value: float | None) -> Floats:
    """Return coefficients at which p - 1 chosen rows have even odds, shape (starts, p).

    Every choice of rows or, where there are too many, a fixed sample of them.
    """
    n_rows, n_terms = design.shape
    most = max(RAISED, min(MOST_BOUNDARIES, MOST_VALUES // (n_rows * n_terms)))
    if comb(n_rows, n_terms - 1) <= most:
        rows = np.array(list(combinations(range(n_rows), n_terms - 1)))
    else:
        rng = np.random.default_rng(0)
        rows = rng.integers(n_rows, size=(most, n_terms - 1))
    directions = np.linalg.svd(design[rows])[2][:, -1]
    if held is None or value is None:
        return np.concatenate([size * directions for size in (*LOGITS, *-LOGITS)])
    along = directions[np.abs(directions[:, held]) > HIGHER]
    return np.asarray(along * (value / along[:, held])[:, None], dtype=np.float64)


def _raised(design: Floats, response: Floats, starts: Floats, free: Integers) -> Floats:
    """Return the highest of the starts after some steps of Fisher's scoring, each taken apart."""
    best = np.argsort(-_log_likelihoods(design, response, starts), kind="stable")[:RAISED]
    at, scale = starts[best], np.ones(len(best))
    values = _log_likelihoods(design, response, at)
    longest = LONGEST_STEP / np.abs(design).max(axis=0)[free]
    for _ in range(RISES):
        step = _scoring_steps(design, response, at, free)
        step /= np.maximum(1, (np.abs(step) / longest).max(axis=1))[:, None]
        moved = at.copy()
        moved[:, free] += scale[:, None] * step
        reached = _log_likelihoods(design, response, moved)
        better = reached > values
        at, values = np.where(better[:, None], moved, at), np.where(better, reached, values)
        scale = np.where(better, np.minimum(1, 2 * scale), scale / 4)
    order = np.argsort(-values, kind="stable")
    distinct = np.unique(np.round(values[order], 3), return_index=True)[1]
    return at[order[np.sort(distinct)[:CLIMBED]]]


def _scoring_steps(
    design: Floats, response: Floats, coefficients: Floats, free: Integers
) -> Floats:
    """Return the inverse of the information times Firth's score, shape (starts, free)."""
    linear = coefficients @ design.T
    weights = expit(linear) * expit(-linear)
    information = _information(design, weights)
    diagonal = np.einsum("kpp->kp", information)
    diagonal *= 1 + LEAST_INFORMATION
    diagonal += LEAST_WEIGHT
    spread = design @ np.linalg.inv(information)
    leverage = weights * (spread * design).sum(axis=2)
    error = np.where(response == 1, expit(-linear), -expit(linear))
    score = ((error - leverage * np.tanh(linear / 2) / 2) @ design)[:, free]
    inverse = np.linalg.inv(information[:, free[:, None], free])
    return np.asarray((inverse @ score[:, :, None])[:, :, 0])


def _information(design: Floats, weights: Floats) -> Floats:
    """Return X'WX for every start, shape (starts, p, p)."""
    n_rows, n_terms = design.shape
    products = (design[:, :, None] * design[:, None, :]).reshape(n_rows, -1)
    return (weights @ products).reshape(-1, n_terms, n_terms)


def _log_likelihoods(design: Floats, response: Floats, coefficients: Floats) -> Floats:
    """Return the penalised log-likelihood at many coefficients, shape (starts,)."""
    linear = coefficients @ design.T
    likelihood = log_expit(np.where(response == 1, linear, -linear)).sum(axis=1)
    information = _information(design, expit(linear) * expit(-linear))
    sign, size = np.linalg.slogdet(information)
    return np.where(sign > 0, likelihood + size / 2, -np.inf)
