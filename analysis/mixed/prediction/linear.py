"""Predictions of a linear mixed model for new rows, with intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.mixed.frames.grid import fixed_design
from analysis.mixed.inference.fitted import Fitted
from analysis.mixed.inference.fixed_effects import NAMES, ContrastTests
from analysis.mixed.prediction.conditional import error_variances
from analysis.mixed.prediction.known_levels import known_effects
from analysis.mixed.prediction.new_rows import given_points, predictions, values_at
from analysis.mixed.reading.source import open_source
from analysis.tidy.frame import Floats


def predict(
    model: Fitted, rows: pd.DataFrame, df: str, conf_level: float, *, groups: str = "new"
) -> pd.DataFrame:
    """Return one row per new row: the mean there, and an interval for one observation.

    `conf_low` and `conf_high` hold the mean; `predicted_low` and `predicted_high` an
    observation. In new groups its variance is that of the mean, of all random effects and of the
    residual; in known ones, of the error of their effects and of the residual. Unless `df` is
    ``wald``, its degrees of freedom are Satterthwaite's of that sum, and so are those of the mean
    in known groups. A row that lacks a predictor has missing numbers and a `note` that names it,
    as R's predict has.
    """
    return predictions(
        model,
        rows,
        lambda whole: _predicted(model, whole, df, conf_level, groups),
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


def _predicted(
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
