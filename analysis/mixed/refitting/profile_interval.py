"""Profile-likelihood intervals: where the deviance rises by a chi-squared quantile.

Bates et al. (2015), section 5.1: the signed root of the rise of the deviance (ML) over its
minimum, with one parameter held and all others optimised, is compared with a normal quantile.
The deviance of the restricted likelihood does the same for deviations and correlations. With few
groups it is the one to use: maximum likelihood takes deviations for smaller than they are, and so
do its intervals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from analysis.mixed.algebra.crossproducts import CrossProducts, select_fixed
from analysis.mixed.algebra.deviance import profile, relative_factors
from analysis.mixed.algebra.optimise import natural_scale, optimise
from analysis.mixed.inference.fixed_effects import chi_squared_quantile
from analysis.mixed.refitting.held import Held, brought_forward, held, term_of
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import require_conf_level
from analysis.tidy.progress import progress

if TYPE_CHECKING:
    from analysis.mixed.inference.fitted import Fitted

#: Doublings of the distance within which an end of an interval is looked for.
MOST_DOUBLINGS = 40


def profile_intervals(
    model: Fitted, *, conf_level: float = 0.95, reml: bool = False
) -> pd.DataFrame:
    """Return one row per fixed effect, deviation and correlation: its profile interval.

    As R's ``confint(method = "profile")``: by maximum likelihood, whatever the fit. A deviation
    whose likelihood falls less than asked at zero has its lower end there, a correlation that
    is not bounded away from one its end at one; where a deviation is zero, the correlations of
    its effect are not known and have no ends. An end is infinite where the likelihood does not
    fall enough as far as it can be computed.

    Parameters
    ----------
    model
        The fit.
    conf_level
        Nominal coverage.
    reml
        True for the restricted likelihood, whatever the fit. It says nothing of fixed effects,
        which then have no rows.

    Returns
    -------
    `effect`, `group`, `term`, `estimate` (where the likelihood is largest), `conf_low`,
    `conf_high`, `conf_level`.

    Examples
    --------
    >>> from statsmodels.datasets import grunfeld
    >>> from analysis import mixed
    >>> rows = grunfeld.load_pandas().data
    >>> fitted = mixed.fit("invest ~ value + (1 | firm)", rows)
    >>> table = mixed.profile_intervals(fitted).set_index("term")
    >>> table.loc["value", ["conf_low", "conf_high"]].astype(float).round(3).tolist()
    [0.14, 0.196]
    """
    require_conf_level(conf_level)
    fitted = model if model.reml is reml else model.refit(reml=reml)
    rise = chi_squared_quantile(conf_level, 1)
    fixed = range(0 if reml else len(fitted.terms))
    steps = [partial(_fixed_row, fitted, place) for place in fixed]
    first = 0
    for which, block in enumerate(fitted.design.blocks):
        steps += [partial(_variance_row, fitted, which, first, each) for each in block.positions]
        first += len(block.positions)
    steps.append(partial(_sigma_row, fitted))
    rows = [step(rise) for step in progress(steps, "profile")]
    return glossary.table(
        rows,
        columns=["effect", "group", "term", "estimate", "conf_low", "conf_high"],
        conf_level=conf_level,
        n_obs=fitted.statistics.n_obs,
        method="Profile of the restricted likelihood" if reml else "Profile likelihood",
        note="",
    )


Row = tuple[str, str, str, float, float, float]


def _fixed_row(model: Fitted, place: int, rise: float) -> Row:
    """Return the interval of a fixed effect: y less the effect held, regressed on the others."""
    cross = model.cross
    estimate = float(model.coefficients[place])
    std_error = float(np.sqrt(model.inference.plain_covariance[place, place]))
    turned = _formula_design(cross)
    others = np.array([k for k in range(cross.n_fixed) if k != place], dtype=np.intp)
    q = cross.n_random
    start = model.solution.theta

    def excess(value: float) -> float:
        held = _less_column(turned, q + place, value - float(cross.shift[place]))
        theta = optimise(select_fixed(held, others), reml=False, start=start).theta
        solution = profile(select_fixed(held, others), theta, reml=False)
        return solution.criterion - model.solution.criterion - rise

    low = _end(excess, estimate, -std_error)
    high = _end(excess, estimate, std_error)
    return "fixed", "", model.terms[place], estimate, low, high


def _formula_design(cross: CrossProducts) -> CrossProducts:
    """Return cross-products in the formula's design, where every coefficient has its column."""
    q, p = cross.n_random, cross.n_fixed
    size = cross.size
    turn = np.eye(size)
    turn[q : q + p, q : q + p] = np.linalg.inv(cross.centring)
    return replace(cross.turn(turn), centring=np.eye(p))


def _less_column(cross: CrossProducts, column: int, value: float) -> CrossProducts:
    """Return cross-products of y - value * column."""
    turn = np.eye(cross.size)
    turn[column, -1] = -value
    return cross.turn(turn)


def _variance_row(
    model: Fitted, which: int, start: int, position: tuple[int, int], rise: float
) -> Row:
    """Return the interval of a deviation or a correlation of a block, whose theta has a start."""
    block, (row, column) = model.design.blocks[which], position
    if row == column:
        leads = term_of(block, row).start == row
        forward = held(model) if leads else brought_forward(model, which, (row,))
        leading = start + block.positions.index((term_of(block, row).start,) * 2)
        factor = relative_factors(model.design.blocks, model.solution.theta)[which]
        estimate = forward.sigma * float(np.linalg.norm(factor[row]))
        ends = _deviation_ends(model, forward, leading, estimate, rise)
        return "ran_pars", block.group, f"sd__{block.columns[row].name}", estimate, *ends
    first = term_of(block, row).start
    forward = brought_forward(model, which, (column, row))
    below = start + block.positions.index((first + 1, first))
    estimate = _correlation(model, which, (column, row))
    ends = _correlation_ends(model, forward, below, estimate, rise)
    term = f"cor__{block.columns[column].name}.{block.columns[row].name}"
    return "ran_pars", block.group, term, estimate, *ends


def _deviation_ends(
    model: Fitted, forward: Held, place: int, estimate: float, rise: float
) -> tuple[float, float]:
    """Return the ends of the interval of the standard deviation of a term's first effect."""

    def excess(value: float) -> float:
        return forward.hold_deviation(place, max(value, 0.0)) - model.solution.criterion - rise

    step = max(estimate, forward.sigma / float(natural_scale(forward.cross)[place]) / 10) / 4
    low = 0.0 if estimate == 0 or excess(0.0) <= 0 else _root(excess, 0.0, estimate)
    high = _end(excess, estimate, step)
    return low, high


def _correlation(model: Fitted, which: int, effects: tuple[int, int]) -> float:
    """Return the correlation of two effects, NaN where a deviation is zero."""
    factor = relative_factors(model.design.blocks, model.solution.theta)[which]
    a, b = factor[list(effects)]
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / lengths if lengths else np.nan


def _correlation_ends(
    model: Fitted, forward: Held, place: int, estimate: float, rise: float
) -> tuple[float, float]:
    """Return the ends of the interval of a correlation: one where it is not bounded away."""

    def excess(value: float) -> float:
        return forward.hold_correlation(place, value) - model.solution.criterion - rise

    def end(bound: float) -> float:
        if excess(bound) <= 0:
            return bound
        return _root(excess, float(np.clip(estimate, -1, 1)), bound)

    return (np.nan, np.nan) if np.isnan(estimate) else (end(-1.0), end(1.0))


def _sigma_row(model: Fitted, rise: float) -> Row:
    whole = held(model)

    def excess(log_sigma: float) -> float:
        return whole.hold_sigma(float(np.exp(log_sigma))) - model.solution.criterion - rise

    at, step = float(np.log(whole.sigma)), float(1 / np.sqrt(model.statistics.n_obs))
    low, high = (float(np.exp(_end(excess, at, side))) for side in (-step, step))
    return "ran_pars", "Residual", "sd__Observation", whole.sigma, low, high


def _root(excess: Callable[[float], float], one: float, other: float, xtol: float = 2e-12) -> float:
    from scipy.optimize import brentq

    return float(brentq(excess, one, other, xtol=xtol))


def _end(excess: Callable[[float], float], estimate: float, step: float) -> float:
    """Return where the excess changes sign, on the side of the step.

    Infinite where it does not as far as the deviance has digits.
    """
    near = estimate
    for _ in range(MOST_DOUBLINGS):
        far = near + step
        try:
            beyond = excess(far)
        except (np.linalg.LinAlgError, DesignError):
            break
        if beyond > 0:
            return _root(excess, near, far, xtol=abs(step) * 1e-7)
        near, step = far, 2 * step
    return float(np.copysign(np.inf, step))
