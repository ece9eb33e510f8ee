"""Parametric and cluster bootstrap of a mixed model, at a cost that does not grow with rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.mixed.algebra.crossproducts import CrossProducts, assemble, with_fixed
from analysis.mixed.algebra.deviance import Profile, profile, relative_factors
from analysis.mixed.algebra.optimise import quick
from analysis.mixed.algebra.rank import require_estimable
from analysis.mixed.algebra.simulate import simulator
from analysis.mixed.frames import tables
from analysis.mixed.frames.comparison import require_comparable
from analysis.mixed.inference.fitted import Fitted
from analysis.mixed.inference.r_squared import shares_at, variance_shares
from analysis.mixed.reading.merge import take
from analysis.mixed.reading.statistics import Factor, Statistics
from analysis.mixed.reading.units import cells_by_level, nested_factors, require_unit
from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError, DesignError
from analysis.tidy.frame import (
    FEW_GROUPS,
    Floats,
    Integers,
    generator,
    require_conf_level,
    require_count,
)

#: Likelihood ratios closer than this are equal (the refits keep about six digits).
CLOSE = 1e-7


def parametric_bootstrap(
    model: Fitted,
    *,
    rng: np.random.Generator,
    n_resamples: int = 999,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Return percentile intervals of all parameters from responses drawn under the fit.

    Responses are drawn exactly (see `simulate`) and the model is fitted again to each.

    Parameters
    ----------
    model
        The fit.
    rng
        Source of the draws.
    n_resamples
        Responses to draw.
    conf_level
        Nominal coverage.

    Returns
    -------
    One row per fixed effect and variance parameter: `effect`, `group`, `term`, `estimate`,
    `std_error` (of the replicates), `conf_low`, `conf_high`, `n_resamples`, `n_failed`.

    Examples
    --------
    >>> import numpy as np
    >>> from statsmodels.datasets import grunfeld
    >>> from analysis import mixed
    >>> rows = grunfeld.load_pandas().data
    >>> fitted = mixed.fit("invest ~ value + (1 | firm)", rows)
    >>> rng = np.random.default_rng(1)
    >>> table = mixed.parametric_bootstrap(fitted, rng=rng, n_resamples=99).set_index("term")
    >>> table.loc["value", ["conf_low", "conf_high"]].astype(float).round(3).tolist()
    [0.137, 0.199]
    """
    require_conf_level(conf_level)
    require_count("n_resamples", n_resamples)
    source = simulator(model.cross, model.found)
    replicates = np.array(
        [_refitted(model, source.draw(rng)) for _ in range(n_resamples)], dtype=np.float64
    )
    return _frame(model, replicates, conf_level, "Parametric bootstrap, percentile", "")


def r_squared_intervals(
    model: Fitted,
    *,
    rng: np.random.Generator,
    n_resamples: int = 999,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Return the shares of variance with percentile intervals of a parametric bootstrap.

    Parameters are those of `parametric_bootstrap`.

    Returns
    -------
    Three rows: `term` (``marginal`` and ``conditional`` R squared of Nakagawa and Schielzeth,
    ``intraclass`` correlation), `estimate`, `conf_low`, `conf_high`, `n_resamples`.

    Examples
    --------
    >>> import numpy as np
    >>> from statsmodels.datasets import grunfeld
    >>> from analysis import mixed
    >>> rows = grunfeld.load_pandas().data
    >>> fitted = mixed.fit("invest ~ value + (1 | firm)", rows)
    >>> rng = np.random.default_rng(1)
    >>> table = mixed.r_squared_intervals(fitted, rng=rng, n_resamples=49)
    >>> table[["conf_low", "conf_high"]].round(2).values.tolist()
    [[0.69, 0.88], [0.81, 0.92], [0.16, 0.67]]
    """
    require_conf_level(conf_level)
    source = simulator(model.cross, model.found)
    require_count("n_resamples", n_resamples)
    drawn = np.array([_shares(model, source.draw(rng)) for _ in range(n_resamples)])
    low, high = _percentiles(drawn, conf_level, n_resamples)
    known = variance_shares(model)
    result = pd.DataFrame(
        {
            "term": ["marginal", "conditional", "intraclass"],
            "estimate": [known.marginal, known.conditional, known.intraclass],
            "conf_low": low,
            "conf_high": high,
            "conf_level": conf_level,
            "n_resamples": n_resamples,
            "n_obs": model.statistics.n_obs,
            "method": "Nakagawa's R squared; parametric bootstrap, percentile",
            "note": "",
        }
    )
    glossary.checked(result.columns)
    return result


def cluster_bootstrap(
    model: Fitted,
    unit: str,
    *,
    rng: np.random.Generator,
    n_resamples: int = 999,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Return percentile intervals of all parameters from resampled units.

    Whole units are drawn with replacement. A unit drawn twice counts as two: it and all
    factors nested in it get new levels, so that their random effects are counted right.
    Factors that cross the units keep their levels.

    Parameters
    ----------
    model
        The fit.
    unit
        A factor of the statistics (a group, or named in `units` when fitting).
    rng, n_resamples, conf_level
        As for `parametric_bootstrap`.

    Returns
    -------
    As for `parametric_bootstrap`; `n_failed` counts resamples without a fit, such as those
    that left a fixed effect unestimable.

    Raises
    ------
    DesignError
        If the unit is unknown or has one level.

    Examples
    --------
    >>> import numpy as np
    >>> from statsmodels.datasets import grunfeld
    >>> from analysis import mixed
    >>> rows = grunfeld.load_pandas().data
    >>> fitted = mixed.fit("invest ~ value + (1 | firm)", rows)
    >>> rng = np.random.default_rng(1)
    >>> table = mixed.cluster_bootstrap(fitted, "firm", rng=rng, n_resamples=99).set_index("term")
    >>> table.loc["value", ["conf_low", "conf_high"]].astype(float).round(3).tolist()
    [0.058, 0.207]
    """
    require_conf_level(conf_level)
    statistics = model.statistics
    require_unit(statistics, unit)
    by_level = cells_by_level(statistics, unit)
    nested = nested_factors(statistics, unit)
    rng = generator(rng, "units are drawn")
    replicates = []
    require_count("n_resamples", n_resamples)
    for _ in range(n_resamples):
        drawn = rng.integers(0, len(by_level), len(by_level))
        resample = _resample(statistics, unit, nested, [by_level[level] for level in drawn])
        replicates.append(_attempt(model, resample))
    note = ""
    if len(by_level) < FEW_GROUPS:
        note = f"Only {len(by_level)} {unit} levels: the interval is likely too narrow."
    found = np.array(replicates, dtype=np.float64)
    return _frame(model, found, conf_level, f"Cluster bootstrap by {unit}, percentile", note)


def likelihood_ratio_bootstrap(
    smaller: Fitted,
    larger: Fitted,
    *,
    rng: np.random.Generator,
    n_resamples: int = 999,
) -> pd.DataFrame:
    """Return the parametric bootstrap p-value of a likelihood ratio, as R's PBmodcomp.

    Responses are drawn under the smaller model and both are fitted to each by maximum
    likelihood: no chi-squared is supposed, so that a variance may be zero.

    Parameters
    ----------
    smaller, larger
        Two fits to the same rows, of which the larger has all columns of the smaller.
    rng, n_resamples
        As for `parametric_bootstrap`.

    Returns
    -------
    One row: `term` (the larger formula), `statistic`, `p_value` = (b + 1) / (B + 1),
    `smallest_p`, `n_resamples`.

    Raises
    ------
    DesignError
        If `compare` cannot compare the models, or a column of the smaller is, as it is written,
        none of the larger.

    Examples
    --------
    >>> import numpy as np
    >>> from statsmodels.datasets import grunfeld
    >>> from analysis import mixed
    >>> rows = grunfeld.load_pandas().data
    >>> formulas = ("invest ~ 1 + (1 | firm)", "invest ~ value + (1 | firm)")
    >>> pair = [mixed.fit(it, rows, reml=False) for it in formulas]
    >>> rng = np.random.default_rng(1)
    >>> mixed.likelihood_ratio_bootstrap(*pair, rng=rng, n_resamples=19)["p_value"].item()
    0.05
    """
    require_comparable([smaller, larger])
    free, columns = _embedding(smaller, larger)
    full = larger.refitted(reml=False)
    null = replace(smaller, response=larger.response).refitted(full.statistics, reml=False)
    theta = np.zeros(len(free))
    theta[free] = null.found.theta
    restricted = with_fixed(full.cross, columns)
    at_null = profile(restricted, theta, reml=False)
    coefficients = np.zeros(full.cross.n_fixed)
    coefficients[columns] = at_null.coefficients
    source = simulator(full.cross, replace(at_null, coefficients=coefficients))
    observed = null.found.criterion - full.found.criterion
    drawn = []
    require_count("n_resamples", n_resamples)
    for _ in range(n_resamples):
        cross = source.draw(rng)
        under_null = with_fixed(cross, columns)
        null_theta = quick(under_null, theta, reml=False, free=free)
        full_theta = quick(cross, full.found.theta, reml=False)
        drawn.append(
            profile(under_null, null_theta, reml=False).criterion
            - profile(cross, full_theta, reml=False).criterion
        )
    n_reached = int((np.array(drawn) >= observed - CLOSE).sum())
    result = pd.DataFrame(
        {
            "term": [larger.formula.text],
            "statistic": [observed],
            "p_value": [(n_reached + 1) / (n_resamples + 1)],
            "smallest_p": [1 / (n_resamples + 1)],
            "n_resamples": [n_resamples],
            "n_obs": [full.statistics.n_obs],
            "method": ["Parametric bootstrap of the likelihood ratio"],
            "note": [""],
        }
    )
    glossary.checked(result.columns)
    return result


def _embedding(null: Fitted, full: Fitted) -> tuple[NDArray[np.bool_], Integers]:
    """Return which elements of the larger theta and which fixed columns the smaller model has."""
    of_null, of_full = _theta_labels(null), _theta_labels(full)
    free = np.array([label in of_null for label in of_full])
    missing = set(of_null) - set(of_full) | set(null.terms) - set(full.terms)
    if missing:
        names = ", ".join(sorted(map(str, missing)))
        raise DesignError(
            f"The larger model has no column {names} of the smaller; "
            "a bootstrap must know one model's columns among the other's.",
            "Write both models with the same terms, contrasts and groups.",
        )
    columns = [place for place, term in enumerate(full.terms) if term in null.terms]
    order = [of_null.index(label) for label in of_full if label in of_null]
    if order != sorted(order):
        raise DesignError(
            "The random terms of both models must come in the same order.",
            "Write them in the same order.",
        )
    return free, np.array(columns, dtype=np.intp)


def _theta_labels(model: Fitted) -> list[tuple[str, str, str]]:
    return [
        (block.group, block.columns[row].name, block.columns[column].name)
        for block in model.design.blocks
        for row, column in block.positions
    ]


def _refitted(model: Fitted, cross: CrossProducts) -> Floats:
    theta = quick(cross, model.found.theta, reml=model.reml)
    return _parameters(model, cross, profile(cross, theta, reml=model.reml))


def _shares(model: Fitted, cross: CrossProducts) -> tuple[float, float, float]:
    found = profile(cross, quick(cross, model.found.theta, reml=model.reml), reml=model.reml)
    shares = shares_at(model, cross.centring @ found.coefficients + cross.shift, found)
    return shares.marginal, shares.conditional, shares.intraclass


def _attempt(model: Fitted, resample: Statistics) -> Floats:
    """Return the parameters from other statistics, missing where they have no fit."""
    try:
        design = model.design_over(resample)
        if tuple(column.name for column in design.fixed) != model.terms:
            return np.full(len(model.terms) + len(model.found.theta) + 1, np.nan)
        cross = assemble(resample, design, response=model.response)
        require_estimable(cross, design, model.statistics.responses[model.response])
        return _refitted(model, cross)
    except (AnalysisError, np.linalg.LinAlgError):
        return np.full(len(model.terms) + len(model.found.theta) + 1, np.nan)


def _parameters(model: Fitted, cross: CrossProducts, found: Profile) -> Floats:
    """Return fixed effects, deviations and correlations, and sigma."""
    estimated = cross.centring @ found.coefficients + cross.shift
    parameters: list[float] = []
    for block, factor in zip(
        cross.blocks, relative_factors(cross.blocks, found.theta), strict=True
    ):
        covariance = found.variance * factor @ factor.T
        deviations = np.sqrt(np.diag(covariance))
        for row, column in block.positions:
            product = deviations[row] * deviations[column]
            correlation = covariance[row, column] / product if product > 0 else np.nan
            parameters.append(deviations[row] if row == column else correlation)
    return np.concatenate([estimated, parameters, [np.sqrt(found.variance)]])


def _resample(
    statistics: Statistics, unit: str, nested: list[str], parts: list[Integers]
) -> Statistics:
    """Return the drawn units' cells, every draw a new level of the unit and what it holds."""
    cells = np.concatenate(parts)
    copies = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    relabelled = {}
    for name in nested:
        factor = statistics.factors[name]
        codes = copies * len(factor.levels) + factor.codes[cells]
        present, recoded = np.unique(codes, return_inverse=True)
        levels = tuple(f"{code // len(factor.levels)}:{code}" for code in present)
        relabelled[name] = Factor(levels, np.asarray(recoded.reshape(-1), dtype=np.intp))
    return take(statistics, cells, relabelled)


def _frame(
    model: Fitted, replicates: Floats, conf_level: float, method: str, note: str
) -> pd.DataFrame:
    usable = replicates[np.isfinite(replicates[:, : len(model.terms)]).all(axis=1)]
    low, high = _percentiles(usable, conf_level, len(replicates))
    estimates = tables.tidy(model, ("fixed", "ran_pars"), "wald", 0.95)
    result = estimates[["effect", "group", "term", "estimate", "n_obs"]].assign(
        std_error=np.nanstd(usable, axis=0, ddof=1),
        conf_low=low,
        conf_high=high,
        conf_level=conf_level,
        n_resamples=len(replicates),
        n_failed=len(replicates) - len(usable),
        method=method,
        note=note,
    )
    glossary.checked(result.columns)
    return result


def _percentiles(usable: Floats, conf_level: float, n_resamples: int) -> tuple[Floats, Floats]:
    """Return the (B + 1)p-th order statistics of every column, interpolated."""
    alpha = (1 - conf_level) / 2
    if (len(usable) + 1) * alpha < 1 - CLOSE:
        raise DesignError(
            f"A {conf_level:g} interval needs at least {int(np.ceil(1 / alpha - CLOSE)) - 1} "
            f"resamples; {len(usable)} of {n_resamples} succeeded.",
            "Draw more resamples, or ask for a lower level.",
        )
    low, high = np.nanquantile(usable, [alpha, 1 - alpha], axis=0, method="weibull")
    return low, high
