"""Logistic regression with Firth's penalty: finite where a predictor separates the outcomes.

The penalty also removes the first-order bias of the estimates (Firth 1993, Biometrika 80, 27).
Tests and intervals come from the profile of the penalised likelihood, not from standard errors
(Heinze and Schemper 2002, Statistics in Medicine 21, 2409).

Where the outcomes are separated, the penalised likelihood with one coefficient held has several
maxima (`ridges`). The profile is the highest of them: it is followed from the estimate outwards,
and at each end the other ridges are sought.

>>> import numpy as np, pandas as pd
>>> from analysis.inference import firth
>>> frame = pd.DataFrame({"y": [0, 0, 0, 1, 1, 1], "x": [1.0, 2, 3, 4, 5, 6]})
>>> firth.firth(frame, "y ~ x")["estimate"].round(2).tolist()
[-3.95, 1.13]
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import pandas as pd
from scipy import stats
from scipy.optimize import brentq

from analysis.inference.association.penalised import Point, climb, evaluate, maximise
from analysis.inference.association.regression import require_estimable
from analysis.inference.association.ridges import HIGHER, highest
from analysis.tidy import glossary
from analysis.tidy.errors import ColumnError, DesignError
from analysis.tidy.formula import ModelMatrices, model_matrices
from analysis.tidy.frame import Floats, require_conf_level

#: Strides, each half as long again as the one before, in which an end of the interval is sought.
MOST_STRIDES = 40


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
    terms = range(len(matrices.terms))
    linear = _linear_predictor(matrices)
    rows = [_term(matrices, linear, term, conf_level) for term in terms]
    events = int(matrices.response.sum())
    notes = [f"Reference level: {reference}." for reference in matrices.references]
    notes.append(f"{events} of {len(matrices.response)} rows have the outcome.")
    result = pd.DataFrame(rows).assign(
        conf_level=conf_level,
        n_obs=len(matrices.response),
        method="Logistic regression, Firth's penalty; profile penalised likelihood",
        note=" ".join(notes),
    )
    glossary.checked(result.columns)
    return result


def profile(design: Floats, response: Floats, best: Point, held: int, value: float) -> Point:
    """Return the maximum near a point with one coefficient held.

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
    starts = [evaluate(design, response, start) for start in (moved, still)]
    return climb(design, response, max(starts, key=lambda at: at.log_likelihood), free)


def _require_binary(response: Floats) -> None:
    if not np.isin(response, (0.0, 1.0)).all():
        raise ColumnError(
            f"The response of a logistic regression must hold 0 and 1; found "
            f"{np.unique(response)[:4].tolist()}.",
            "Compare it with a threshold first.",
        )


def _linear_predictor(matrices: ModelMatrices) -> Floats:
    """Return the linear predictor at the highest maximum, shape (n,)."""
    design = np.linalg.qr(matrices.design)[0] * sqrt(len(matrices.design))
    best = highest(design, matrices.response, (maximise(design, matrices.response),))
    return np.asarray(design @ best.coefficients)


def _term(
    matrices: ModelMatrices, linear: Floats, term: int, conf_level: float
) -> dict[str, object]:
    """Return estimate, test and interval of one term.

    Its column is taken less what the others say of it, and the others as an orthonormal basis: that
    changes neither its coefficient nor the profile, and rounding no longer depends on where a
    column's zero lies.
    """
    design, unit = turned(matrices.design, term)
    start = np.asarray(np.linalg.lstsq(design, linear)[0], dtype=np.float64)
    near = evaluate(design, matrices.response, start)
    best = climb(design, matrices.response, near, np.arange(design.shape[1]))
    reach = sqrt(np.linalg.inv(best.information)[0, 0])
    critical = float(stats.chi2.ppf(conf_level, 1))
    low, high = (
        float(end(design, matrices.response, best, side * reach, critical).coefficients[0])
        for side in (-1, 1)
    )
    ratio = _likelihood_ratio(design, matrices.response, best, reach)
    return {
        "term": matrices.terms[term],
        "estimate": best.coefficients[0] / unit,
        "std_error": reach / unit,
        "statistic": ratio,
        "df": 1.0,
        "p_value": stats.chi2.sf(ratio, 1),
        "conf_low": low / unit,
        "conf_high": high / unit,
    }


def turned(design: Floats, term: int) -> tuple[Floats, float]:
    """Return one column at right angles to the others, before a basis of them, and its size.

    All columns have a mean square of 1, so the first coefficient is larger by the size.
    """
    column, others = design[:, term], np.delete(design, term, axis=1)
    basis = np.linalg.qr(others)[0]
    for _ in range(2):
        column = column - basis @ (basis.T @ column)
    unit = float(np.sqrt((column**2).mean()))
    return np.column_stack([column / unit, basis * sqrt(len(design))]), unit


def end(design: Floats, response: Floats, best: Point, reach: float, critical: float) -> Point:
    """Return the point of the first coefficient's profile where the ratio is critical.

    The profile is followed from the maximum outwards, in steps that grow until the end lies
    between two: every point starts from the nearest one known on either side, which may lie on
    different ridges. If another ridge is higher at the end, it is followed on.

    Parameters
    ----------
    design, response
        As for `maximise`; the first column at right angles to the others (`turned`).
    best
        The maximum with every coefficient free.
    reach
        Length of the first step, negative for the lower end.
    critical
        Value of the ratio at the end.

    Raises
    ------
    DesignError
        If the ratio stays below its critical value.
    """
    known = [best]

    def excess(value: float) -> float:
        distances = np.array([float(point.coefficients[0]) - value for point in known])
        sides = [np.flatnonzero(distances >= 0), np.flatnonzero(distances <= 0)]
        near = {int(side[np.abs(distances[side]).argmin()]) for side in sides if len(side)}
        reached = [profile(design, response, known[each], 0, value) for each in sorted(near)]
        known.append(max(reached, key=lambda point: point.log_likelihood))
        return 2 * (best.log_likelihood - known[-1].log_likelihood) - critical

    inside, step = float(best.coefficients[0]), reach
    for _ in range(MOST_STRIDES):
        outside = inside + step
        if excess(outside) <= 0:
            inside, step = outside, 1.5 * step
            continue
        root = float(brentq(excess, inside, outside, xtol=1e-12, rtol=1e-13))
        excess(root)
        higher = highest(design, response, (best, known[-1]), 0)
        if 2 * (best.log_likelihood - higher.log_likelihood) - critical > -2 * HIGHER:
            return known[-1]
        known, inside, step = [higher], root, reach
    raise DesignError(
        "The profile of a coefficient does not fall below its critical value within "
        f"{MOST_STRIDES} steps.",
        "Leave out predictors that nearly determine one another.",
    )


def _likelihood_ratio(design: Floats, response: Floats, best: Point, reach: float) -> float:
    """Return the ratio against a coefficient of 0, reached by steps of a standard error."""
    centre = float(best.coefficients[0])
    n_steps = min(MOST_STRIDES, int(np.ceil(abs(centre) / reach)) or 1)
    held = best
    for value in np.linspace(centre, 0.0, n_steps + 1)[1:]:
        held = profile(design, response, held, 0, float(value))
    held = highest(design, response, (best, held), 0)
    return max(0.0, 2 * (best.log_likelihood - held.log_likelihood))
