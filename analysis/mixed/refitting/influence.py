"""What the estimates owe to single units: the model without each lab, suite or model."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.mixed.inference.fitted import Fitted
from analysis.mixed.inference.fixed_effects import method_named
from analysis.mixed.reading.merge import take
from analysis.mixed.reading.units import cells_by_level, require_unit
from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError, DesignError
from analysis.tidy.frame import Floats, Integers


def leave_one_out(model: Fitted, unit: str, *, df: str = "satterthwaite") -> pd.DataFrame:
    """Return the fixed effects without each level of a unit in turn.

    Cook's distance of a level is (b - b_without)' C^-1 (b - b_without) / p with C the covariance
    of the fixed effects of the whole fit (Demidenko 2004, Mixed Models, section 3.8).

    Parameters
    ----------
    model
        The fit.
    unit
        A factor of the statistics (a group, or named in `units` when fitting).
    df
        Degrees of freedom of the tests without a unit.

    Returns
    -------
    One row per level and term: `level`, `term`, `estimate`, `std_error`, `df`, `p_value` without
    the level, `change` against the whole fit, `cooks_distance` of the level. Levels without
    which there is no fit, or none with such tests, have missing numbers and a `note`.

    Raises
    ------
    DesignError
        If the unit is unknown or has one level, or the whole fit has no fixed effects or no such
        tests.

    Examples
    --------
    >>> from statsmodels.datasets import grunfeld
    >>> from analysis import mixed
    >>> rows = grunfeld.load_pandas().data
    >>> fitted = mixed.fit("invest ~ value + (1 | firm)", rows)
    >>> left_out = mixed.leave_one_out(fitted, "firm").query("term == 'value'")
    >>> left_out.set_index("level")["estimate"].round(3).agg(["min", "max"]).tolist()
    [0.108, 0.175]
    """
    df = method_named(df)
    require_unit(model.statistics, unit)
    if not model.terms:
        raise DesignError(
            "What single units change must be fixed effects; the model has none.",
            "Fit an intercept: y ~ 1 + (1 | group).",
        )
    model.inference.tests(np.eye(len(model.terms)), df)
    by_level = cells_by_level(model.statistics, unit)
    levels = model.statistics.factors[unit].levels
    parts = []
    for level, cells in zip(levels, by_level, strict=True):
        others = np.setdiff1d(np.arange(len(model.statistics.counts)), cells)
        parts.append(_without(model, others, df).assign(level=level))
    result = pd.concat(parts, ignore_index=True).assign(
        group=unit,
        method=f"Without one {unit} at a time; {df} df",
    )
    glossary.checked(result.columns)
    return result


def _without(model: Fitted, cells: Integers, df: str) -> pd.DataFrame:
    nothing = pd.DataFrame({"term": model.terms}).assign(
        estimate=np.nan, std_error=np.nan, df=np.nan, p_value=np.nan, change=np.nan
    )
    try:
        refit = model.refitted(take(model.statistics, cells))
        tests = refit.inference.tests(np.eye(len(refit.terms)), df)
    except (AnalysisError, np.linalg.LinAlgError) as error:
        return nothing.assign(cooks_distance=np.nan, note=str(error).partition("\n")[0])
    if refit.terms != model.terms:
        lost = sorted(set(model.terms) - set(refit.terms))
        return nothing.assign(cooks_distance=np.nan, note=f"Without it there is no {lost}.")
    change = refit.coefficients - model.coefficients
    return pd.DataFrame(
        {
            "term": model.terms,
            "estimate": tests.estimates,
            "std_error": tests.std_errors,
            "df": tests.df,
            "p_value": tests.p_values,
            "change": change,
            "cooks_distance": _cooks_distance(change, model.inference.estimated.covariance),
            "note": "",
        }
    )


def _cooks_distance(change: Floats, covariance: Floats) -> float:
    return float(change @ np.linalg.solve(covariance, change)) / len(change)
