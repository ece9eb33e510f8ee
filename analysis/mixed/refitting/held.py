"""The least deviance with a standard deviation or a correlation held.

The first effect of a correlated term has a row of the relative factor to itself, so that its
standard deviation is one element of theta times sigma; the row of the second is its relative
deviation times (rho, sqrt(1 - rho^2)). Any effect can be brought to the front, as the order of
a term's effects is a matter of writing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from analysis.mixed.algebra.crossproducts import CrossProducts, assemble
from analysis.mixed.algebra.design import Block
from analysis.mixed.algebra.deviance import profile, relative_factors
from analysis.mixed.algebra.optimise import is_diagonal, natural_scale
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats

if TYPE_CHECKING:
    from analysis.mixed.inference.fitted import Fitted

#: Least diagonal element of a factor, in units of the columns, that a search starts from.
OFF_BOUNDARY = 1e-3

#: Farthest element of a factor, in units of the columns, and farthest change of log sigma, that a
#: search looks at: beyond, whole effects are lost in rounding and the deviance has no digits.
FARTHEST = 1e4
FARTHEST_LOG = 9.0

#: Rise over the start that stands for a deviance lost in rounding: a line search turns back there.
WALL = 1e6

#: Share of a covariance's diagonal that keeps a singular one factorable.
JITTER = 1e-10


@dataclass(frozen=True, slots=True)
class Held:
    """A fitted model whose deviance is asked with one parameter held."""

    cross: CrossProducts  #: The cross-products.
    theta: Floats  #: The unconstrained optimum, where every search starts.
    sigma: float  #: The residual standard deviation there.
    reml: bool  #: Whether the deviance is that of the restricted likelihood.

    def hold_deviation(self, place: int, value: float) -> float:
        """Return the least deviance with theta[place] * sigma equal to a value.

        Searched over the other elements of theta and log sigma.
        """
        scale, others = natural_scale(self.cross), self._others(place)

        def objective(at: Floats) -> tuple[float, Floats]:
            sigma = float(np.exp(at[-1]))
            theta = np.empty(len(self.theta))
            theta[others] = at[:-1] / scale[others]
            theta[place] = value / sigma
            solution = profile(self.cross, theta, reml=self.reml, variance=sigma**2)
            by_theta = solution.gradient
            by_log = (
                2 * solution.df - 2 * solution.residual / sigma**2 - by_theta[place] * theta[place]
            )
            return solution.criterion, np.append(by_theta[others] / scale[others], by_log)

        start = np.append(self._interior()[others], np.log(self.sigma))
        reach = np.append(np.full(len(others), FARTHEST), FARTHEST_LOG)
        reach[:-1] = np.maximum(reach[:-1], 2 * np.abs(start[:-1]))
        centre = np.append(np.zeros(len(others)), start[-1])
        return _least(objective, start, centre - reach, centre + reach)

    def hold_correlation(self, place: int, value: float) -> float:
        """Return the least deviance with the correlation held of a term's first two effects."""
        scale = natural_scale(self.cross)
        diagonal = place + int(np.argmax(is_diagonal(self.cross)[place:]))
        others = self._others(diagonal)
        along, across = value, float(np.sqrt(1 - value**2))

        def objective(at: Floats) -> tuple[float, Floats]:
            theta = np.empty(len(self.theta))
            theta[others] = at / scale[others]
            deviation = theta[place]
            theta[place], theta[diagonal] = along * deviation, across * deviation
            solution = profile(self.cross, theta, reml=self.reml)
            slope = solution.gradient.copy()
            slope[place] = along * slope[place] + across * slope[diagonal]
            return solution.criterion, slope[others] / scale[others]

        start = self._interior()
        start[place] = np.hypot(start[place], start[diagonal])
        reach = np.maximum(FARTHEST, 2 * np.abs(start))
        lower = -reach
        lower[[place - 1, place]] = 0.0
        return _least(objective, start[others], lower[others], reach[others])

    def hold_sigma(self, sigma: float) -> float:
        """Return the least deviance with sigma held."""
        scale = natural_scale(self.cross)

        def objective(at: Floats) -> tuple[float, Floats]:
            solution = profile(self.cross, at / scale, reml=self.reml, variance=sigma**2)
            return solution.criterion, solution.gradient / scale

        start = self._interior() * self.sigma / sigma
        reach = np.maximum(FARTHEST, 2 * np.abs(start))
        return _least(objective, start, -reach, reach)

    def _others(self, place: int) -> list[int]:
        return [k for k in range(len(self.theta)) if k != place]

    def _interior(self) -> Floats:
        """Return theta in units of the columns, off the boundary where no gradient shows."""
        at = self.theta * natural_scale(self.cross)
        return np.where(is_diagonal(self.cross), np.maximum(at, OFF_BOUNDARY), at)


def held(model: Fitted) -> Held:
    """Return a fitted model, to ask the deviance that it was fitted by."""
    sigma = float(np.sqrt(model.solution.variance))
    return Held(model.cross, model.solution.theta, sigma, model.reml)


def brought_forward(model: Fitted, which: int, effects: tuple[int, ...]) -> Held:
    """Return the same model with some effects of a term written first."""
    block = model.design.blocks[which]
    term = term_of(block, effects[0])
    order = list(range(block.width))
    order[term.start : term.stop] = [*effects, *(k for k in term if k not in effects)]
    columns = tuple(block.columns[k] for k in order)
    blocks = list(model.design.blocks)
    blocks[which] = replace(block, columns=columns)
    design = replace(model.design, blocks=tuple(blocks))
    cross = assemble(model.statistics, design)
    factors = relative_factors(model.design.blocks, model.solution.theta)
    factors[which] = _reorder(factors[which], order)
    theta = [
        factor[row, column]
        for factor, each in zip(factors, blocks, strict=True)
        for row, column in each.positions
    ]
    return Held(cross, np.array(theta), float(np.sqrt(model.solution.variance)), model.reml)


def term_of(block: Block, effect: int) -> range:
    """Return the effects of a block that are correlated with one, itself included."""
    tied = [row for row, column in block.positions if column == effect]
    tied += [column for row, column in block.positions if row == effect]
    return range(min(tied), max(tied) + 1)


def _reorder(factor: Floats, order: list[int]) -> Floats:
    """Return the lower triangular factor of a covariance with its effects in another order."""
    covariance = (factor @ factor.T)[np.ix_(order, order)]
    size = float(np.trace(covariance)) or 1.0
    root = np.linalg.cholesky(covariance + JITTER * size * np.eye(len(order)))
    return np.asarray(root, dtype=np.float64)


def _least(
    objective: Callable[[Floats], tuple[float, Floats]], start: Floats, low: Floats, high: Floats
) -> float:
    """Return the least value in a box; zero as an end would hold a correlation's sign."""
    from scipy.optimize import Bounds, minimize

    wall = objective(start)[0] + WALL

    def objective_or_wall(at: Floats) -> tuple[float, Floats]:
        try:
            return objective(at)
        except (np.linalg.LinAlgError, DesignError):
            return wall, np.zeros(len(at))

    result = minimize(
        objective_or_wall,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(low, high),
        options={"maxiter": 500, "ftol": 1e-14, "gtol": 1e-7},
    )
    return float(result.fun)
