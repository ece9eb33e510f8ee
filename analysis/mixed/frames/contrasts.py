"""Linear contrasts, estimated marginal means and predictions from the fixed effects."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
import pandas as pd

from analysis.mixed.algebra.design import Column, design_columns, is_factor
from analysis.mixed.frames.guards import is_in_fixed
from analysis.mixed.inference.distributions import t_quantile
from analysis.mixed.inference.fitted import Fitted
from analysis.mixed.inference.fixed_effects import NAMES, ContrastTests
from analysis.mixed.reading.expression import translate
from analysis.mixed.reading.formula import terms
from analysis.mixed.reading.plan import factor_column
from analysis.mixed.reading.source import open_source
from analysis.mixed.reading.statistics import Factor, Statistics
from analysis.tidy import glossary
from analysis.tidy.errors import ColumnError, DesignError
from analysis.tidy.frame import Floats, nearest, require_conf_level


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


def means(model: Fitted, factor: str, pairs: bool, df: str, conf_level: float) -> pd.DataFrame:
    """Return one row per level of a factor, or per pair of levels, averaged over the others.

    Every combination of the other factors of the fixed part counts the same; numbers are at
    their mean over rows. As in R's emmeans, but that a transformed predictor is at the mean of
    the transform.

    Raises
    ------
    DesignError
        If the factor is not in the fixed part.
    """
    grid, names = _reference_grid(model)
    if factor not in names:
        raise DesignError(
            f"Marginal means need a factor of the fixed part; {factor!r} is none of {names}.",
            "Name one of them.",
        )
    design = _fixed_design(model, grid)
    known = grid.factors[factor]
    rows = np.array([design[known.codes == code].mean(axis=0) for code in range(len(known.levels))])
    labels = [str(level) for level in known.levels]
    if pairs:
        chosen = list(itertools.combinations(range(len(labels)), 2))
        rows = np.array([rows[i] - rows[j] for i, j in chosen])
        labels = [f"{labels[i]} - {labels[j]}" for i, j in chosen]
    return _frame(model, labels, model.inference.tests(rows, df), df, conf_level)


def predict(model: Fitted, rows: pd.DataFrame, df: str, conf_level: float) -> pd.DataFrame:
    """Return one row per new row: the mean there, and an interval for one observation.

    `conf_low` and `conf_high` hold the mean; `predicted_low` and `predicted_high` an
    observation in new levels of every group, its variance that of the mean, of all random
    effects and of the residual.

    Raises
    ------
    ColumnError
        If a column of the fixed part is absent, or a level was not fitted.
    """
    require_conf_level(conf_level)
    grid = _given_grid(model, rows)
    design = _fixed_design(model, grid)
    tests = model.inference.tests(design, df)
    low, high = tests.interval(conf_level)
    spread = np.sqrt(tests.std_errors**2 + _random_variances(model, grid) + model.found.variance)
    reach = t_quantile((1 + conf_level) / 2, tests.df) * spread
    result = pd.DataFrame(
        {
            "estimate": tests.estimates,
            "std_error": tests.std_errors,
            "df": tests.df,
            "conf_low": low,
            "conf_high": high,
            "predicted_low": tests.estimates - reach,
            "predicted_high": tests.estimates + reach,
            "conf_level": conf_level,
            "method": f"Fixed effects; {NAMES[df]}",
            "note": "Without the offset." if model.formula.offset else "",
        },
        index=rows.index,
    )
    glossary.checked(result.columns)
    return result


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


def _grid(factors: dict[str, Factor], numbers: dict[str, Floats], size: int) -> Statistics:
    """Return a point per cell: factors at levels, every number constant."""
    return Statistics(
        factors=factors,
        constants=numbers,
        basis=((),),
        responses=("",),
        offset="",
        shift=np.zeros(2),
        pairs={(0, 0): 0},
        sums=np.ones((1, size)),
        counts=np.ones(size),
        log_weights=np.zeros(size),
        weighted=False,
    )


def _fixed_design(model: Fitted, grid: Statistics) -> Floats:
    columns, _ = design_columns(model.formula.fixed, grid, model.contrasts)
    return np.column_stack([column.coefficient for column in columns])


def _reference_grid(model: Fitted) -> tuple[Statistics, list[str]]:
    """Return every combination of the fixed factors' levels, numbers at their means."""
    known = model.statistics.factors
    names = [name for name in known if is_in_fixed(model, name)]
    codes = np.array(
        list(itertools.product(*(range(len(known[name].levels)) for name in names))), dtype=np.intp
    )
    factors = {
        name: Factor(known[name].levels, codes[:, place]) for place, name in enumerate(names)
    }
    size = len(codes)
    numbers = {name: np.full(size, mean) for name, mean in _means(model).items()}
    return _grid(factors, numbers, size), names


def _means(model: Fitted) -> dict[str, float]:
    """Return the mean over rows of every numeric expression."""
    statistics = model.statistics
    size = float(statistics.product(0, 0).sum())
    result = {
        name: float(values @ statistics.product(0, 0)) / size
        for name, values in statistics.constants.items()
    }
    for place, names in enumerate(statistics.basis):
        if len(names) == 1:
            shifted = float(statistics.product(0, place).sum()) / size
            result[names[0]] = shifted + float(statistics.shift[place])
    lacking = sorted({name for names in statistics.basis for name in names} - set(result))
    if lacking:
        raise DesignError(
            f"Marginal means need the mean of {lacking}, which enter only by their product.",
            "Add their main effects to the formula, or use predict.",
        )
    return result


def _given_grid(model: Fitted, rows: pd.DataFrame) -> Statistics:
    """Return a point per new row."""
    source = open_source(rows)
    known = model.statistics.factors
    sides = (model.formula.fixed, *(term.left for term in model.formula.random))
    codes = {factor.code for side in sides for term in terms(side) for factor in term.factors}
    factors, numbers = {}, {}
    for code in sorted(codes):
        if is_factor(code, model.statistics):
            name = factor_column(code)
            source.require([name])
            factors[name] = Factor(known[name].levels, _codes(rows[name], name, known[name]))
        else:
            expression = translate(code)
            source.require_numbers(expression.columns)
            table = source.query(f"SELECT {expression.sql} AS value FROM observations")
            numbers[code] = table.column("value").to_numpy()
    return _grid(factors, numbers, len(rows))


def _codes(
    column: pd.Series, name: str, known: Factor
) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    position = {level: code for code, level in enumerate(known.levels)}
    unknown = sorted({str(level) for level in column} - set(position))
    if unknown:
        raise ColumnError(
            f"Column {name!r} must hold levels that were fitted; {unknown} were not.",
            f"Fitted: {', '.join(known.levels)}.",
        )
    return np.array([position[str(level)] for level in column], dtype=np.intp)


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
