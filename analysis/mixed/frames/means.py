"""Estimated marginal means of factors, and trends of numbers, with their differences.

As R's emmeans (Searle, Speed and Milliken 1980, American Statistician 34, 216): every combination
of the other factors' levels counts the same, columns of numbers are at their means over rows, and
the offset is at theirs.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.mixed.algebra.design import is_factor
from analysis.mixed.frames.adjustment import ADJUSTMENTS, adjusted
from analysis.mixed.frames.grid import Grid, averaged, derivatives, reference_grid
from analysis.mixed.inference.fitted import Fitted
from analysis.mixed.inference.fixed_effects import NAMES, ContrastTests
from analysis.mixed.reading.expression import shown
from analysis.mixed.reading.formula import terms
from analysis.mixed.reading.plan import factor_column
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, require_conf_level, require_option


def means(
    model: Fitted,
    factors: Sequence[str],
    *,
    pairs: bool,
    adjust: str,
    df: str,
    conf_level: float,
) -> pd.DataFrame:
    """Return the estimated marginal mean of every combination of levels, or all differences.

    Parameters
    ----------
    model
        The fit.
    factors
        One or several factors of the fixed part.
    pairs
        Whether to return all pairwise differences instead.
    adjust
        ``none``, ``tukey`` (of pairs) or ``mvt``.
    df, conf_level
        Method of the degrees of freedom and coverage.

    Returns
    -------
    `contrast`, `estimate`, `std_error`, `statistic`, `df`, `p_value`, the interval, `n_obs`,
    `method`, `note`; with an adjustment also `p_adjusted`, `n_tests`, `adjustment`, and intervals
    that hold together.
    """
    grid = reference_grid(model)
    return _asked(
        model, grid, factors, "mean", pairs=pairs, adjust=adjust, df=df, conf_level=conf_level
    )


def trends(
    model: Fitted,
    number: str,
    factors: Sequence[str],
    *,
    pairs: bool,
    adjust: str,
    df: str,
    conf_level: float,
) -> pd.DataFrame:
    """Return the slope of the fixed part by a column of numbers, at every combination of levels.

    The slope is the derivative with all columns of numbers at their means: a transform or a
    square of the column is allowed for. Parameters and results are those of `means`.
    """
    grid = derivatives(model, number)
    what = f"slope by {number}"
    return _asked(
        model, grid, factors, what, pairs=pairs, adjust=adjust, df=df, conf_level=conf_level
    )


def _asked(
    model: Fitted,
    grid: Grid,
    factors: Sequence[str],
    what: str,
    *,
    pairs: bool,
    adjust: str,
    df: str,
    conf_level: float,
) -> pd.DataFrame:
    require_conf_level(conf_level)
    require_option("adjust", adjust, ADJUSTMENTS)
    rows, labels = averaged(grid, factors)
    if pairs and len(rows) < 2:
        raise DesignError(
            f"Differences must be between at least two; there is one {what}, over all factors.",
            f"Name a factor: the fixed part has {list(grid.names)}.",
        )
    n_means, offset = len(rows), grid.offset
    if pairs:
        chosen = list(itertools.combinations(range(n_means), 2))
        rows = np.array([rows[i] - rows[j] for i, j in chosen])
        labels = [f"{labels[i]} - {labels[j]}" for i, j in chosen]
        offset = 0.0
    plain = model.inference.tests(rows, df)
    tests = ContrastTests(plain.estimates + offset, plain.std_errors, plain.df)
    covariance = rows @ model.inference.covariance(df) @ rows.T
    low, high, added, note = _together(
        tests, adjust, conf_level, n_means if pairs else None, covariance
    )
    notes = [*_interacting(model, factors), grid.note, note]
    return glossary.table(
        {
            "contrast": labels,
            "estimate": tests.estimates,
            "std_error": tests.std_errors,
            "statistic": tests.statistics,
            "df": tests.df,
            "p_value": tests.p_values,
            **added,
            "conf_low": low,
            "conf_high": high,
            "conf_level": conf_level,
            "n_obs": model.statistics.n_obs,
            "method": f"Marginal {what}; {NAMES[df]}",
            "note": " ".join(note for note in notes if note),
        }
    )


def _together(
    tests: ContrastTests, adjust: str, conf_level: float, n_means: int | None, covariance: Floats
) -> tuple[Floats, Floats, dict[str, object], str]:
    """Return ends of intervals, the columns of an adjustment, and what it is."""
    if adjust == "none":
        alone = "p-values are not adjusted for their number." if len(tests.estimates) > 1 else ""
        return *tests.interval(conf_level), {}, alone
    correlation = _correlation(covariance)
    family = adjusted(tests, adjust, conf_level, n_means=n_means, correlation=correlation)
    added = {
        "p_adjusted": family.p_values,
        "n_tests": len(tests.estimates),
        "adjustment": adjust,
    }
    return family.low, family.high, added, "Intervals hold together."


def _correlation(covariance: Floats) -> Floats:
    scale = np.sqrt(np.diag(covariance))
    return np.asarray(covariance / np.outer(scale, scale), dtype=np.float64)


def _interacting(model: Fitted, factors: Sequence[str]) -> list[str]:
    """Return a note for what interacts with the factors asked for and is averaged over."""
    averaged_over: dict[str, None] = {}
    for term in terms(model.formula.fixed):
        codes = [factor.code for factor in term.factors]
        names = {c: factor_column(c) if is_factor(c, model.statistics) else shown(c) for c in codes}
        if set(names.values()) & set(factors):
            averaged_over |= dict.fromkeys(name for name in names.values() if name not in factors)
    if not averaged_over:
        return []
    return [
        f"{' and '.join(factors)} interacts with {' and '.join(averaged_over)}: no one number "
        "holds for all of their values."
    ]
