"""Logistic regression with Firth's penalty: finite where a predictor separates the outcomes.

The penalised log-likelihood is l*(b) = l(b) + log|X'WX| / 2, which also removes the first-order
bias of the estimates (Firth 1993, Biometrika 80, 27). Tests and intervals come from its profile,
not from standard errors (Heinze and Schemper 2002, Statistics in Medicine 21, 2409).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats
from scipy.optimize import brentq
from scipy.special import expit, log_expit

from analysis.inference.association.regression import require_estimable
from analysis.tidy import glossary
from analysis.tidy.errors import ColumnError, DesignError
from analysis.tidy.formula import ModelMatrices, model_matrices
from analysis.tidy.frame import Floats, Integers, require_conf_level

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

#: Strides, each half as long again as the one before, in which an end of the interval is sought.
MOST_STRIDES = 40


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


def firth(frame: pd.DataFrame, formula: str, *, conf_level: float = 0.95) -> pd.DataFrame:
    """Return one row per term of a logistic regression with Firth's penalty.

    Parameters
    ----------
    frame
        One row per independent unit: nothing here allows for models of one lab being alike.
    formula
        Such as ``dampens ~ heritage + density``; the response holds 0 and 1, or truth values.
        Text columns become factors, the first level present is the reference.
    conf_level
        Nominal coverage of the intervals.

    Returns
    -------
    One row per term: `estimate` [log odds], `std_error` (from the information, as brglm2),
    `statistic` (penalised likelihood ratio, chi-squared with `df` 1), `p_value`, the profile
    interval, `n_obs`.

    Raises
    ------
    ColumnError
        If the formula cannot be read, names no column, a column has missing values, or the
        response holds anything but 0 and 1.
    DesignError
        If the response does not vary, a term is a linear combination of others, or there are no
        more rows than terms.
    """
    require_conf_level(conf_level)
    matrices = model_matrices(frame, formula)
    _require_binary(matrices.response)
    require_estimable(matrices)
    best = maximise(matrices.design, matrices.response)
    terms = range(len(matrices.terms))
    std_error = np.sqrt(np.diag(np.linalg.inv(best.information)))
    ratios = np.array([_likelihood_ratio(matrices, best, term) for term in terms])
    ends = np.array([_interval(matrices, best, term, std_error, conf_level) for term in terms])
    events = int(matrices.response.sum())
    notes = [f"Reference level: {reference}." for reference in matrices.references]
    notes.append(f"{events} of {len(matrices.response)} rows have the outcome.")
    result = pd.DataFrame(
        {
            "term": matrices.terms,
            "estimate": best.coefficients,
            "std_error": std_error,
            "statistic": ratios,
            "df": 1.0,
            "p_value": stats.chi2.sf(ratios, 1),
            "conf_low": ends[:, 0],
            "conf_high": ends[:, 1],
            "conf_level": conf_level,
            "n_obs": len(matrices.response),
            "method": "Logistic regression, Firth's penalty; profile penalised likelihood",
            "note": " ".join(notes),
        }
    )
    glossary.checked(result.columns)
    return result


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
    start = _evaluate(design, response, np.zeros(design.shape[1]))
    return _climb(design, response, start, np.arange(design.shape[1]))


def profile(design: Floats, response: Floats, best: Point, held: int, value: float) -> Point:
    """Return where the penalised likelihood is largest with one coefficient held.

    The penalty keeps all p columns (Heinze and Schemper 2002).

    Parameters
    ----------
    design, response
        As for `maximise`.
    best
        The maximum, or a point of the profile near by, from which the other coefficients start
        along the ridge.
    held, value
        Position of the coefficient held, and its value.

    Raises
    ------
    DesignError
        If Newton's method does not arrive.
    """
    free = np.flatnonzero(np.arange(design.shape[1]) != held)
    column = np.linalg.inv(best.information)[held]
    moved = best.coefficients + column / column[held] * (value - best.coefficients[held])
    still = best.coefficients.copy()
    moved[held] = still[held] = value
    starts = [_evaluate(design, response, start) for start in (moved, still)]
    return _climb(design, response, max(starts, key=lambda at: at.log_likelihood), free)


def _climb(design: Floats, response: Floats, point: Point, free: Integers) -> Point:
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


def _require_binary(response: Floats) -> None:
    if not np.isin(response, (0.0, 1.0)).all():
        raise ColumnError(
            f"The response of a logistic regression must hold 0 and 1; found "
            f"{np.unique(response)[:4].tolist()}.",
            "Compare it with a threshold first.",
        )


def _evaluate(design: Floats, response: Floats, coefficients: Floats) -> Point:
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
        next_point = _evaluate(design, response, moved)
        rounding = 1e-13 * (1 + abs(point.log_likelihood))
        if next_point.log_likelihood >= point.log_likelihood - rounding:
            return next_point
        step = step / 2
    return point


def _interval(
    matrices: ModelMatrices, best: Point, term: int, std_error: Floats, conf_level: float
) -> tuple[float, float]:
    critical = float(stats.chi2.ppf(conf_level, 1))
    reach = float(std_error[term])
    ends = [_end(matrices, best, term, side * reach, critical) for side in (-1, 1)]
    return ends[0], ends[1]


def _end(matrices: ModelMatrices, best: Point, term: int, reach: float, critical: float) -> float:
    """Return where the ratio reaches its critical value.

    The profile is followed from the maximum outwards, in steps that grow until the end lies
    between two: every point starts from the nearest one known.
    """
    known = [best]

    def excess(value: float) -> float:
        near = min(known, key=lambda point: abs(float(point.coefficients[term]) - value))
        held = profile(matrices.design, matrices.response, near, term, value)
        known.append(held)
        return 2 * (best.log_likelihood - held.log_likelihood) - critical

    inside, step = float(best.coefficients[term]), reach
    for _ in range(MOST_STRIDES):
        outside = inside + step
        if excess(outside) > 0:
            return float(brentq(excess, inside, outside, xtol=1e-12, rtol=1e-13))
        inside, step = outside, 1.5 * step
    raise DesignError(
        f"The profile of {matrices.terms[term]!r} must fall below its critical value; at "
        f"{inside:.3g} it had not.",
        "Change the unit of that column.",
    )


def _likelihood_ratio(matrices: ModelMatrices, best: Point, term: int) -> float:
    """Return the ratio against a coefficient of 0, reached by steps of a standard error."""
    centre = float(best.coefficients[term])
    reach = float(np.sqrt(np.linalg.inv(best.information)[term, term]))
    n_steps = min(MOST_STRIDES, int(np.ceil(abs(centre) / reach)) or 1)
    held = best
    for value in np.linspace(centre, 0.0, n_steps + 1)[1:]:
        held = profile(matrices.design, matrices.response, held, term, float(value))
    return max(0.0, 2 * (best.log_likelihood - held.log_likelihood))
