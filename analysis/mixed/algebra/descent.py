"""Minimise a smooth function: BFGS down to the valley, Newton's steps for the last digits.

BFGS is algorithm 6.1 of Nocedal and Wright (2006), Numerical Optimization, for a handful of
parameters. (Importing scipy.optimize for it costs more than a fit.) Newton's steps are by the
absolute eigenvalues of the Hessian (Dauphin et al. 2014, "Identifying and attacking the saddle
point problem", section 4): along a direction of negative curvature the step goes down, where a
plain Newton step would climb to the saddle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import norm

from analysis.tidy.frame import Floats

#: A value and its gradient.
Differentiable = Callable[[Floats], tuple[float, Floats]]

#: Share of the fall that the slope promises which a step must attain (Armijo).
SUFFICIENT = 1e-4

#: Steps of BFGS at most, and shortenings of one.
MOST_DESCENTS, MOST_SHORTENINGS = 500, 40

#: A gradient by a parameter of unit size below this is zero.
NEGLIGIBLE = 1e-9

#: Expected fall below which steps by an approximate Hessian end.
SETTLED = 1e-13

#: A step of Newton's that leaves more of the gradient than this share asks for a new Hessian.
STEADY = 0.1

#: Newton's steps at most, and shortenings of one.
MOST_STEPS, MOST_QUARTERINGS = 20, 4

#: Longest step, per unit of the point's length (at least one).
LONGEST = 0.5

#: A curvature below this share of the largest is rounding error.
FLAT = 1e-7

#: Step of the differences that make the Hessian of an analytic gradient.
DIFFERENCE = 1e-4


def descend(
    function: Differentiable, start: Floats, *, tolerance: float = 1e-11, flat: float = 1e-6
) -> Floats:
    """Return a point where the function falls no more.

    The search stops where one step falls by less than the tolerance, relative to the value, or
    where no derivative by a parameter is larger than `flat`.
    """
    at, (value, gradient) = start, function(start)
    inverse: Floats | None = None
    for _ in range(MOST_DESCENTS):
        if np.abs(gradient).max() < flat:
            break
        if inverse is None:
            direction = -gradient / max(float(np.linalg.norm(gradient)), 1.0)
        else:
            direction = -inverse @ gradient
        following = _line_search(function, at, value, gradient, direction)
        if following is None and inverse is None:
            break
        if following is None:
            inverse = None
            continue
        inverse = _update(inverse, following[0] - at, following[2] - gradient)
        before, (at, value, gradient) = value, following
        if before - value <= tolerance * max(abs(before), 1.0):
            break
    return at


def _line_search(
    function: Differentiable, at: Floats, value: float, gradient: Floats, direction: Floats
) -> tuple[Floats, float, Floats] | None:
    """Return the first point along a direction that falls enough, with value and gradient."""
    length = 1.0
    for _ in range(MOST_SHORTENINGS):
        tried = at + length * direction
        promised = float(gradient @ (tried - at))
        if promised >= 0:
            return None
        reached, slope = function(tried)
        if reached <= value + SUFFICIENT * promised:
            return tried, reached, slope
        curved = reached - value - promised
        shorter = -promised / (2 * curved) if np.isfinite(curved) and curved > 0 else 0.1
        length *= min(max(shorter, 0.1), 0.5)
    return None


def _update(inverse: Floats | None, step: Floats, change: Floats) -> Floats | None:
    """Return the inverse Hessian after a step (Nocedal and Wright, equations 6.17 and 6.20)."""
    curvature = float(step @ change)
    if curvature <= 1e-10 * float(np.linalg.norm(step) * np.linalg.norm(change)):
        return inverse
    identity = np.eye(len(step))
    if inverse is None:
        inverse = identity * curvature / float(change @ change)
    turn = identity - np.outer(step, change) / curvature
    return np.asarray(turn @ inverse @ turn.T + np.outer(step, step) / curvature)


@dataclass(frozen=True, slots=True)
class Floor:
    """Where Newton's method ended."""

    at: Floats  #: The point.
    value: float  #: Of the function there.
    gradient: Floats  #: Of the function there.
    #: There or at a point very near, by the free parameters, shape (f, f); None if none is free.
    hessian: Floats | None
    free: NDArray[np.bool_]  #: Which parameters were free.

    @property
    def steepest(self) -> float:
        """Largest derivative by a free parameter, in absolute value."""
        return float(np.abs(self.gradient[self.free]).max(initial=0.0))

    @property
    def decrement(self) -> float:
        """Expected fall of the function in one more step; flat directions count in full."""
        if self.hessian is None:
            return 0.0
        values, vectors = np.linalg.eigh(self.hessian)
        along = vectors.T @ self.gradient[self.free]
        return float((along**2 / _curvatures(values)).sum() / 2)

    def downward(self) -> Floats | None:
        """Return the direction of the most negative curvature, None if there is none."""
        if self.hessian is None:
            return None
        values, vectors = np.linalg.eigh(self.hessian)
        if values[0] >= -10 * FLAT * np.abs(values).max():
            return None
        direction = np.zeros_like(self.at)
        direction[self.free] = vectors[:, 0]
        return direction


def descend_to_floor(
    function: Differentiable,
    start: Floats,
    free: NDArray[np.bool_],
    hessian_at: Callable[[Floats], Floats] | None = None,
) -> Floor:
    """Return where Newton steps on the free parameters end.

    One Hessian serves while the gradient keeps falling tenfold, then it is made anew. There is
    one at the end even if no step was needed: it tells whether the point is a minimum. It is of
    central differences, unless `hessian_at` returns it, by all parameters: that is an
    approximation, which learns of every step, and the search ends where one more falls by nothing.
    """

    def hessian(at: Floats) -> Floats:
        if hessian_at is None:
            return free_hessian(function, at, free)
        return hessian_at(at)[np.ix_(free, free)]

    here = Floor(start, *function(start), None, free)
    fresh = False
    for _ in range(MOST_STEPS):
        before = here.steepest
        is_settled = (
            hessian_at is not None and here.hessian is not None and here.decrement < SETTLED
        )
        if before < NEGLIGIBLE or is_settled:
            break
        if here.hessian is None:
            here, fresh = replace(here, hessian=hessian(here.at)), True
        following = _step(function, here)
        if following is None and fresh:
            break
        if following is None:
            here = replace(here, hessian=None)
            continue
        if hessian_at is not None:
            following = replace(following, hessian=_update_hessian(here, following))
        here, fresh = following, False
        if here.steepest > STEADY * before:
            here = replace(here, hessian=None)
    if here.hessian is None and free.any():
        here = replace(here, hessian=hessian(here.at))
    return here


def _update_hessian(before: Floor, after: Floor) -> Floats | None:
    """Return the Hessian after a step, by BFGS (Nocedal and Wright, equation 6.19)."""
    hessian, free = before.hessian, before.free
    if hessian is None:
        return None
    step = (after.at - before.at)[free]
    change = (after.gradient - before.gradient)[free]
    along = hessian @ step
    if change @ step <= 1e-10 * float(np.linalg.norm(step) * np.linalg.norm(change)):
        return hessian
    learned = np.outer(change, change) / (change @ step) - np.outer(along, along) / (step @ along)
    return np.asarray(hessian + learned)


def free_hessian(function: Differentiable, at: Floats, free: NDArray[np.bool_]) -> Floats:
    """Return the Hessian by the free parameters, from central differences of the gradient."""
    columns = []
    for place in np.flatnonzero(free):
        step = np.zeros_like(at)
        step[place] = DIFFERENCE * max(1.0, abs(at[place]))
        near = function(at + step)[1] - function(at - step)[1]
        columns.append(near[free] / (2 * step[place]))
    return _symmetric(columns)


def hessian_by_differences(gradient_at: Callable[[Floats], Floats], at: Floats) -> Floats:
    """Return the symmetric Hessian by fourth-order central differences of a gradient."""
    columns = []
    for place in range(len(at)):
        step = np.zeros_like(at)
        step[place] = DIFFERENCE * max(1.0, abs(at[place]))
        near = gradient_at(at + step) - gradient_at(at - step)
        far = gradient_at(at + 2 * step) - gradient_at(at - 2 * step)
        columns.append((8 * near - far) / (12 * step[place]))
    return _symmetric(columns)


def _symmetric(columns: list[Floats]) -> Floats:
    hessian = np.column_stack(columns)
    return np.asarray((hessian + hessian.T) / 2, dtype=np.float64)


def _curvatures(values: Floats) -> Floats:
    """Return curvatures to divide by: absolute, and not less than their rounding error."""
    sizes = np.abs(values)
    return np.asarray(np.maximum(sizes, max(FLAT * sizes.max(), 1e-300)))


def _step(function: Differentiable, here: Floor) -> Floor | None:
    """Return the point one step on, None if no step is better."""
    if here.hessian is None:
        return None
    values, vectors = np.linalg.eigh(here.hessian)
    step = np.zeros_like(here.at)
    step[here.free] = -vectors @ (vectors.T @ here.gradient[here.free] / _curvatures(values))
    longest = LONGEST * max(1.0, float(np.linalg.norm(here.at)))
    # The norm of scipy does not overflow where numpy's squares a large step.
    step *= min(1.0, longest / float(norm(step)))
    noise = 1e-12 * (1 + abs(here.value))
    for _ in range(MOST_QUARTERINGS):
        tried = Floor(here.at + step, *function(here.at + step), here.hessian, here.free)
        flatter = tried.steepest < here.steepest
        if tried.value < here.value - noise or (tried.value <= here.value + noise and flatter):
            return tried
        step = step / 4
    return None
