"""Descend a smooth function above bounds, by BFGS on the parameters that are free.

Nocedal and Wright (2006), Numerical Optimization, algorithm 6.1 with the projection of section
16.7; for a handful of parameters. (Importing scipy.optimize for it costs more than a fit.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.tidy.frame import Floats

#: A value and its gradient.
Differentiable = Callable[[Floats], tuple[float, Floats]]

#: Share of the fall that the slope promises which a step must attain (Armijo).
SUFFICIENT = 1e-4

#: Shortenings of one step at most.
MOST_SHORTENINGS = 40


@dataclass(frozen=True, slots=True)
class _Point:
    at: Floats
    value: float
    gradient: Floats


def descend(
    function: Differentiable,
    start: Floats,
    low: Floats,
    *,
    free: NDArray[np.bool_] | None = None,
    tolerance: float = 1e-11,
    flat: float = 1e-6,
    most_steps: int = 500,
) -> Floats:
    """Return a point where the function falls no more.

    Parameters
    ----------
    function
        Value and gradient.
    start
        Where to start.
    low
        Lower bounds, minus infinity without.
    free
        Which parameters may move, None for all.
    tolerance
        Fall of one step, relative to the value, below which to stop.
    flat
        Largest derivative by a free parameter below which to stop.
    most_steps
        Steps at most.
    """
    moving = np.ones(len(start), dtype=np.bool_) if free is None else free
    here = _evaluated(function, np.maximum(start, np.where(moving, low, start)))
    inverse: Floats | None = None
    for _ in range(most_steps):
        open_ = moving & ~((here.at <= low) & (here.gradient > 0))
        if not open_.any() or np.abs(here.gradient[open_]).max() < flat:
            break
        following = _step(function, here, low, _direction(here.gradient, inverse, open_))
        if following is None and inverse is None:
            break
        if following is None:
            inverse = None
            continue
        fall = here.value - following.value
        inverse = _updated(inverse, following.at - here.at, following.gradient - here.gradient)
        here = following
        if fall <= tolerance * max(abs(here.value), 1.0):
            break
    return here.at


def _evaluated(function: Differentiable, at: Floats) -> _Point:
    value, gradient = function(at)
    return _Point(at, value, gradient)


def _direction(gradient: Floats, inverse: Floats | None, open_: NDArray[np.bool_]) -> Floats:
    """Return the quasi-Newton direction, zero where a parameter may not move."""
    direction = np.zeros_like(gradient)
    if inverse is None:
        direction[open_] = -gradient[open_] / max(float(np.linalg.norm(gradient[open_])), 1.0)
    else:
        direction[open_] = -inverse[np.ix_(open_, open_)] @ gradient[open_]
    return direction


def _step(function: Differentiable, here: _Point, low: Floats, direction: Floats) -> _Point | None:
    """Return the first point along the projected direction that falls enough, if any."""
    length = 1.0
    for _ in range(MOST_SHORTENINGS):
        at = np.maximum(here.at + length * direction, np.minimum(low, here.at))
        promised = float(here.gradient @ (at - here.at))
        if promised >= 0:
            return None
        tried = _evaluated(function, at)
        if tried.value <= here.value + SUFFICIENT * promised:
            return tried
        curved = tried.value - here.value - promised
        shorter = -promised / (2 * curved) if np.isfinite(curved) and curved > 0 else 0.1
        length *= min(max(shorter, 0.1), 0.5)
    return None


def _updated(inverse: Floats | None, step: Floats, change: Floats) -> Floats | None:
    """Return the inverse Hessian after a step (Nocedal and Wright, equations 6.17 and 6.20)."""
    curvature = float(step @ change)
    if curvature <= 1e-10 * float(np.linalg.norm(step) * np.linalg.norm(change)):
        return inverse
    identity = np.eye(len(step))
    if inverse is None:
        inverse = identity * curvature / float(change @ change)
    turn = identity - np.outer(step, change) / curvature
    result: Floats = turn @ inverse @ turn.T + np.outer(step, step) / curvature
    return result
