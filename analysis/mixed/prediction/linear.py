"""Predictions of a linear mixed model for new rows, with intervals.

The error of x'b^ + z'u^ has as variance sigma^2 times the quadratic form of (x, z) in the inverse
of Henderson's mixed-model equations (Henderson 1975, Biometrics 31, 423), theta held. The predictor
c'y has the smallest variance among the unbiased, so that c can be held in the gradient for
Satterthwaite's df: with e = z - Z'c, the derivative is sigma^2 e' dS e, S the relative covariance
of the random effects. A level that was not fitted adds z'Sz.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.linalg import solve_triangular

from analysis.mixed.algebra.design import block_rows
from analysis.mixed.algebra.deviance import reduce, relative_factors, scaled_rows
from analysis.mixed.algebra.optimise import natural_scale
from analysis.mixed.frames.grid import fixed_design
from analysis.mixed.inference.fitted import Fitted
from analysis.mixed.inference.fixed_effects import NAMES, ContrastTests
from analysis.mixed.prediction.new_rows import (
    KnownEffects,
    given_points,
    known_effects,
    predictions,
    values_at,
)
from analysis.mixed.reading.source import open_source
from analysis.tidy.frame import Floats, Integers

#: Rows whose columns are written out at a time.
BATCH = 2000


def predict(
    model: Fitted, rows: pd.DataFrame, df: str, conf_level: float, *, groups: str = "new"
) -> pd.DataFrame:
    """Return one row per new row: the mean there, and an interval for one observation.

    See `Answers.predict`. In new groups an observation has the variance of the mean, of all random
    effects and of the residual; in known ones, of the error of their effects and of the residual.
    """
    return predictions(
        model,
        rows,
        lambda whole: _predict(model, whole, df, conf_level, groups),
        groups=groups,
        conf_level=conf_level,
        reference=_reference(df, groups),
    )


def _reference(df: str, groups: str) -> str:
    """Return the distribution of the intervals; Kenward and Roger's is of fixed effects alone."""
    if df != "kenward-roger":
        return NAMES[df]
    satterthwaite = NAMES["satterthwaite"]
    return satterthwaite if groups == "known" else f"{NAMES[df]}, of observations {satterthwaite}"


def _predict(
    model: Fitted, rows: pd.DataFrame, df: str, conf_level: float, groups: str
) -> pd.DataFrame:
    """Return the predictions of rows that lack nothing."""
    grid = given_points(model, rows)
    design = fixed_design(model, grid)
    modes = model.inference.modes
    effects = [(each.block, each.covariance, each.effects) for each in modes]
    known = known_effects(model, effects, grid, rows if groups == "known" else None)
    variances, gradients = error_variances(model, design, known)
    if groups == "known":
        estimates = design @ model.coefficients + known.part
        means = ContrastTests(estimates, np.sqrt(variances), _df(model, variances, gradients, df))
        added = np.full(len(rows), model.solution.variance)
    else:
        means, added = _means(model, design, df), known.variances + model.solution.variance
    gradients[:, -1] += 2 * model.solution.variance
    observed = ContrastTests(
        means.estimates,
        np.sqrt(means.std_errors**2 + added),
        _df(model, variances + model.solution.variance, gradients, df),
    )
    shift: Floats | float = 0.0
    if model.formula.offset is not None:
        shift = values_at(model.formula.offset, open_source(rows))
    low, high = means.interval(conf_level)
    predicted_low, predicted_high = observed.interval(conf_level)
    return pd.DataFrame(
        {
            "estimate": means.estimates + shift,
            "std_error": means.std_errors,
            "df": means.df,
            "conf_low": low + shift,
            "conf_high": high + shift,
            "predicted_df": observed.df,
            "predicted_low": predicted_low + shift,
            "predicted_high": predicted_high + shift,
            "note": known.notes,
        }
    )


def _df(model: Fitted, variances: Floats, gradients: Floats, method: str) -> Floats:
    """Return Satterthwaite's degrees of freedom of estimated variances, infinite for Wald's z."""
    if method == "wald":
        return np.full(len(variances), np.inf)
    return model.inference.satterthwaite.df_of(variances, gradients)


def _means(model: Fitted, design: Floats, df: str) -> ContrastTests:
    """Return the fixed part at points; where no coefficient enters it is zero without error."""
    entered = design.any(axis=1)
    tests = model.inference.tests(design[entered], df)
    if entered.all():
        return tests
    estimates, std_errors = np.zeros((2, len(design)))
    reference = np.full(len(design), np.inf)
    estimates[entered], std_errors[entered] = tests.estimates, tests.std_errors
    reference[entered] = tests.df
    return ContrastTests(estimates, std_errors, reference)


def error_variances(model: Fitted, design: Floats, known: KnownEffects) -> tuple[Floats, Floats]:
    """Return the variance of every row's error, and its gradient.

    The n rows have a fixed design, shape (n, p), and known random effects. Variances have shape
    (n,), their derivatives by the m elements of theta, in units of `natural_scale`, and by log
    sigma (n, m + 1).
    """
    cross, solution = model.cross, model.solution
    factors = relative_factors(cross.blocks, solution.theta)
    remaining = np.linalg.inv(np.eye(len(factors[0])) + cross.diagonal @ factors[0] @ factors[0].T)
    outward = remaining @ cross.cross[:, :, :-1]
    reduced = reduce(cross, solution.eliminated)[:-1, :-1]
    squares = np.einsum("lir,ljs->ijrs", outward, outward, optimize=True)
    internal, forms = design @ cross.centring, np.empty(len(design))
    moments = [_outer(new) for new in known.new_columns]
    for start in range(0, len(design), BATCH):
        part = slice(start, start + BATCH)
        columns, levels = [e[part] for e in known.columns], [k[part] for k in known.levels]
        forms[part], weights, later = _forms(model, reduced, internal[part], columns, levels)
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
    model: Fitted,
    reduced: Floats,
    internal: Floats,
    effects: list[Floats],
    levels: list[Integers],
) -> tuple[Floats, Floats, list[Floats]]:
    """Return the quadratic forms of n rows, and what their solutions leave.

    `reduced` is [Z2 | X]'H1^-1 [Z2 | X], shape (q + p, q + p).
    The forms, shape (n,); the solutions for [Z2 | X], shape (n, q + p); and e of every later block,
    shape (n, L, k).
    """
    cross, solution = model.cross, model.solution
    blocks, factors = cross.blocks[1:], relative_factors(cross.blocks, solution.theta)[1:]
    through = np.einsum("nij,nj->ni", solution.eliminated.kernel[levels[0]], effects[0])
    across = -np.einsum("nir,ni->nr", cross.cross[levels[0]][:, :, :-1], through)
    across[:, cross.n_random :] += internal
    rows = list(block_rows(blocks))
    for block, its, columns, level in zip(blocks, rows, effects[1:], levels[1:], strict=True):
        places = its.start + level[:, None] * block.width + np.arange(block.width)
        across[np.arange(len(across))[:, None], places] += columns
    solved = solve_triangular(solution.root, scaled_rows(across.T, blocks, factors), lower=True)
    forms = np.einsum("ni,ni->n", effects[0], through) + (solved**2).sum(axis=0)
    spherical = solve_triangular(solution.root, solved, lower=True, trans=1)
    weights = scaled_rows(spherical, blocks, [factor.T for factor in factors]).T
    left = across - weights @ reduced
    pairs = zip(blocks, rows, strict=True)
    return forms, weights, [left[:, it].reshape(len(left), -1, b.width) for b, it in pairs]
