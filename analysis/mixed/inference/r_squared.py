"""The fixed and the random part of fitted values, by basis and cell, and shares of variance.

Nakagawa and Schielzeth (2013), Methods in Ecology and Evolution 4, 133; with random slopes,
Johnson (2014), ibid. 5, 944: the variance of a random term is the mean of z' Sigma z over rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.mixed.algebra.design import Column, block_rows
from analysis.mixed.algebra.deviance import relative_factors
from analysis.mixed.inference.fitted import Fitted
from analysis.mixed.reading.statistics import Statistics
from analysis.tidy.frame import Floats


@dataclass(frozen=True, slots=True)
class VarianceShares:
    """Variance of the parts of a model."""

    fixed: float  #: Of the fixed part over rows.
    random: float  #: Of the random part, averaged over rows.
    #: Of the residual, averaged over rows by weight: it does not depend on the weights' unit.
    residual: float

    @property
    def marginal(self) -> float:
        """Share of the fixed part."""
        return self.fixed / (self.fixed + self.random + self.residual)

    @property
    def conditional(self) -> float:
        """Share of the fixed and the random part."""
        return (self.fixed + self.random) / (self.fixed + self.random + self.residual)

    @property
    def intraclass(self) -> float:
        """Share of the random part in what the fixed part leaves (the adjusted ICC)."""
        return self.random / (self.random + self.residual)


def variance_shares(model: Fitted) -> VarianceShares:
    """Return the variance of the fixed, the random and the residual part."""
    statistics = model.statistics
    part = fixed_part(model.design.fixed, model.coefficients, statistics)
    size = float(statistics.product(0, 0).sum())
    return VarianceShares(
        fixed=variance(part, statistics),
        random=_random_variance(model),
        residual=model.solution.variance * statistics.n_obs / size,
    )


def _random_variance(model: Fitted) -> float:
    """Return the sum over blocks of tr(Sigma Z'Z) / n."""
    cross = model.cross
    size = float(model.statistics.product(0, 0).sum())
    factors = relative_factors(cross.blocks, model.solution.theta)
    squares, later = [cross.diagonal.sum(axis=0)], cross.blocks[1:]
    for block, rows in zip(later, block_rows(later), strict=True):
        within, k = cross.among[rows, rows], block.width
        sums = [within[i::k, j::k].diagonal().sum() for i in range(k) for j in range(k)]
        squares.append(np.reshape(sums, (k, k)))
    total = sum(
        float(np.sum((factor @ factor.T) * square))
        for factor, square in zip(factors, squares, strict=True)
    )
    return model.solution.variance * total / size


def fixed_part(columns: tuple[Column, ...], coefficients: Floats, statistics: Statistics) -> Floats:
    """Return the fixed part: a row times this, by basis and cell, shape (basis, cells)."""
    result = np.zeros((len(statistics.basis), len(statistics.counts)))
    for column, coefficient in zip(columns, coefficients, strict=True):
        result[column.basis] += coefficient * column.coefficient
    return result


def random_part(model: Fitted) -> Floats:
    """Return the conditional modes' part, shape (basis, cells)."""
    result = np.zeros((len(model.statistics.basis), len(model.statistics.counts)))
    for modes in model.inference.modes:
        for place, column in enumerate(modes.block.columns):
            effects = modes.effects[modes.block.codes, place]
            result[column.basis] += effects * column.coefficient
    return result


def variance(part: Floats, statistics: Statistics) -> float:
    """Return the sample variance over rows (weighted, where rows have weights) of a part."""
    about_shift = part.copy()
    about_shift[0] += statistics.shift[: len(part)] @ part
    size = float(statistics.product(0, 0).sum())
    mean = sum(float(about_shift[i] @ statistics.product(0, i)) for i in range(len(part))) / size
    about_shift[0] -= mean
    squares = sum(
        float((about_shift[i] * about_shift[j]) @ statistics.product(i, j))
        for i in range(len(part))
        for j in range(len(part))
    )
    return squares / size * statistics.n_obs / (statistics.n_obs - 1)
