"""Linear contrasts of the fixed effects, and predictions from them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from analysis.mixed.algebra.design import Column, design_columns
from analysis.mixed.frames.conditional import conditional
from analysis.mixed.frames.grid import fixed_design, given_points, lacking, values_at
from analysis.mixed.inference.distributions import t_quantile
from analysis.mixed.inference.fitted import Fitted
from analysis.mixed.inference.fixed_effects import NAMES, ContrastTests
from analysis.mixed.reading.source import open_source
from analysis.mixed.reading.statistics import Statistics
from analysis.tidy import glossary
from analysis.tidy.errors import ColumnError
from analysis.tidy.frame import Floats, nearest, require_conf_level, require_option

#: Whether a prediction is for new levels of every group or for those that were fitted.
GROUPS = ("new", "known")
WORDS = {"new": "Fixed effects", "known": "Fixed effects and conditional modes"}


def contrast(
    model: Fitted,
    contrasts: Mapping[str, Mapping[str, float]],
    df: str,
    conf_level: float,
) -> pd.DataFrame:
    """Return one row per linear contrast: its weights times the coefficients, tested.

    Raises
    ------
    ColumnError
        If a weight is given to what is no coefficient.
    """
    weights = np.zeros((len(contrasts), len(model.terms)))
    for row, each in enumerate(contrasts.values()):
        for term, weight in each.items():
            if term not in model.terms:
                raise ColumnError(
                    f"A contrast must weigh coefficients; {term!r} is none, the nearest is "
                    f"{nearest(term, model.terms)!r}.",
                    f"The model has: {', '.join(model.terms)}.",
                )
            weights[row, model.terms.index(term)] = weight
    tests = model.inference.tests(weights, df)
    return _frame(model, list(contrasts), tests, df, conf_level)


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
    require_conf_level(conf_level)
    require_option("groups", groups, GROUPS)
    reasons = lacking(model, rows)
    whole = reasons == ""
    found = _predicted(model, rows[whole], df, conf_level, groups)
    placed = found.reindex(np.where(whole, np.cumsum(whole) - 1, -1)).set_axis(rows.index)
    result = placed.drop(columns="note").assign(
        conf_level=conf_level,
        method=f"{WORDS[groups]}; {NAMES[df]}",
        note=np.where(whole, placed["note"], reasons),
    )
    glossary.checked(result.columns)
    return result


def _predicted(
    model: Fitted, rows: pd.DataFrame, df: str, conf_level: float, groups: str
) -> pd.DataFrame:
    """Return the predictions of rows that lack nothing."""
    grid = given_points(model, rows)
    design = fixed_design(model, grid)
    tests = model.inference.tests(design, df)
    estimates, std_errors, notes = tests.estimates, tests.std_errors, [""] * len(rows)
    added = model.found.variance + np.zeros(len(rows))
    if groups == "known":
        open_source(rows).require(name for term in model.formula.random for name in term.group)
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


def _frame(
    model: Fitted, labels: list[str], tests: ContrastTests, df: str, conf_level: float
) -> pd.DataFrame:
    require_conf_level(conf_level)
    low, high = tests.interval(conf_level)
    result = pd.DataFrame(
        {
            "contrast": labels,
            "estimate": tests.estimates,
            "std_error": tests.std_errors,
            "statistic": tests.statistics,
            "df": tests.df,
            "p_value": tests.p_values,
            "conf_low": low,
            "conf_high": high,
            "conf_level": conf_level,
            "n_obs": model.statistics.n_obs,
            "method": f"Linear contrast; {NAMES[df]}",
            "note": "p-values are not adjusted for their number." if len(labels) > 1 else "",
        }
    )
    glossary.checked(result.columns)
    return result


def _random_variances(model: Fitted, grid: Statistics) -> Floats:
    """Return z' Sigma z summed over groups at every point."""
    total = np.zeros(len(grid.counts))
    for modes in model.inference.estimated.modes:
        columns: list[Column] = []
        for term in model.formula.random:
            if term.group_name == modes.block.group:
                columns += design_columns(term.left, grid, model.contrasts)[0]
        effects = np.column_stack([column.coefficient for column in columns])
        total += np.einsum("ni,ij,nj->n", effects, modes.covariance, effects)
    return total
