"""Minimise the deviance over theta: quasi-Newton to the valley, Newton to its floor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.mixed.algebra.crossproducts import CrossProducts
from analysis.mixed.algebra.deviance import profile
from analysis.mixed.algebra.quasi_newton import descend
from analysis.tidy.frame import Floats

#: A diagonal element of a relative factor below this, per unit of its column, is tried at zero.
NEAR_ZERO = 1e-4

#: Where a search starts a variance that was zero.
OFF_BOUNDARY = 0.05

#: Expected fall of the deviance in one more Newton step below which the search has converged.
CONVERGED = 1e-8

#: A parameter in units of its column, or a gradient by it, below this is zero.
NEGLIGIBLE = 1e-9

#: A Newton step that leaves more of the gradient than this share asks for a new Hessian.
STEADY = 0.1

#: Newton steps at most.
MOST_STEPS = 12

#: Step of the differences that make the Hessian of the analytic gradient.
DIFFERENCE = 1e-4


@dataclass(frozen=True, slots=True)
class Optimum:
    """Where the deviance is least.

    Attributes
    ----------
    theta
        Parameters of the relative factors.
    gradient
        Derivative of the deviance there, by theta.
    decrement
        Expected fall of the deviance in one more Newton step.
    n_evaluations
        Evaluations of the deviance with its gradient.
    singular
        Whether a relative factor lost a dimension: a variance of zero or a correlation of one.
    """

    theta: Floats
    gradient: Floats
    decrement: float
    n_evaluations: int
    singular: bool

    @property
    def converged(self) -> bool:
        """Whether one more step would change the deviance by less than 1e-8."""
        return self.decrement < CONVERGED


def is_diagonal(cross: CrossProducts) -> NDArray[np.bool_]:
    """Tell which elements of theta lie on a diagonal, hence are at least zero."""
    return np.array([row == column for block in cross.blocks for row, column in block.positions])


def natural_scale(cross: CrossProducts) -> Floats:
    """Return the root mean square of the column that every element of theta multiplies."""
    first = cross.blocks[0]
    total = float(np.sqrt(cross.n_obs))
    sizes = [np.sqrt(np.einsum("lkk->k", cross.diagonal)) / total]
    squares, start = np.diag(cross.rest), 0
    for block in cross.blocks[1:]:
        end = start + len(block.levels) * block.width
        sizes.append(np.sqrt(squares[start:end].reshape(-1, block.width).sum(axis=0)) / total)
        start = end
    return np.array(
        [
            sizes[place][row] or 1.0
            for place, block in enumerate((first, *cross.blocks[1:]))
            for row, _ in block.positions
        ]
    )


def optimise(cross: CrossProducts, *, reml: bool = True, start: Floats | None = None) -> Optimum:
    """Return the theta with least deviance.

    Starts from the identity, as lme4 does; works in units of the columns, so that a slope per
    parameter and one per billion parameters take the same path. A variance that goes to
    zero is put there, and let go again if the deviance falls on leaving: on the boundary the
    gradient is zero by symmetry and shows nothing.
    """
    search = _Search(cross, reml)
    identity = np.where(search.lower == 0, 1.0, 0.0)
    at = search.descend(identity if start is None else search.inside(start))
    for _ in range(3):
        at = search.polish(at)
        released = search.release(at)
        if released is None:
            break
        at = search.descend(released)
    decrement, gradient = search.decrement(at)
    on_diagonal = search.lower == 0
    return Optimum(
        theta=at / search.scale,
        gradient=gradient * search.scale,
        decrement=decrement,
        n_evaluations=search.n_evaluations,
        singular=bool((at[on_diagonal] < NEAR_ZERO).any()),
    )


def quick(
    cross: CrossProducts,
    start: Floats,
    *,
    reml: bool = True,
    free: NDArray[np.bool_] | None = None,
) -> Floats:
    """Return the theta with least deviance to about six digits, for refits by the thousand.

    Elements that are not `free` stay at zero.
    """
    search = _Search(cross, reml)
    kept = np.ones(len(start), dtype=np.bool_) if free is None else free
    at = np.where(kept, search.inside(start), 0.0)
    result: Floats = search.descend(at, tolerance=1e-10, free=kept) / search.scale
    return result


class _Search:
    """The deviance as a function of theta in units of the columns."""

    def __init__(self, cross: CrossProducts, reml: bool) -> None:
        self.cross = cross
        self.reml = reml
        self.scale = natural_scale(cross)
        self.lower = np.where(is_diagonal(cross), 0.0, -np.inf)
        self.n_evaluations = 0

    def value(self, at: Floats) -> tuple[float, Floats]:
        self.n_evaluations += 1
        found = profile(self.cross, at / self.scale, reml=self.reml)
        return found.criterion, found.gradient / self.scale

    def inside(self, theta: Floats) -> Floats:
        """Return a theta in units of the columns, off the boundary where no gradient shows."""
        at = theta * self.scale
        return np.where(self.lower == 0, np.maximum(at, OFF_BOUNDARY), at)

    def gradient(self, at: Floats) -> Floats:
        return self.value(at)[1]

    def descend(
        self, at: Floats, tolerance: float = 1e-11, free: NDArray[np.bool_] | None = None
    ) -> Floats:
        return descend(self.value, at, self.lower, free=free, tolerance=tolerance)

    def polish(self, at: Floats) -> Floats:
        """Take Newton steps on the free parameters, after putting near-zeros at zero.

        One Hessian serves while the gradient keeps falling tenfold, then it is made anew.
        """
        at = self._grounded(at)
        value, gradient = self.value(at)
        hessian: Floats | None = None
        for _ in range(MOST_STEPS):
            free = at > self.lower
            if not free.any() or not gradient[free].any():
                break
            fresh = hessian is None
            hessian = self.hessian(at) if hessian is None else hessian
            following = np.maximum(at - newton_step(hessian, gradient, free), self.lower)
            next_value, next_gradient = self.value(following)
            fall = abs(next_gradient[free]).max() / abs(gradient[free]).max()
            if next_value > value + 1e-9 * (1 + abs(value) * 1e-3) or fall >= 1:
                if fresh:
                    break
                hessian = None
                continue
            at, value, gradient = following, next_value, next_gradient
            hessian = hessian if fall < STEADY else None
            if np.abs(gradient[free]).max() < NEGLIGIBLE:
                break
        return np.where(np.abs(at) < NEGLIGIBLE, 0.0, at)

    def hessian(self, at: Floats) -> Floats:
        return hessian_by_differences(self.gradient, at)

    def decrement(self, at: Floats) -> tuple[float, Floats]:
        """Return the expected fall of the deviance in one more Newton step, and the gradient."""
        gradient = self.gradient(at)
        free = at > self.lower
        if not free.any() or np.abs(gradient[free]).max() < NEGLIGIBLE:
            return 0.0, gradient
        step = newton_step(self.hessian(at), gradient, free)
        return float(abs(gradient @ step) / 2), gradient

    def release(self, at: Floats) -> Floats | None:
        """Return a better point with a zero variance let go, None if zero is best."""
        value = self.value(at)[0]
        for place in np.flatnonzero((at == 0) & (self.lower == 0)):
            for size in (1e-3, 1e-2, 0.1):
                tried = at.copy()
                tried[place] = size
                if self.value(tried)[0] < value - 1e-8:
                    return tried
        return None

    def _grounded(self, at: Floats) -> Floats:
        value = self.value(at)[0]
        for place in np.flatnonzero((at < NEAR_ZERO) & (at > 0) & (self.lower == 0)):
            tried = at.copy()
            tried[place] = 0.0
            found = self.value(tried)[0]
            if found <= value + 1e-10 * (1 + abs(value)):
                at, value = tried, found
        return at


def newton_step(hessian: Floats, gradient: Floats, free: NDArray[np.bool_]) -> Floats:
    """Return the Newton step on the free parameters; flat directions are left alone."""
    places = np.flatnonzero(free)
    values, vectors = np.linalg.eigh(hessian[np.ix_(places, places)])
    usable = values > 1e-9 * max(values.max(), 1e-300)
    along = vectors[:, usable].T @ gradient[places]
    step = np.zeros_like(gradient)
    step[places] = vectors[:, usable] @ (along / values[usable])
    return step


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
