"""The likelihood of a logistic regression with Firth's penalty, and Newton's method on it.

The penalised log-likelihood is l*(b) = l(b) + log|X'WX| / 2 (Firth 1993, Biometrika 80, 27).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit

from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, Integers

#: Newton's last step moves no coefficient by more than this share of itself plus one; the error
#: that is left is about its square.
CONVERGED = 1e-7
MOST_STEPS = 200
MOST_HALVINGS = 40

#: Where no step climbs any more, a rise of the likelihood this small is rounding.
NEGLIGIBLE = 1e-9

#: Least curvature that a step is divided by, as a share of the information.
FLATTEST = 1e-8

#: Largest step of a coefficient in one iteration, in units of a logit over the column's size.
LONGEST_STEP = 5.0


@dataclass(frozen=True, slots=True)
class Point:
    """The penalised likelihood at some coefficients.

    Attributes
    ----------
    coefficients
        Shape (p,).
    log_likelihood
        Penalised log-likelihood.
    score
        Its derivative, shape (p,).
    information
        X'WX, shape (p, p).
    curvature
        Minus the second derivative of the penalised likelihood, shape (p, p).
    """

    coefficients: Floats
    log_likelihood: float
    score: Floats
    information: Floats
    curvature: Floats


def maximise(design: Floats, response: Floats) -> Point:
    """Return where the penalised likelihood is largest.

    Parameters
    ----------
    design
        Shape (n, p), of full rank.
    response
        Zeros and ones, shape (n,).

    Raises
    ------
    DesignError
        If Newton's method does not arrive.
    """
    start = evaluate(design, response, np.zeros(design.shape[1]))
    return climb(design, response, start, np.arange(design.shape[1]))


def climb(design: Floats, response: Floats, point: Point, free: Integers) -> Point:
    """Return the maximum that lies uphill of a point, some coefficients free and others held.

    Raises
    ------
    DesignError
        If Newton's method does not arrive.
    """
    if not len(free):
        return point
    longest = LONGEST_STEP / np.abs(design).max(axis=0)[free]
    for _ in range(MOST_STEPS):
        step = _newton_step(point, free)
        if (np.abs(step) <= CONVERGED * (1 + np.abs(point.coefficients[free]))).all():
            return _uphill(design, response, point, free, step)
        step /= max(1.0, float((np.abs(step) / longest).max()))
        moved = _uphill(design, response, point, free, step)
        if moved is point and float(point.score[free] @ step) <= NEGLIGIBLE:
            return point
        point = moved
    raise DesignError(
        f"The penalised likelihood must have a maximum Newton's method finds; after {MOST_STEPS} "
        "steps it had not.",
        "Leave out predictors that nearly determine one another.",
    )


def _newton_step(point: Point, free: Integers) -> Floats:
    """Return Newton's step; where the likelihood bends upwards, one that climbs all the same."""
    block = np.ix_(free, free)
    scale = 1 / np.sqrt(np.diag(point.information)[free])
    values, vectors = np.linalg.eigh(point.curvature[block] * np.outer(scale, scale))
    sizes = np.maximum(np.abs(values), FLATTEST)
    step: Floats = scale * (vectors @ (vectors.T @ (scale * point.score[free]) / sizes))
    return step


def evaluate(design: Floats, response: Floats, coefficients: Floats) -> Point:
    """Return likelihood, score (Firth's eq. 4 for a logit), information and curvature.

    Complements are computed apart: where a row is fitted without error, 1 - p has no digits left.
    """
    linear = design @ coefficients
    weights = expit(linear) * expit(-linear)
    orthogonal, triangle = np.linalg.qr(design * np.sqrt(weights)[:, None])
    diagonal = np.abs(np.diag(triangle))
    if not (diagonal > 0).all():
        nothing = np.zeros((len(coefficients), len(coefficients)))
        return Point(coefficients, -np.inf, np.zeros_like(coefficients), nothing, nothing)
    leverage = (orthogonal**2).sum(axis=1)
    likelihood = float(log_expit(np.where(response == 1, linear, -linear)).sum())
    error = np.where(response == 1, expit(-linear), -expit(linear))
    skew = -np.tanh(linear / 2) / 2
    return Point(
        coefficients,
        likelihood + float(np.log(diagonal).sum()),
        design.T @ (error + leverage * skew),
        triangle.T @ triangle,
        _curvature(design, weights, orthogonal, skew),
    )


def _curvature(design: Floats, weights: Floats, orthogonal: Floats, skew: Floats) -> Floats:
    """Return minus the second derivative of the penalised likelihood, shape (p, p).

    With h the leverages, H the hat matrix and d = 1/2 - p, it is
    X' W (1 + h) X - 2 X' D (diag(h) - H * H) D X, the product H * H by elements.
    """
    n_rows, n_terms = design.shape
    leverage = (orthogonal**2).sum(axis=1)
    skewed = design * skew[:, None]
    if n_rows <= n_terms**2:
        square = skewed.T @ ((orthogonal @ orthogonal.T) ** 2 @ skewed)
    else:
        products = (orthogonal[:, :, None] * orthogonal[:, None, :]).reshape(n_rows, -1)
        moments = skewed.T @ products
        square = moments @ moments.T
    plain = design.T @ (design * (weights * (1 + leverage))[:, None])
    curvature: Floats = plain - 2 * (skewed.T @ (skewed * leverage[:, None]) - square)
    return curvature


def _uphill(design: Floats, response: Floats, point: Point, free: Integers, step: Floats) -> Point:
    """Return the point after the step, halved until the likelihood does not fall."""
    for _ in range(MOST_HALVINGS):
        moved = point.coefficients.copy()
        moved[free] += step
        next_point = evaluate(design, response, moved)
        rounding = 1e-13 * (1 + abs(point.log_likelihood))
        if next_point.log_likelihood >= point.log_likelihood - rounding:
            return next_point
        step = step / 2
    return point
