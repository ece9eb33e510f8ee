"""Logistic regression with Firth's penalty: finite where a predictor separates the outcomes.

The penalised log-likelihood is l*(b) = l(b) + log|X'WX| / 2, which also removes the first-order
bias of the estimates (Firth 1993, Biometrika 80, 27). Tests and intervals come from its profile,
not from standard errors (Heinze and Schemper 2002, Statistics in Medicine 21, 2409).
"""

from __future__ import annotations

from collections.abc import Callable
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

#: Newton stops when no coefficient would move by more than this share of itself plus one.
CONVERGED = 1e-12
MOST_STEPS = 200
MOST_HALVINGS = 40

#: Largest step of a coefficient in one iteration, in units of a logit over the column's size.
LONGEST_STEP = 5.0

#: Doublings of the distance in which an end of the interval is looked for.
MOST_DOUBLINGS = 30


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
    """

    coefficients: Floats
    log_likelihood: float
    score: Floats
    information: Floats


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
    ratios = np.array([_likelihood_ratio(matrices, best, term, 0.0) for term in terms])
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
        The maximum, from which the other coefficients start along its covariance.
    held, value
        Position of the coefficient held, and its value.

    Raises
    ------
    DesignError
        If Newton's method does not arrive.
    """
    column = np.linalg.inv(best.information)[held]
    moved = best.coefficients + column / column[held] * (value - best.coefficients[held])
    moved[held] = value
    free = np.flatnonzero(np.arange(design.shape[1]) != held)
    return _climb(design, response, _evaluate(design, response, moved), free)


def _climb(design: Floats, response: Floats, point: Point, free: Integers) -> Point:
    if not len(free):
        return point
    longest = LONGEST_STEP / np.abs(design).max(axis=0)[free]
    for _ in range(MOST_STEPS):
        curvature = point.information[np.ix_(free, free)]
        step: Floats = np.linalg.solve(curvature, point.score[free]).astype(np.float64)
        if (np.abs(step) <= CONVERGED * (1 + np.abs(point.coefficients[free]))).all():
            return point
        step /= max(1.0, float((np.abs(step) / longest).max()))
        point = _uphill(design, response, point, free, step)
    raise DesignError(
        f"The penalised likelihood must have a maximum Newton's method finds; after {MOST_STEPS} "
        "steps it had not.",
        "Centre and scale the numeric columns.",
    )


def _require_binary(response: Floats) -> None:
    if not np.isin(response, (0.0, 1.0)).all():
        raise ColumnError(
            f"The response of a logistic regression must hold 0 and 1; found "
            f"{np.unique(response)[:4].tolist()}.",
            "Compare it with a threshold first.",
        )


def _evaluate(design: Floats, response: Floats, coefficients: Floats) -> Point:
    """Return likelihood, score (Firth's eq. 4 for a logit) and information."""
    linear = design @ coefficients
    fitted = expit(linear)
    weights = fitted * (1 - fitted)
    weighted = design * np.sqrt(weights)[:, None]
    information = weighted.T @ weighted
    sign, log_determinant = np.linalg.slogdet(information)
    if sign <= 0:
        return Point(coefficients, -np.inf, np.zeros_like(coefficients), information)
    leverage = np.einsum("np,pq,nq->n", weighted, np.linalg.inv(information), weighted)
    likelihood = float(log_expit(np.where(response == 1, linear, -linear)).sum())
    score = design.T @ (response - fitted + leverage * (0.5 - fitted))
    return Point(coefficients, likelihood + log_determinant / 2, score, information)


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


def _likelihood_ratio(matrices: ModelMatrices, best: Point, term: int, value: float) -> float:
    held = profile(matrices.design, matrices.response, best, term, value)
    return max(0.0, 2 * (best.log_likelihood - held.log_likelihood))


def _interval(
    matrices: ModelMatrices, best: Point, term: int, std_error: Floats, conf_level: float
) -> tuple[float, float]:
    critical = float(stats.chi2.ppf(conf_level, 1))
    centre, reach = float(best.coefficients[term]), float(std_error[term])

    def excess(value: float) -> float:
        return _likelihood_ratio(matrices, best, term, value) - critical

    return _end(excess, centre, -reach), _end(excess, centre, reach)


def _end(excess: Callable[[float], float], centre: float, reach: float) -> float:
    """Return where the ratio reaches its critical value, infinite when it does not."""
    inside, distance = centre, reach
    for _ in range(MOST_DOUBLINGS):
        outside = centre + distance
        if excess(outside) > 0:
            return float(brentq(excess, inside, outside, xtol=1e-13, rtol=1e-14))
        inside, distance = outside, 2 * distance
    return float(np.copysign(np.inf, reach))
