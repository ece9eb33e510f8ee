"""Residuals against what they should be: quantiles, bins, simulated ranks, random effects.

All but the simulated ranks are aggregated where the rows lie.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.mixed.algebra.deviance import relative_factors
from analysis.mixed.frames.augment import FittedRows
from analysis.mixed.inference.distributions import normal_quantile
from analysis.mixed.inference.fitted import Fitted
from analysis.mixed.reading.expression import quoted, translate
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, generator, require_count

#: Responses simulated for the ranks: DHARMa's default.
SIMULATED = 250


def residual_quantiles(model: Fitted, *, n_points: int = 99) -> pd.DataFrame:
    """Return quantiles of the residuals over sigma beside those of the normal (a QQ plot).

    Returns
    -------
    One row per probability i / (n_points + 1): `probability`, `theoretical`, `observed`.
    """
    probabilities = np.arange(1, n_points + 1) / (n_points + 1)
    listed = ", ".join(repr(float(each)) for each in probabilities)
    rows = FittedRows(model)
    found = rows.query(
        f"SELECT quantile_cont(residual * sqrt(weight_), [{listed}]) FROM fitted_rows"
    ).fetchall()[0][0]
    result = pd.DataFrame(
        {
            "probability": probabilities,
            "theoretical": [normal_quantile(each) for each in probabilities],
            "observed": np.array(found) / np.sqrt(model.found.variance),
            "n_obs": model.statistics.n_obs,
        }
    )
    glossary.checked(result.columns)
    return result


def binned_residuals(model: Fitted, against: str = "fitted", *, n_bins: int = 20) -> pd.DataFrame:
    """Return mean residuals in bins of equally many rows of the fitted values or a predictor.

    Under the model two in three means lie within one standard error of zero (Gelman and Hill
    2007, Data Analysis Using Regression, section 5.6, for binary responses).

    Parameters
    ----------
    model
        The fit.
    against
        ``fitted``, or an expression over columns such as ``log(rho)``.
    n_bins
        Bins at most; ties fall into one.

    Returns
    -------
    One row per bin: `term` (what is binned), `bin_low`, `bin_high`, `estimate` (mean residual),
    `std_error`, `n_obs`.
    """
    number = "fitted" if against == "fitted" else translate(against).sql
    rows = FittedRows(model)
    bins: pd.DataFrame = rows.query(
        f"""
        SELECT min(x) AS bin_low,
               max(x) AS bin_high,
               avg(residual) AS estimate,
               stddev_samp(residual) / sqrt(count(*)) AS std_error,
               count(*) AS n_obs
          FROM (SELECT {number} AS x,
                       residual,
                       floor({n_bins} * (rank() OVER (ORDER BY {number}) - 1)
                             / count(*) OVER ()) AS bin
                  FROM fitted_rows)
         GROUP BY bin
         ORDER BY bin
        """
    ).df()
    result = bins.assign(term=against)
    glossary.checked(result.columns)
    return result


def residuals_by_level(model: Fitted, factor: str) -> pd.DataFrame:
    """Return mean and spread of the residuals in every level of a column.

    Returns
    -------
    One row per level: `group` (the column), `level`, `estimate` (mean residual), `std_error`,
    `sigma` (standard deviation of the residuals), `n_obs`.
    """
    rows = FittedRows(model)
    if factor not in rows.columns:
        raise DesignError(
            f"Residuals by level need a column of the rows; {factor!r} is none.",
            f"They have: {', '.join(rows.columns)}.",
        )
    levels: pd.DataFrame = rows.query(
        f"""
        SELECT CAST({quoted(factor)} AS VARCHAR) AS level,
               avg(residual) AS estimate,
               stddev_samp(residual) / sqrt(count(*)) AS std_error,
               stddev_samp(residual) AS sigma,
               count(*) AS n_obs
          FROM fitted_rows
         GROUP BY ALL
         ORDER BY 1
        """
    ).df()
    result = levels.assign(group=factor)
    glossary.checked(result.columns)
    return result


def random_effect_quantiles(model: Fitted) -> pd.DataFrame:
    """Return conditional modes, standardised and sorted, beside normal quantiles.

    A mode is divided by its marginal standard deviation, the root of variance less conditional
    variance. Few levels show little: the shape of seven modes is mostly chance.

    Returns
    -------
    One row per group, term and level: `theoretical`, `observed`.
    """
    parts = []
    for modes in model.inference.estimated.modes:
        spread = np.diag(modes.covariance) - modes.std_errors**2
        for place, column in enumerate(modes.block.columns):
            usable = np.sqrt(np.where(spread[:, place] > 0, spread[:, place], np.nan))
            frame = pd.DataFrame(
                {
                    "group": modes.block.group,
                    "term": column.name,
                    "level": modes.block.levels,
                    "observed": modes.effects[:, place] / usable,
                }
            ).sort_values("observed", kind="stable")
            size = len(frame)
            places = (np.arange(size) + 0.5) / size
            parts.append(frame.assign(theoretical=[normal_quantile(each) for each in places]))
    result = pd.concat(parts, ignore_index=True)
    glossary.checked(result.columns)
    return result


def quantile_residuals(
    model: Fitted,
    *,
    rng: np.random.Generator,
    n_rows: int = 5000,
    n_simulations: int = SIMULATED,
) -> pd.DataFrame:
    """Return the rank of every observation among responses simulated from the model.

    As R's DHARMa (Hartig 2022): random effects and errors are drawn anew, the share of
    simulations below the observation is uniform under the model. Ranks of rows that share random
    effects move together: a test of uniformity over rows supposes that groups are many. A large
    table is thinned to evenly spaced rows.

    Parameters
    ----------
    model
        The fit.
    rng
        Source of the draws.
    n_rows
        Rows at most.
    n_simulations
        Responses simulated.

    Returns
    -------
    One row per row used: `row` (its place, from zero), `fitted_fixed`, `residual`,
    `quantile_residual` between 0 and 1.
    """
    step = max(1, -(-model.statistics.n_obs // n_rows))
    rows = FittedRows(model)
    basis = [f"basis{place}_" for place in range(len(model.statistics.basis))]
    names = ["row_place_", "cell_", "fitted_fixed", "fitted", "residual", "weight_", *basis]
    chosen = rows.select(names, f"(row_place_ - 1) % {step} = 0").df()
    numbers = chosen[basis].to_numpy().T
    cells = chosen["cell_"].to_numpy()
    observed = (chosen["fitted"] + chosen["residual"] - chosen["fitted_fixed"]).to_numpy()
    sigma = np.sqrt(model.found.variance / chosen["weight_"].to_numpy())
    below = np.zeros(len(chosen))
    for _ in range(n_simulations):
        drawn = (numbers * _drawn_effects(model, rng)[:, cells]).sum(axis=0)
        below += drawn + sigma * rng.standard_normal(len(chosen)) < observed
    result = pd.DataFrame(
        {
            "row": chosen["row_place_"] - 1,
            "fitted_fixed": chosen["fitted_fixed"],
            "residual": chosen["residual"],
            "quantile_residual": (below + rng.random(len(chosen))) / (n_simulations + 1),
        }
    )
    glossary.checked(result.columns)
    return result


def simulated_rows(model: Fitted, n_simulations: int, rng: np.random.Generator) -> Floats:
    """Return responses drawn under a fit, random effects and errors anew, shape (rows, draws).

    Parameters
    ----------
    model
        The fit.
    n_simulations
        Responses to draw.
    rng
        Source of the draws.

    Raises
    ------
    DesignError
        If the model was fitted from statistics alone.
    """
    require_count("n_simulations", n_simulations)
    basis = [f"basis{place}_" for place in range(len(model.statistics.basis))]
    chosen = FittedRows(model).select(["cell_", "fitted_fixed", "weight_", *basis]).df()
    numbers, cells = chosen[basis].to_numpy().T, chosen["cell_"].to_numpy()
    sigma = np.sqrt(model.found.variance / chosen["weight_"].to_numpy())
    drawn = np.empty((len(chosen), n_simulations))
    for place in range(n_simulations):
        effects = (numbers * _drawn_effects(model, rng)[:, cells]).sum(axis=0)
        drawn[:, place] = effects + sigma * rng.standard_normal(len(chosen))
    result: Floats = chosen["fitted_fixed"].to_numpy()[:, None] + drawn
    return result


def _drawn_effects(model: Fitted, rng: np.random.Generator) -> Floats:
    """Return the random part with effects drawn anew, shape (basis, cells)."""
    rng = generator(rng, "effects are drawn")
    result = np.zeros((len(model.statistics.basis), len(model.statistics.counts)))
    sigma = np.sqrt(model.found.variance)
    factors = relative_factors(model.design.blocks, model.found.theta)
    for block, factor in zip(model.design.blocks, factors, strict=True):
        effects = sigma * rng.standard_normal((len(block.levels), block.width)) @ factor.T
        for place, column in enumerate(block.columns):
            result[column.basis] += effects[block.codes, place] * column.coefficient
    return result
