"""Sums over the levels of the eliminated factor, level by level or by classes of equal levels.

Levels with the same Z1'Z1 (units with equally many rows) have the same B, so that only the sum
of their outer products matters: with a few hundred classes of tens of thousands of levels an
evaluation of the deviance no longer depends on the number of levels. Where a level meets few of
the levels of other factors (students and lecturers), only the products that occur are formed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import sparse

from analysis.tidy.frame import Floats, Integers

#: Classes are used when there are this many levels to each.
LEVELS_PER_CLASS = 4

#: Products that occur are formed alone where they are at most this share of all, and
MOST_OCCURRING = 0.1

#: where there are at least this many: below, dense products are faster.
LEAST_SPARSE = 100_000

#: Numbers at most in one dense product of sparse rows.
BATCH = 4_000_000


class Levels(Protocol):
    """V classes of the L levels.

    Attributes
    ----------
    diagonal
        Z1'Z1 of every class, shape (V, k, k).
    sizes
        Levels of every class, shape (V,).
    codes
        Class of every level, shape (L,).
    """

    @property
    def diagonal(self) -> Floats:
        """Z1'Z1 of every class."""

    @property
    def sizes(self) -> Floats:
        """Levels of every class."""

    @property
    def codes(self) -> Integers:
        """Class of every level."""

    def weighted(self, kernel: Floats) -> Floats:
        """Return the sum over levels of C' B C, with B of their class, shape (r, r)."""

    def inner(self, through: Floats) -> Floats:
        """Return the sum over each class's levels of C P C', shape (V, k, k)."""

    def between(self, left: Floats, through: Floats, right: Floats) -> Floats:
        """Return the sum over levels of A C P C' B, with A and B of their class, (k, k)."""


@dataclass(frozen=True, slots=True)
class SeparateLevels:
    """Every level a class of its own.

    Attributes
    ----------
    diagonal
        Z1'Z1 per level, shape (L, k, k).
    cross
        C = Z1'[Z2 | X | y] per level, shape (L, k, r).
    """

    diagonal: Floats
    cross: Floats

    @property
    def sizes(self) -> Floats:
        """One level each."""
        return np.ones(len(self.diagonal))

    @property
    def codes(self) -> Integers:
        """Class of every level: its own."""
        return np.arange(len(self.diagonal))

    def weighted(self, kernel: Floats) -> Floats:
        """Return the sum over levels of C' B C."""
        flat = self.cross.reshape(-1, self.cross.shape[-1])
        result: Floats = flat.T @ (kernel @ self.cross).reshape(flat.shape)
        return result

    def inner(self, through: Floats) -> Floats:
        """Return C P C' of every level."""
        flat = self.cross.reshape(-1, self.cross.shape[-1])
        half = (flat @ through).reshape(self.cross.shape)
        result: Floats = half @ self.cross.transpose(0, 2, 1)
        return result

    def between(self, left: Floats, through: Floats, right: Floats) -> Floats:
        """Return the sum over levels of A C P C' B."""
        return _summed(left, self.inner(through), right)


@dataclass(frozen=True, slots=True)
class SparseLevels:
    """Every level a class of its own, and C sparse.

    Attributes
    ----------
    diagonal
        Z1'Z1 per level, shape (L, k, k).
    effects
        C of every effect, k matrices of shape (L, r).
    """

    diagonal: Floats
    effects: tuple[sparse.csr_array, ...]

    @property
    def sizes(self) -> Floats:
        """One level each."""
        return np.ones(len(self.diagonal))

    @property
    def codes(self) -> Integers:
        """Class of every level: its own."""
        return np.arange(len(self.diagonal))

    def weighted(self, kernel: Floats) -> Floats:
        """Return the sum over levels of C' B C."""
        size = self.effects[0].shape[1]
        result = np.zeros((size, size))
        for i, first in enumerate(self.effects):
            transposed = first.T.tocsr()
            for j, second in enumerate(self.effects):
                scaled = sparse.diags_array(kernel[:, i, j]) @ second
                result += (transposed @ scaled).toarray()
        return result

    def inner(self, through: Floats) -> Floats:
        """Return C P C' of every level."""
        result = np.empty_like(self.diagonal)
        step = max(BATCH // len(through), 1)
        for start in range(0, len(result), step):
            part = slice(start, start + step)
            for i, first in enumerate(self.effects):
                half = first[part] @ through
                for j, second in enumerate(self.effects):
                    result[part, i, j] = second[part].multiply(half).sum(axis=1)
        return result

    def between(self, left: Floats, through: Floats, right: Floats) -> Floats:
        """Return the sum over levels of A C P C' B; of one effect from the products that occur."""
        if len(self.effects) == 1:
            return np.full((1, 1), (through * self.weighted(left * right)).sum())
        return _summed(left, self.inner(through), right)


@dataclass(frozen=True, slots=True)
class LevelClasses:
    """Levels gathered by their Z1'Z1.

    Attributes
    ----------
    diagonal, sizes, codes
        As in `Levels`.
    outer
        Sum over a class's levels of the outer products of the rows of C, (V, k, k, r, r).
    """

    diagonal: Floats
    sizes: Floats
    codes: Integers
    outer: Floats

    def weighted(self, kernel: Floats) -> Floats:
        """Return the sum over levels of C' B C."""
        return np.tensordot(kernel, self.outer, axes=3)

    def inner(self, through: Floats) -> Floats:
        """Return the sum of C P C' over every class."""
        return np.tensordot(self.outer, through, axes=2)

    def between(self, left: Floats, through: Floats, right: Floats) -> Floats:
        """Return the sum over levels of A C P C' B."""
        return _summed(left, self.inner(through), right)


def _summed(left: Floats, inner: Floats, right: Floats) -> Floats:
    """Return the sum over classes of A M B, from matrices of every class, (k, k)."""
    result: Floats = (left @ inner @ right).sum(axis=0)
    return result


def gather(diagonal: Floats, cross: Floats) -> Levels:
    """Return the levels in classes or sparse when that saves work, else each by itself."""
    n_levels, width, size = cross.shape
    flat = diagonal.reshape(n_levels, -1)
    if cross.size >= LEAST_SPARSE and np.count_nonzero(cross) <= MOST_OCCURRING * cross.size:
        effects = tuple(sparse.csr_array(cross[:, place]) for place in range(width))
        return SparseLevels(diagonal, effects)
    if n_levels <= LEVELS_PER_CLASS * width * size:
        return SeparateLevels(diagonal, cross)
    distinct, codes = np.unique(flat, axis=0, return_inverse=True)
    codes = codes.reshape(-1)
    if n_levels < LEVELS_PER_CLASS * width * len(distinct):
        return SeparateLevels(diagonal, cross)
    outer = np.empty((len(distinct), width, width, size, size))
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes))
    for place, members in enumerate(np.split(order, ends[:-1])):
        rows = cross[members]
        for i in range(width):
            for j in range(width):
                outer[place, i, j] = rows[:, i].T @ rows[:, j]
    sizes = np.bincount(codes).astype(np.float64)
    return LevelClasses(distinct.reshape(-1, width, width), sizes, codes, outer)
