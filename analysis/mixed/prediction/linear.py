"""Predictions of a linear mixed model for new rows, with intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.mixed.frames.grid import fixed_design
from analysis.mixed.inference.distributions import t_quantile
from analysis.mixed.inference.fitted import Fitted
from analysis.mixed.inference.fixed_effects import NAMES, ContrastTests
from analysis.mixed.prediction.conditional import conditional
from analysis.mixed.prediction.known_levels import effects_at, quadratic
from analysis.mixed.prediction.new_rows import given_points, predictions, values_at
from analysis.mixed.reading.source import open_source
from analysis.mixed.reading.statistics import Statistics
from analysis.tidy.frame import Floats


def predict(
    model: Fitted, rows: pd.DataFrame, df: str, conf_level: float, *, groups: str = "new"
) -> pd.DataFrame:
    """Return one row per new row: the mean there, and an interval for one observation.

    `conf_low` and `conf_high` hold the mean; `predicted_low` and `predicted_high` an
    observation. In new groups its variance is that of the mean, of all random effects and of the
    residual; in known ones, of the error of their effects and of the residual. A row that lacks a
    predictor has missing numbers and a `note` that names it, as R's predict has.

    Raises
    ------
    AnalysisError
        If `groups` is neither ``new`` nor ``known``.
    ColumnError
        If a column is absent, or a level of the fixed part was not fitted.
    """
    return predictions(
        model,
        rows,
        lambda whole: _predicted(model, whole, df, conf_level, groups),
        groups=groups,
        conf_level=conf_level,
        reference=NAMES[df],
    )


def _predicted(
    model: Fitted, rows: pd.DataFrame, df: str, conf_level: float, groups: str
) -> pd.DataFrame:
    """Return the predictions of rows that lack nothing."""
    grid = given_points(model, rows)
    design = fixed_design(model, grid)
    tests = _means(model, design, df)
    estimates, std_errors, notes = tests.estimates, tests.std_errors, [""] * len(rows)
    added = model.found.variance + np.zeros(len(rows))
    if groups == "known":
        estimates, variances, notes = conditional(model, design, grid, rows)
        std_errors = np.sqrt(variances)
    else:
        added += _random_variances(model, grid)
    if model.formula.offset is not None:
        estimates = estimates + values_at(model.formula.offset, open_source(rows))
    quantile = t_quantile((1 + conf_level) / 2, tests.df)
    reach, spread = quantile * std_errors, quantile * np.sqrt(std_errors**2 + added)
    return pd.DataFrame(
        {
            "estimate": estimates,
            "std_error": std_errors,
            "df": tests.df,
            "conf_low": estimates - reach,
            "conf_high": estimates + reach,
            "predicted_low": estimates - spread,
            "predicted_high": estimates + spread,
            "note": notes,
        }
    )


def _means(model: Fitted, design: Floats, df: str) -> ContrastTests:
    """Return the fixed part at points; where no coefficient enters it is zero without error."""
    entered = design.any(axis=1)
    found = model.inference.tests(design[entered], df)
    if entered.all():
        return found
    estimates, std_errors = np.zeros((2, len(design)))
    reference = np.full(len(design), np.inf)
    estimates[entered], std_errors[entered] = found.estimates, found.std_errors
    reference[entered] = found.df
    return ContrastTests(estimates, std_errors, reference)


def _random_variances(model: Fitted, grid: Statistics) -> Floats:
    """Return z' Sigma z summed over groups at every point."""
    total = np.zeros(len(grid.counts))
    for modes in model.inference.estimated.modes:
        total += quadratic(effects_at(model, modes.block, grid), modes.covariance)
    return total
