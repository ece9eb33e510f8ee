"""Minimise the deviance over theta: quasi-Newton to the valley, Newton to its floor.

The deviance is a smooth function of the covariances of the random effects, which are positive
semidefinite. It is searched over their factors, without bounds: a factor and one with the sign
of a column turned are the same covariance. What a factor cannot tell, whether an effect that was
lost should come back, the derivative by the covariance tells. A point is called converged where
the conditions of Karush, Kuhn and Tucker hold in the covariances: with G the derivative by S,
G S = 0 and G positive semidefinite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.mixed.algebra.average_information import average_information
from analysis.mixed.algebra.covariance_terms import (
    CovarianceTerm,
    covariance_terms,
    drop_smallest,
)
from analysis.mixed.algebra.crossproducts import CrossProducts
from analysis.mixed.algebra.descent import Floor, descend, descend_to_floor
from analysis.mixed.algebra.design import block_rows
from analysis.mixed.algebra.deviance import Profile, covariance_gradients, profile
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats

#: A principal axis of a relative covariance shorter than this, in units of the columns, is tried
#: at zero; a diagonal element of a factor below it makes a fit singular.
NEAR_ZERO = 1e-4

#: Where a search starts a variance that was zero.
OFF_BOUNDARY = 0.05

#: A search begins anew where a diagonal element of its end is below this: singular or nearly so.
NEARLY_SINGULAR = 1e-2

#: Standard deviation that a search begun anew has in every effect, beside what was found.
FILLED = 0.3

#: Size of the correlations that a search begun anew starts from.
CORRELATED = 0.8

#: Searches begun anew at most where the signs of all terms are combined.
MOST_COMBINED = 8

#: Columns that share a dense factor from which on an evaluation is dear: the search then goes by
#: the average information, which takes fewer, and not by BFGS and by differences of gradients.
LEAST_INFORMED = 500

#: Expected fall of the deviance below which the search has converged.
CONVERGED = 1e-8

#: Fall of the deviance that is worth a new descent.
WORTHWHILE = 1e-9

#: Rounds of descending, grounding and releasing at most.
MOST_ROUNDS = 8

#: Trials at most of how far to go along a released direction.
MOST_TRIALS = 12


@dataclass(frozen=True, slots=True)
class Optimum:
    """Where the deviance is least."""

    theta: Floats  #: Parameters of the relative factors: the canonical ones of the covariances.
    gradient: Floats  #: Derivative of the deviance there, by theta.
    #: Expected fall of the deviance in one more step, over all covariances there are: a Newton step
    #: within those of the same rank, and one along each direction of lost rank.
    decrement: float
    n_evaluations: int  #: Evaluations of the deviance with its gradient.
    #: Whether a relative factor lost a dimension: a variance of zero or a correlation of one.
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
    later, squares = cross.blocks[1:], cross.among.diagonal()
    sums = [np.einsum("lkk->k", cross.diagonal)]
    sums += [
        squares[rows].reshape(-1, block.width).sum(axis=0)
        for block, rows in zip(later, block_rows(later), strict=True)
    ]
    sizes = [np.sqrt(each) / float(np.sqrt(cross.n_obs)) for each in sums]
    blocks = zip(cross.blocks, sizes, strict=True)
    return np.array([size[row] or 1.0 for block, size in blocks for row, _ in block.positions])


def optimise(cross: CrossProducts, *, reml: bool = True, start: Floats | None = None) -> Optimum:
    """Return the theta with least deviance.

    Starts from the identity, as lme4 does; works in units of the columns, so that a slope per
    parameter and one per billion parameters take the same path. The elements of theta have no
    bounds in the search, as the deviance depends on the covariances alone; the result is their
    canonical factor.
    """
    search = Search(cross, reml)
    identity = np.where(is_diagonal(cross), 1.0, 0.0)
    best = search.settle(identity if start is None else search.interior(start))
    if search.is_singular(best.floor.at, NEARLY_SINGULAR):
        best = search.restart(best)
    search.forget()
    return Optimum(
        theta=best.floor.at / search.scale,
        gradient=best.floor.gradient * search.scale,
        decrement=best.decrement,
        n_evaluations=search.n_evaluations,
        singular=search.is_singular(best.floor.at),
    )


def quick(
    cross: CrossProducts,
    start: Floats,
    *,
    reml: bool = True,
) -> Floats:
    """Return the theta with least deviance to about six digits, for refits by the thousand."""
    search = Search(cross, reml)
    at = descend(search.value, search.interior(start), tolerance=1e-10)
    return np.asarray(at / search.scale, dtype=np.float64)


def sign_patterns(width: int) -> list[Floats]:
    """Return the signs of effects that a common factor can give them.

    All 2^(k-1) that differ for up to four effects; for more, that of one sign and those with one
    effect turned.
    """
    if width <= 4:
        return [np.array([1.0, *others]) for others in product((1.0, -1.0), repeat=width - 1)]
    return [np.ones(width), *(np.ones(width) - 2 * np.eye(width))]


def combinations(patterns: Sequence[Sequence[Floats]]) -> list[tuple[Floats, ...]]:
    """Return one pattern per term, in all combinations where these are few.

    Otherwise as many as the longest list has, so that every pattern of every term occurs.
    """
    if np.prod([len(each) for each in patterns]) <= MOST_COMBINED:
        return list(product(*patterns))
    most = max(len(each) for each in patterns)
    return [tuple(each[place % len(each)] for each in patterns) for place in range(most)]


class Settled(NamedTuple):
    """Where a search ended: the point, and by how much one more step should lower the deviance."""

    floor: Floor
    decrement: float


class Search:
    """The deviance as a function of theta in units of the columns."""

    def __init__(self, cross: CrossProducts, reml: bool) -> None:
        self.cross = cross
        self.reml = reml
        self.scale = natural_scale(cross)
        self.diagonal = is_diagonal(cross)
        self.terms = covariance_terms(cross.blocks)
        self.n_evaluations = 0
        self.is_large = cross.size >= LEAST_INFORMED
        self._last: tuple[Floats, Profile] | None = None

    def value(self, at: Floats) -> tuple[float, Floats]:
        """Return the deviance and its gradient; infinite where a trial is beyond all digits."""
        try:
            solution = self.solution(at)
        except (np.linalg.LinAlgError, DesignError):
            return np.inf, np.zeros(len(at))
        return solution.criterion, solution.gradient / self.scale

    def solution(self, at: Floats) -> Profile:
        """Return what is known at a point; of a large model the last is kept."""
        if self._last is not None and np.array_equal(self._last[0], at):
            return self._last[1]
        self.n_evaluations += 1
        self._last = None  # its memory is free before the next takes as much
        solution = profile(self.cross, at / self.scale, reml=self.reml)
        if self.is_large:
            self._last = (at.copy(), solution)
        return solution

    def forget(self) -> None:
        """Let go of what is known at the last point, which may be large."""
        self._last = None

    def information(self, at: Floats) -> Floats:
        """Return the average information of the deviance."""
        of_theta = average_information(self.cross, self.solution(at))
        return np.asarray(of_theta / np.outer(self.scale, self.scale))

    def descent(self, at: Floats) -> Floats:
        """Return a point in the valley that a start leads to."""
        if not self.is_informed(at):
            return descend(self.value, at)
        every = np.ones(len(at), dtype=np.bool_)
        return descend_to_floor(self.value, at, every, self.information).at

    def value_and_slopes(self, at: Floats) -> tuple[float, list[Floats]]:
        """Return the deviance and its derivative by the covariance of every term."""
        solution = self.solution(at)
        by_block = covariance_gradients(self.cross, solution, reml=self.reml)
        slopes = []
        for term in self.terms:
            units = self.scale[term.places][: term.width]
            within = by_block[term.block][term.effects, term.effects]
            slopes.append(within / np.outer(units, units))
        return solution.criterion, slopes

    def interior(self, theta: Floats) -> Floats:
        """Return a theta in units of the columns, off the boundary where no gradient shows."""
        at = theta * self.scale
        return np.where(self.diagonal, np.maximum(at, OFF_BOUNDARY), at)

    def settle(self, at: Floats) -> Settled:
        """Return where a start leads to, with the conditions checked in the covariances."""
        at = self.descent(at)
        for _ in range(MOST_ROUNDS):
            floor = self.floor(at)
            released, owed = self.release(floor)
            settled = Settled(floor, floor.decrement + owed)
            if released is None and settled.decrement >= CONVERGED:
                released = floor.at
            if released is None:
                released = self.escape(floor)
            if released is None:
                break
            at = self.descent(released)
        return settled

    def is_singular(self, at: Floats, least: float = NEAR_ZERO) -> bool:
        """Tell whether a canonical factor lost a dimension: a diagonal element below `least`."""
        return bool((at[self.diagonal] < least).any())

    def is_informed(self, at: Floats) -> bool:
        """Tell whether the average information leads the search: not near a variance of zero.

        There the part of the Hessian that it leaves out is all there is.
        """
        return self.is_large and not self.is_singular(at, NEARLY_SINGULAR)

    def restart(self, best: Settled) -> Settled:
        """Return the best of a singular end and of the searches begun beside it.

        The boundary has local minima, which the signs of the correlations tell apart. What was
        lost is filled again, and every sign pattern of a term's correlations gets its search.
        """
        first = best.floor.at
        for signs in combinations([sign_patterns(term.width) for term in self.terms]):
            at = self.descent(self.fill(first, signs))
            if self.value(at)[0] < best.floor.value - WORTHWHILE:
                best = min(best, self.settle(at), key=lambda end: end.floor.value)
        return best

    def fill(self, at: Floats, signs: Sequence[Floats]) -> Floats:
        """Return covariances of full rank near some, with correlations of given signs."""
        for term, sign in zip(self.terms, signs, strict=True):
            sizes = np.hypot(np.linalg.norm(term.factor(at), axis=1), FILLED)
            common = np.sqrt(CORRELATED) * sizes * sign
            independent = np.sqrt(1 - CORRELATED) * np.diag(sizes)
            at = term.replace_factor(at, np.column_stack([common, independent]))
        return at

    def floor(self, at: Floats) -> Floor:
        """Return the floor of the valley, on the boundary where that is not higher."""
        hessian = self.information if self.is_informed(at) else None
        at = self.ground(at)
        floor = descend_to_floor(self.value, at, self.occupancy(at), hessian)
        again = self.ground(floor.at)
        if np.array_equal(again, floor.at):
            return floor
        return descend_to_floor(self.value, again, self.occupancy(again), hessian)

    def occupancy(self, at: Floats) -> NDArray[np.bool_]:
        """Tell which elements lie in columns that are not zero."""
        occupied = np.zeros(len(at), dtype=np.bool_)
        for term in self.terms:
            alive = term.factor(at).any(axis=0)
            occupied[term.places] = term.elements(np.tile(alive, (term.width, 1)))
        return occupied

    def ground(self, at: Floats) -> Floats:
        """Return canonical factors, less what is nearly zero if the deviance does not mind."""
        for term in self.terms:
            at = term.replace_factor(at, term.factor(at))
        value: float | None = None
        for term in self.terms:
            factor = term.factor(at)
            remaining = drop_smallest(factor, NEAR_ZERO)
            if remaining.shape[1] == int(factor.any(axis=0).sum()):
                continue
            value = self.value(at)[0] if value is None else value
            tried = term.replace_factor(at, remaining)
            lower = self.value(tried)[0]
            if lower <= value + 1e-10 * (1 + abs(value)):
                at, value = tried, lower
        return at

    def release(self, floor: Floor) -> tuple[Floats | None, float]:
        """Return a better point with a variance let go, and the fall expected from letting go.

        A direction v in which the deviance falls, v'Gv < 0, is added to the covariance as s vv'.
        """
        owed = 0.0
        if self.is_informed(floor.at) and all(term.width == 1 for term in self.terms):
            return None, owed  # no deviation is near zero: there is nothing to let go
        slopes = self.value_and_slopes(floor.at)[1]
        for term, slope in zip(self.terms, slopes, strict=True):
            values, vectors = np.linalg.eigh(slope)
            for steepness, direction in zip(values, vectors.T, strict=True):
                if steepness >= 0:
                    break
                better, fall = self.along(floor, term, direction, float(steepness))
                if better is not None:
                    return better, fall
                owed += fall
        return None, owed

    def along(
        self, floor: Floor, term: CovarianceTerm, direction: Floats, steepness: float
    ) -> tuple[Floats | None, float]:
        """Return a better point along a direction of one covariance, and the expected fall.

        The derivative along it, d(s), is steepness at zero and taken as linear from there.
        """
        factor, place = term.factor(floor.at), self.terms.index(term)
        size = 1.0 + float(np.linalg.norm(factor)) ** 2
        fall = -steepness * size / 2
        for _ in range(MOST_TRIALS):
            if fall < WORTHWHILE / 10:
                return None, fall
            added = np.column_stack([factor, np.sqrt(size) * direction])
            tried = term.replace_factor(floor.at, added)
            value, slopes = self.value_and_slopes(tried)
            if value < floor.value - WORTHWHILE:
                return tried, fall
            change = float(direction @ slopes[place] @ direction) - steepness
            ratio = -steepness / change if change > 0 else 1.0
            fall = -steepness * size * min(ratio, 1.0) / 2
            size *= min(max(ratio, 1e-3), 0.3)
        return None, fall

    def escape(self, floor: Floor) -> Floats | None:
        """Return a better point along a negative curvature, to either side, None if none is."""
        direction = floor.downward()
        if direction is None:
            return None
        for size in (0.3, 0.03, 3e-3):
            for side in (size, -size):
                tried = floor.at + side * direction
                if self.value(tried)[0] < floor.value - WORTHWHILE:
                    return tried
        return None
