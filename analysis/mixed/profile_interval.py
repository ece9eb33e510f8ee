"""Profile-likelihood intervals: where the deviance rises by a chi-squared quantile.

Bates et al. (2015), section 5.1: the signed root of the rise of the deviance (ML) over its
minimum, with one parameter held and all others optimised, is compared with a normal quantile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.optimize import Bounds, brentq, minimize

from analysis import glossary
from analysis.frame import Floats, require_conf_level
from analysis.mixed.crossproducts import CrossProducts, with_fixed
from analysis.mixed.deviance import profile
from analysis.mixed.distributions import chi_squared_quantile
from analysis.mixed.optimise import is_diagonal, natural_scale, optimise

if TYPE_CHECKING:
    from analysis.mixed.model import MixedModel

#: Doublings of the distance within which an end of an interval is looked for.
MOST_DOUBLINGS = 40


def profile_intervals(model: MixedModel, *, conf_level: float = 0.95) -> pd.DataFrame:
    """Return one row per fixed effect and standard deviation: its profile interval.

    As R's ``confint(method = "profile")``: by maximum likelihood, whatever the fit. Standard
    deviations whose row of the relative factor has other elements (the second effect of a
    correlated term), and correlations, have no row. A deviation whose likelihood falls less
    than asked at zero has its lower end there.

    Parameters
    ----------
    model
        The fit.
    conf_level
        Nominal coverage.

    Returns
    -------
    `effect`, `group`, `term`, `estimate` (of the maximum likelihood), `conf_low`, `conf_high`,
    `conf_level`.
    """
    require_conf_level(conf_level)
    fitted = model.refitted(reml=False) if model.reml else model
    rise = chi_squared_quantile(conf_level, 1)
    rows = [_fixed_row(fitted, place, rise) for place in range(len(fitted.terms))]
    rows += [_deviation_row(fitted, place, rise) for place in _alone(fitted)]
    rows.append(_sigma_row(fitted, rise))
    result = pd.DataFrame(
        rows, columns=["effect", "group", "term", "estimate", "conf_low", "conf_high"]
    ).assign(
        conf_level=conf_level,
        n_obs=fitted.statistics.n_obs,
        method="Profile likelihood",
        note="",
    )
    glossary.checked(result.columns)
    return result


Row = tuple[str, str, str, float, float, float]


def _fixed_row(model: MixedModel, place: int, rise: float) -> Row:
    """Return the interval of a fixed effect: y less the effect held, regressed on the others."""
    cross = model.cross
    estimate = float(model.coefficients[place])
    std_error = float(np.sqrt(model.inference.estimated.covariance[place, place]))
    turned = _in_formulas_design(cross)
    others = np.array([k for k in range(cross.n_fixed) if k != place], dtype=np.intp)
    q = cross.n_random
    start = model.found.theta

    def excess(value: float) -> float:
        held = _less_column(turned, q + place, value - float(cross.shift[place]))
        theta = optimise(with_fixed(held, others), reml=False, start=start).theta
        found = profile(with_fixed(held, others), theta, reml=False)
        return found.criterion - model.found.criterion - rise

    low = _end(excess, estimate, -std_error)
    high = _end(excess, estimate, std_error)
    return "fixed", "", model.terms[place], estimate, low, high


def _in_formulas_design(cross: CrossProducts) -> CrossProducts:
    """Return cross-products in the formula's design, where every coefficient has its column."""
    q, p = cross.n_random, cross.n_fixed
    size = len(cross.rest)
    turn = np.eye(size)
    turn[q : q + p, q : q + p] = np.linalg.inv(cross.centring)
    return replace(
        cross,
        cross=cross.cross @ turn,
        rest=turn.T @ cross.rest @ turn,
        centring=np.eye(p),
    )


def _less_column(cross: CrossProducts, column: int, value: float) -> CrossProducts:
    """Return cross-products of y - value * column."""
    turn = np.eye(len(cross.rest))
    turn[column, -1] = -value
    return replace(cross, cross=cross.cross @ turn, rest=turn.T @ cross.rest @ turn)


def _alone(model: MixedModel) -> list[int]:
    """Return the elements of theta that are a deviation over sigma by themselves."""
    places, start = [], 0
    for block in model.design.blocks:
        for offset, (row, column) in enumerate(block.positions):
            in_row = [each for each in block.positions if each[0] == row]
            if row == column and len(in_row) == 1:
                places.append(start + offset)
        start += len(block.positions)
    return places


def _deviation_row(model: MixedModel, place: int, rise: float) -> Row:
    """Return the interval of a random effect's standard deviation."""
    sigma = float(np.sqrt(model.found.variance))
    estimate = sigma * float(model.found.theta[place])
    held = _Held(model)

    def excess(value: float) -> float:
        return held.deviance(place, max(value, 0.0)) - model.found.criterion - rise

    step = max(estimate, sigma / float(natural_scale(model.cross)[place]) / 10) / 4
    low = 0.0 if estimate == 0 or excess(0.0) <= 0 else brentq(excess, 0.0, estimate)
    high = _end(excess, estimate, step)
    block, row = _effect_of(model, place)
    return "ran_pars", block, f"sd__{row}", estimate, float(low), high


def _sigma_row(model: MixedModel, rise: float) -> Row:
    sigma = float(np.sqrt(model.found.variance))
    held = _Held(model)

    def excess(value: float) -> float:
        return held.deviance_of_sigma(value) - model.found.criterion - rise

    step = sigma / np.sqrt(model.statistics.n_obs)
    low, high = _end(excess, sigma, -step), _end(excess, sigma, step)
    return "ran_pars", "Residual", "sd__Observation", sigma, low, high


def _effect_of(model: MixedModel, place: int) -> tuple[str, str]:
    labels = [
        (block.group, block.columns[row].name)
        for block in model.design.blocks
        for row, _ in block.positions
    ]
    return labels[place]


class _Held:
    """The deviance with one standard deviation held, all else optimised."""

    def __init__(self, model: MixedModel) -> None:
        self.cross = model.cross
        self.theta = model.found.theta
        self.sigma = float(np.sqrt(model.found.variance))
        self.scale = natural_scale(self.cross)
        self.lower = np.where(is_diagonal(self.cross), 0.0, -np.inf)

    def deviance(self, place: int, value: float) -> float:
        """Return the least deviance with theta[place] * sigma equal to a value.

        Searched over the other elements of theta and log sigma.
        """
        others = [k for k in range(len(self.theta)) if k != place]

        def objective(at: Floats) -> tuple[float, Floats]:
            sigma = float(np.exp(at[-1]))
            theta = np.empty(len(self.theta))
            theta[others] = at[:-1] / self.scale[others]
            theta[place] = value / sigma
            found = profile(self.cross, theta, reml=False, variance=sigma**2)
            by_theta = found.gradient
            by_log = 2 * found.df - 2 * found.residual / sigma**2 - by_theta[place] * theta[place]
            return found.criterion, np.append(by_theta[others] / self.scale[others], by_log)

        start = np.append((self.theta * self.scale)[others], np.log(self.sigma))
        low = np.append(self.lower[others], -np.inf)
        return _least(objective, start, low)

    def deviance_of_sigma(self, sigma: float) -> float:
        """Return the least deviance with sigma held."""

        def objective(at: Floats) -> tuple[float, Floats]:
            theta = at / self.scale
            found = profile(self.cross, theta, reml=False, variance=sigma**2)
            return found.criterion, found.gradient / self.scale

        return _least(objective, self.theta * self.scale * self.sigma / sigma, self.lower)


def _least(
    objective: Callable[[Floats], tuple[float, Floats]], start: Floats, low: Floats
) -> float:
    found = minimize(
        objective,
        np.where(low == 0, np.maximum(start, 1e-3), start),
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(low, np.full(len(low), np.inf)),
        options={"maxiter": 500, "ftol": 1e-14, "gtol": 1e-7},
    )
    return float(found.fun)


def _end(excess: Callable[[float], float], estimate: float, step: float) -> float:
    """Return where the excess changes sign, on the side of the step."""
    near = estimate
    for _ in range(MOST_DOUBLINGS):
        far = near + step
        if excess(far) > 0:
            return float(brentq(excess, near, far, xtol=abs(step) * 1e-7))
        near, step = far, 2 * step
    return float(np.copysign(np.inf, step))
