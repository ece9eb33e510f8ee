"""Responses drawn anew under a fit, row by row."""

from __future__ import annotations

import numpy as np

from analysis.mixed.algebra.deviance import relative_factors
from analysis.mixed.frames.augment import FittedRows
from analysis.mixed.inference.fitted import Fitted
from analysis.tidy.frame import Floats, generator, require_count


def simulated_rows(model: Fitted, n_simulations: int, rng: np.random.Generator) -> Floats:
    """Return responses drawn under a fit, random effects and errors anew, shape (rows, draws)."""
    require_count("n_simulations", n_simulations)
    basis = [f"basis{place}_" for place in range(len(model.statistics.basis))]
    chosen = FittedRows(model).select(["cell_", "fitted_fixed", "weight_", *basis]).df()
    numbers, cells = chosen[basis].to_numpy().T, chosen["cell_"].to_numpy()
    sigma = np.sqrt(model.solution.variance / chosen["weight_"].to_numpy())
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
    sigma = np.sqrt(model.solution.variance)
    factors = relative_factors(model.design.blocks, model.solution.theta)
    for block, factor in zip(model.design.blocks, factors, strict=True):
        effects = sigma * rng.standard_normal((len(block.levels), block.width)) @ factor.T
        for place, column in enumerate(block.columns):
            result[column.basis] += effects[block.codes, place] * column.coefficient
    return result
