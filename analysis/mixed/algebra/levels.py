"""Sums over the levels of the eliminated factor, level by level or by classes of equal levels.

Levels with the same Z1'Z1 (units with equally many rows) have the same B, so that only the sum
of their outer products matters: with a few hundred classes of tens of thousands of levels an
evaluation of the deviance no longer depends on the number of levels. Where a level meets few of
the levels of other factors (students and lecturers), few of its outer products are not zero: they
are formed once, and an evaluation is one product of a vector and a sparse matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

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
BATCH = 50_000

#: Rows or columns of a large matrix that are worked on at once.
PORTION = 64


@dataclass(frozen=True, slots=True)
class Levels:
    """V classes of the L levels; each level is its own where no outer products are formed."""

    diagonal: Floats  #: Z1'Z1 of every class, shape (V, k, k).
    sizes: Floats  #: Levels of every class, shape (V,).
    codes: Integers  #: Class of every level, shape (L,).
    cross: Floats  #: C = Z1'[Z2 | X | y] per level, shape (L, k, r); empty where it is sparse.
    size: int  #: Columns of C, r.
    #: Sum over a class's levels of the outer products of the rows of C, shape (V k k, r r); None
    #: where every level is its own class and its C is used itself.
    outer: Floats | sparse.csr_array | None
    #: Whether of two outer products that mirror each other one is kept, twice as large.
    is_half: bool = False

    def weighted(self, kernel: Floats) -> Floats:
        """Return the sum over levels of C' B C, with B of their class, shape (r, r)."""
        size = self.size
        if self.outer is None:
            flat = self.cross.reshape(-1, size)
            return np.asarray(flat.T @ (kernel @ self.cross).reshape(flat.shape))
        summed = np.asarray(kernel.reshape(-1) @ self.outer).reshape((size, size))
        if self.is_half:
            make_symmetric(summed)
            summed /= 2
        return summed

    def inner(self, through: Floats) -> Floats:
        """Return the sum over each class's levels of C P C', P symmetric, shape (V, k, k)."""
        if self.outer is None:
            flat = self.cross.reshape(-1, self.size)
            half = (flat @ through).reshape(self.cross.shape)
            return np.asarray(half @ self.cross.transpose(0, 2, 1))
        return np.asarray(self.outer @ through.reshape(-1)).reshape(self.diagonal.shape)

    def between(self, left: Floats, through: Floats, right: Floats) -> Floats:
        """Return the sum over levels of A C P C' B, with A and B of their class, (k, k)."""
        return np.asarray((left @ self.inner(through) @ right).sum(axis=0))


def portions(n: int) -> Iterator[slice]:
    """Yield slices that make up n places, of which a copy is small beside a large matrix."""
    for start in range(0, n, PORTION):
        yield slice(start, min(start + PORTION, n))


def make_symmetric(matrix: Floats) -> None:
    """Add its transpose to a square matrix, in its own memory."""
    for few in portions(len(matrix)):
        behind = slice(few.stop, None)
        matrix[few, few] += matrix[few, few].T.copy()
        matrix[few, behind] += matrix[behind, few].T
        matrix[behind, few] = matrix[few, behind].T


def separate(diagonal: Floats, cross: Floats) -> Levels:
    """Return every level as a class of its own."""
    n_levels = len(diagonal)
    return Levels(diagonal, np.ones(n_levels), np.arange(n_levels), cross, cross.shape[-1], None)


def gather(diagonal: Floats, cross: Floats | sparse.csr_array) -> Levels:
    """Return the levels in classes or with sparse products where that saves work.

    `cross` is C, dense (L, k, r) or sparse (L k, r).
    """
    n_levels, width = diagonal.shape[:2]
    size = cross.shape[-1]
    few = _sparse(cross)
    if few is not None:
        occurring = np.add.reduceat(np.diff(few.indptr), np.arange(0, n_levels * width, width))
        if (occurring.astype(np.int64) ** 2).sum() <= MOST_PRODUCTS:
            products = sparse_halves if width == 1 else sparse_products
            outer = products(few, occurring, width)
            ones, codes = np.ones(n_levels), np.arange(n_levels)
            return Levels(diagonal, ones, codes, np.empty(0), size, outer, is_half=width == 1)
    if isinstance(cross, sparse.csr_array):
        cross = cross.toarray().reshape(n_levels, width, size)
    return _gather(diagonal, cross)


def _gather(diagonal: Floats, cross: Floats) -> Levels:
    n_levels, width, size = cross.shape
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
        size,
        outer.reshape(-1, size * size),
    )


def _sparse(cross: Floats | sparse.csr_array) -> sparse.csr_array | None:
    """Return C as a sparse matrix where it is one or few of its many numbers are not zero."""
    if isinstance(cross, sparse.csr_array):
        return cross
    if cross.size < LEAST_SPARSE or np.count_nonzero(cross) > MOST_OCCURRING * cross.size:
        return None
    return sparse.csr_array(cross.reshape(-1, cross.shape[-1]))


def sparse_products(cross: sparse.csr_array, occurring: Integers, width: int) -> sparse.csr_array:
    """Return the outer products of every level's rows of C that are not zero, (L k k, r r).

    `cross` is C of `width` rows a level, (L k, r), and `occurring` counts its numbers in every
    level, (L,).
    """
    return _batch_sums(_sparse_batch, cross, occurring, width, occurring**2)


def sparse_halves(cross: sparse.csr_array, occurring: Integers, width: int = 1) -> sparse.csr_array:
    """Return what `sparse_products` does of one row a level, less what lies below the diagonal.

    What lies above it is twice as large.
    """
    return _batch_sums(_half_batch, cross, occurring, width, occurring * (occurring + 1) // 2)


def _batch_sums(
    batch: Callable[[sparse.csr_array, Integers, int], sparse.csr_array],
    cross: sparse.csr_array,
    occurring: Integers,
    width: int,
    numbers: Integers,
) -> sparse.csr_array:
    """Return products made some levels at a time: the indices of all take several times as much.

    `numbers` says how many a level has, (L,).
    """
    cross.sort_indices()
    ends = np.concatenate([[0], np.cumsum(numbers)])
    n_columns = cross.shape[1] ** 2
    places = np.min_scalar_type(-max(n_columns, int(ends[-1])))
    data, indices = np.empty(ends[-1]), np.empty(ends[-1], places)
    starts = [np.zeros(1, places)]
    steps = np.searchsorted(ends, np.arange(BATCH, ends[-1], BATCH), side="right") - 1
    for start, end in pairwise([0, *steps.tolist(), len(numbers)]):
        if end > start:
            part = batch(cross[width * start : width * end], occurring[start:end], width)
            here = slice(ends[start], ends[end])
            data[here], indices[here] = part.data, part.indices
            starts.append((ends[start] + part.indptr[1:]).astype(places))
    shape = (len(numbers) * width**2, n_columns)
    return sparse.csr_array((data, indices, np.concatenate(starts)), shape=shape)


def _half_batch(cross: sparse.csr_array, occurring: Integers, _width: int) -> sparse.csr_array:
    """Return the outer products of some levels, as `sparse_halves` does."""
    values, column, size = cross.data, cross.indices.astype(np.int64), cross.shape[1]
    # The partners of a number are itself and those behind it in its level.
    partners = np.repeat(cross.indptr[1:], occurring) - np.arange(len(values))
    ends = np.cumsum(partners)
    first = np.repeat(np.arange(len(values)), partners)
    second = first + np.arange(len(first)) - np.repeat(ends - partners, partners)
    data = values[first] * values[second]
    data[first != second] *= 2
    starts = np.concatenate([[0], ends])[cross.indptr]
    shape = (len(occurring), size**2)
    return sparse.csr_array((data, column[first] * size + column[second], starts), shape=shape)


def _sparse_batch(cross: sparse.csr_array, occurring: Integers, width: int) -> sparse.csr_array:
    """Return the outer products of some levels, as `sparse_products` does."""
    size = cross.shape[1]
    in_flat = np.repeat(np.arange(cross.shape[0]), np.diff(cross.indptr))
    level, effect = np.divmod(in_flat, width)
    values, column = cross.data, cross.indices.astype(np.int64)
    partners = occurring[level]
    first = np.repeat(np.arange(len(level)), partners)
    # The partners of a number are all those of its level, which lie beside each other.
    within = np.arange(len(first)) - np.repeat(np.cumsum(partners) - partners, partners)
    second = (np.cumsum(occurring) - occurring)[level[first]] + within
    row = (level[first] * width + effect[first]) * width + effect[second]
    place = column[first] * size + column[second]
    shape = (len(occurring) * width**2, size**2)
    return sparse.csr_array((values[first] * values[second], (row, place)), shape=shape)
