"""Sums over the levels of the eliminated factor, level by level or by classes of equal levels.

Levels with the same Z1'Z1 (units with equally many rows) have the same B, so that only the sum
of their outer products matters: with a few hundred classes of tens of thousands of levels an
evaluation of the deviance no longer depends on the number of levels. Where a level meets few of
the levels of other factors (students and lecturers), few of its outer products are not zero: they
are formed once, and an evaluation is one product of a vector and a sparse matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from analysis.tidy.frame import Floats, Integers

#: Classes are used when there are this many levels to each.
LEVELS_PER_CLASS = 4

#: Outer products are sparse where at least this many numbers of C
LEAST_SPARSE = 100_000

#: are not zero in at most this share,
MOST_OCCURRING = 0.1

#: and at most this many products are not zero (12 bytes each).
MOST_PRODUCTS = 50_000_000

#: Products made at once, on the way to the sparse matrix.
BATCH = 1_000_000


@dataclass(frozen=True, slots=True)
class Levels:
    """V classes of the L levels; each level is its own where no outer products are formed."""

    diagonal: Floats  #: Z1'Z1 of every class, shape (V, k, k).
    sizes: Floats  #: Levels of every class, shape (V,).
    codes: Integers  #: Class of every level, shape (L,).
    cross: Floats  #: C = Z1'[Z2 | X | y] per level, shape (L, k, r).
    #: Sum over a class's levels of the outer products of the rows of C, shape (V k k, r r); None
    #: where every level is its own class and its C is used itself.
    outer: Floats | sparse.csr_array | None

    def weighted(self, kernel: Floats) -> Floats:
        """Return the sum over levels of C' B C, with B of their class, shape (r, r)."""
        size = self.cross.shape[-1]
        if self.outer is None:
            flat = self.cross.reshape(-1, size)
            return np.asarray(flat.T @ (kernel @ self.cross).reshape(flat.shape))
        return np.asarray(kernel.reshape(-1) @ self.outer).reshape((size, size))

    def inner(self, through: Floats) -> Floats:
        """Return the sum over each class's levels of C P C', shape (V, k, k)."""
        if self.outer is None:
            flat = self.cross.reshape(-1, self.cross.shape[-1])
            half = (flat @ through).reshape(self.cross.shape)
            return np.asarray(half @ self.cross.transpose(0, 2, 1))
        return np.asarray(self.outer @ through.reshape(-1)).reshape(self.diagonal.shape)

    def between(self, left: Floats, through: Floats, right: Floats) -> Floats:
        """Return the sum over levels of A C P C' B, with A and B of their class, (k, k)."""
        return np.asarray((left @ self.inner(through) @ right).sum(axis=0))


def separate(diagonal: Floats, cross: Floats, outer: sparse.csr_array | None = None) -> Levels:
    """Return every level as a class of its own."""
    n_levels = len(diagonal)
    return Levels(diagonal, np.ones(n_levels), np.arange(n_levels), cross, outer)


def gather(diagonal: Floats, cross: Floats) -> Levels:
    """Return the levels in classes or with sparse products where that saves work."""
    n_levels, width, size = cross.shape
    if cross.size >= LEAST_SPARSE and np.count_nonzero(cross) <= MOST_OCCURRING * cross.size:
        occurring = np.count_nonzero(cross, axis=(1, 2))
        if (occurring**2).sum() <= MOST_PRODUCTS:
            return separate(diagonal, cross, sparse_products(cross, occurring))
    if n_levels <= LEVELS_PER_CLASS * width * size:
        return separate(diagonal, cross)
    flat = diagonal.reshape(n_levels, -1)
    distinct, codes = np.unique(flat, axis=0, return_inverse=True)
    codes = codes.reshape(-1)
    if n_levels < LEVELS_PER_CLASS * width * len(distinct):
        return separate(diagonal, cross)
    outer = np.empty((len(distinct), width, width, size, size))
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes))
    for place, members in enumerate(np.split(order, ends[:-1])):
        rows = cross[members]
        for i in range(width):
            for j in range(width):
                outer[place, i, j] = rows[:, i].T @ rows[:, j]
    return Levels(
        distinct.reshape(-1, width, width),
        np.bincount(codes).astype(np.float64),
        codes,
        cross,
        outer.reshape(-1, size * size),
    )


def sparse_products(cross: Floats, occurring: Integers) -> sparse.csr_array:
    """Return the outer products of every level's rows of C that are not zero, (L k k, r r).

    They are made batch by batch, as the indices of all take several times their memory. `occurring`
    counts the numbers of C that are not zero in every level, shape (L,).
    """
    products = np.cumsum(occurring**2)
    ends = np.searchsorted(products, np.arange(BATCH, products[-1], BATCH), side="right")
    parts = zip(np.split(cross, ends), np.split(occurring, ends), strict=True)
    return sparse.csr_array(sparse.vstack([_sparse_batch(*part) for part in parts]))


def _sparse_batch(cross: Floats, occurring: Integers) -> sparse.csr_array:
    """Return the outer products of some levels, as `sparse_products` does."""
    n_levels, width, size = cross.shape
    level, effect, column = np.nonzero(cross)
    values, partners = cross[level, effect, column], occurring[level]
    first = np.repeat(np.arange(len(level)), partners)
    # The partners of a number are all those of its level, which lie beside each other.
    within = np.arange(len(first)) - np.repeat(np.cumsum(partners) - partners, partners)
    second = (np.cumsum(occurring) - occurring)[level[first]] + within
    row = (level[first] * width + effect[first]) * width + effect[second]
    place = column[first] * size + column[second]
    shape = (n_levels * width**2, size**2)
    return sparse.csr_array((values[first] * values[second], (row, place)), shape=shape)
