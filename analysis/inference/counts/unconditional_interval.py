"""The log odds ratios that exact one-sided score tests do not reject.

A test at a value takes the tables whose score statistic is at least that of the table found, and
the largest probability of that set. As the value moves inwards, the probability of one set rises
(Barnard 1947), but the set changes where two tables change places, and the tail jumps: the values
not rejected need not be connected. The interval runs to the outermost of them, so that it
excludes no value the tests accept (Agresti and Min 2002).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from analysis.inference.counts.two_binomials import largest_tail, lead, score_statistic
from analysis.tidy.frame import Floats

#: Cells into which the range is cut before the search halves them; even, so that 0 is an edge.
CELLS = 32

#: A cell this narrow, relative to the range, is not halved again.
NARROWEST = 1e-12


@dataclass(frozen=True)
class OneSided:
    """The one-sided score tests of every value, for one table.

    Attributes
    ----------
    counts, sizes
        Successes and units of the two groups.
    side
        1 where many successes in the first group speak against the value, -1 where few do.
    """

    counts: tuple[int, int]
    sizes: tuple[int, int]
    side: int

    def lead(self, value: float) -> Floats:
        """Return by how much each table is as extreme as the one found, at least 0 in the tail."""
        return lead(self.side * _statistic(self.sizes, value), self.counts)

    def tail(self, value: float) -> float:
        """Return the p-value of the test of a value."""
        return largest_tail(_set(self.lead(value) >= 0), value)


@dataclass(frozen=True)
class Edge:
    """A value at which the search has looked.

    Attributes
    ----------
    test
        The tests of all values.
    value
        The value.
    """

    test: OneSided
    value: float

    @cached_property
    def lead(self) -> Floats:
        """By how much each table is as extreme as the one found."""
        return self.test.lead(self.value)

    @cached_property
    def tail(self) -> float:
        """The p-value."""
        return largest_tail(_set(self.lead >= 0), self.value)


@dataclass(frozen=True)
class Cell:
    """The values between two at which the search has looked.

    Attributes
    ----------
    outer, inner
        The ends; the search comes from the outer one.
    """

    outer: Edge
    inner: Edge

    @cached_property
    def middle(self) -> Edge:
        """The value half way."""
        return Edge(self.outer.test, (self.outer.value + self.inner.value) / 2)

    @cached_property
    def leads(self) -> Floats:
        """Leads at both ends and half way, shape (3, n1 + 1, n2 + 1)."""
        return np.stack([self.outer.lead, self.middle.lead, self.inner.lead])

    @cached_property
    def bend(self) -> Floats:
        """By how much a lead may leave the range of the three: a parabola, by an eighth of it."""
        bend: Floats = np.abs(self.leads[0] - 2 * self.leads[1] + self.leads[2])
        return bend

    @cached_property
    def reached(self) -> NDArray[np.bool_]:
        """Tables in the tail somewhere in the cell."""
        reached: NDArray[np.bool_] = self.leads.max(axis=0) + self.bend >= 0
        return reached

    @property
    def is_constant(self) -> bool:
        """Whether the tail is the same set of tables in all of the cell."""
        return bool((self.reached == (self.leads.min(axis=0) - self.bend >= 0)).all())

    def is_rejected(self, alpha: float) -> bool:
        """Return whether all tables reached together are rejected, hence every value."""
        return largest_tail(_set(self.reached), self.inner.value, bar=alpha) <= alpha


def log_odds_interval(
    counts: tuple[int, int], sizes: tuple[int, int], alphas: tuple[float, float]
) -> tuple[float, float]:
    """Return the interval of the log odds ratio, open where an empty cell leaves it so.

    Parameters
    ----------
    counts, sizes
        Successes and units of the two groups.
    alphas
        Level of the test that gives the lower end and the upper; 0 leaves that end open.
    """

    def end(side: int, alpha: float) -> float:
        none = (counts[0] == 0 or counts[1] == sizes[1], counts[1] == 0 or counts[0] == sizes[0])
        if alpha == 0 or none[0 if side > 0 else 1]:
            return -np.inf * side
        # A log odds ratio of -w leaves a table without an empty cell at most exp(-w/2) max(sizes).
        limit = 2 * np.log(2 * max(sizes) / alpha)
        return first_accepted(OneSided(counts, sizes, side), limit, alpha)

    return end(1, alphas[0]), end(-1, alphas[1])


def first_accepted(test: OneSided, limit: float, alpha: float) -> float:
    """Return the outermost value whose p exceeds alpha.

    A cell whose tables, all together, are rejected at its inner end holds no accepted value; any
    other is halved, the outer half first.

    Parameters
    ----------
    test
        The tests; side 1 is searched from minus the limit up, side -1 from the limit down.
    limit
        A value that is rejected, on either side.
    alpha
        Level of the test, above 0.
    """
    values = np.linspace(-limit, limit, CELLS + 1) * test.side
    values[CELLS // 2] = 0.0
    edges = [Edge(test, float(value)) for value in values]
    for outer, inner in pairwise(edges):
        found = _first_in(Cell(outer, inner), alpha, NARROWEST * limit)
        if found is not None:
            return found
    return edges[-1].value


def _first_in(cell: Cell, alpha: float, narrowest: float) -> float | None:
    """Return the outermost accepted value of a cell; None if there is none."""
    waiting = [cell]
    while waiting:
        cell = waiting.pop()
        if cell.is_rejected(alpha):
            continue
        if cell.is_constant:
            return _crossing(cell, alpha)
        if abs(cell.inner.value - cell.outer.value) > narrowest:
            waiting += [Cell(cell.middle, cell.inner), Cell(cell.outer, cell.middle)]
        elif cell.inner.tail > alpha:
            return cell.inner.value
    return None


def _crossing(cell: Cell, alpha: float) -> float:
    """Return where the tail of one set of tables exceeds alpha."""
    outer, inner = cell.outer, cell.inner
    if outer.tail > alpha:
        return outer.value
    region = _set(cell.reached)

    def excess(value: float) -> float:
        return largest_tail(region, value) - alpha

    return float(brentq(excess, outer.value, inner.value, xtol=1e-12, rtol=1e-14))


@lru_cache(maxsize=128)
def _statistic(sizes: tuple[int, int], value: float) -> Floats:
    """Return the score statistic; the searches for both ends look at the same values first."""
    return score_statistic(sizes, value)


def _set(tables: NDArray[np.bool_]) -> Floats:
    return tables.astype(np.float64)
