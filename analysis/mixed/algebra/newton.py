"""Newton's method for the last digits of a minimum, and what one more step would gain.

Steps are by the absolute eigenvalues of the Hessian (Dauphin et al. 2014, "Identifying and
attacking the saddle point problem", section 4): along a direction of negative curvature the step
goes down, where a plain Newton step would climb to the saddle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import norm

from analysis.mixed.algebra.quasi_newton import Differentiable
from analysis.tidy.frame import Floats

#: A gradient by a parameter of unit size below this is zero.
NEGLIGIBLE = 1e-9

#: A step that leaves more of the gradient than this share asks for a new Hessian.
STEADY = 0.1

#: Steps at most.
MOST_STEPS = 20

#: Shortenings of one step at most.
MOST_SHORTENINGS = 4

#: Longest step, per unit of the point's length (at least one).
LONGEST = 0.5

#: A curvature below this share of the largest is rounding error.
FLAT = 1e-7

#: Step of the differences that make the Hessian of an analytic gradient.
DIFFERENCE = 1e-4


@dataclass(frozen=True, slots=True)
class Floor:
    """Where Newton's method ended.

    Attributes
    ----------
    at
        The point.
    value
        Of the function there.
    gradient
        Of the function there.
    hessian
        There or at a point very near, by the free parameters, shape (f, f); None if none is free.
    free
        Which parameters were free.
    """

    at: Floats
    value: float
    gradient: Floats
    hessian: Floats | None
    free: NDArray[np.bool_]

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


def descend_to_floor(function: Differentiable, start: Floats, free: NDArray[np.bool_]) -> Floor:
    """Return where Newton steps on the free parameters end.

    One Hessian serves while the gradient keeps falling tenfold, then it is made anew. There is
    one at the end even if no step was needed: it tells whether the point is a minimum.
    """
    here = _evaluated(function, start, free)
    fresh = False
    for _ in range(MOST_STEPS):
        before = here.steepest
        if before < NEGLIGIBLE:
            break
        if here.hessian is None:
            here, fresh = replace(here, hessian=free_hessian(function, here.at, free)), True
        following = _stepped(function, here)
        if following is None and fresh:
            break
        if following is None:
            here = replace(here, hessian=None)
            continue
        here, fresh = following, False
        if here.steepest > STEADY * before:
            here = replace(here, hessian=None)
    if here.hessian is None and free.any():
        here = replace(here, hessian=free_hessian(function, here.at, free))
    return here


def _evaluated(function: Differentiable, at: Floats, free: NDArray[np.bool_]) -> Floor:
    value, gradient = function(at)
    return Floor(at, value, gradient, None, free)


def newton_step(hessian: Floats, gradient: Floats) -> Floats:
    """Return the step down by absolute curvatures."""
    values, vectors = np.linalg.eigh(hessian)
    result: Floats = -vectors @ (vectors.T @ gradient / _curvatures(values))
    return result


def free_hessian(function: Differentiable, at: Floats, free: NDArray[np.bool_]) -> Floats:
    """Return the Hessian by the free parameters, from central differences of the gradient."""
    columns = []
    for place in np.flatnonzero(free):
        step = np.zeros_like(at)
        step[place] = DIFFERENCE * max(1.0, abs(at[place]))
        near = function(at + step)[1] - function(at - step)[1]
        columns.append(near[free] / (2 * step[place]))
    hessian = np.column_stack(columns)
    symmetric: Floats = (hessian + hessian.T) / 2
    return symmetric


def hessian_by_differences(gradient_at: Callable[[Floats], Floats], at: Floats) -> Floats:
    """Return the symmetric Hessian by fourth-order central differences of a gradient."""
    columns = []
    for place in range(len(at)):
        step = np.zeros_like(at)
        step[place] = DIFFERENCE * max(1.0, abs(at[place]))
        near = gradient_at(at + step) - gradient_at(at - step)
        far = gradient_at(at + 2 * step) - gradient_at(at - 2 * step)
        columns.append((8 * near - far) / (12 * step[place]))
    hessian = np.column_stack(columns)
    symmetric: Floats = (hessian + hessian.T) / 2
    return symmetric


def _curvatures(values: Floats) -> Floats:
    """Return curvatures to divide by: absolute, and not less than their rounding error."""
    sizes = np.abs(values)
    result: Floats = np.maximum(sizes, max(FLAT * sizes.max(), 1e-300))
    return result


def _stepped(function: Differentiable, here: Floor) -> Floor | None:
    """Return the point one step on, None if no step is better."""
    if here.hessian is None:
        return None
    step = np.zeros_like(here.at)
    step[here.free] = newton_step(here.hessian, here.gradient[here.free])
    longest = LONGEST * max(1.0, float(np.linalg.norm(here.at)))
    # The norm of scipy does not overflow where numpy's squares a large step.
    step *= min(1.0, longest / float(norm(step)))
    noise = 1e-12 * (1 + abs(here.value))
    for _ in range(MOST_SHORTENINGS):
        tried = replace(_evaluated(function, here.at + step, here.free), hessian=here.hessian)
        flatter = tried.steepest < here.steepest
        if tried.value < here.value - noise or (tried.value <= here.value + noise and flatter):
            return tried
        step = step / 4
    return None
