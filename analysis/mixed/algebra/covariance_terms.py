"""The covariance matrices that theta stands for, and their canonical factors.

A covariance matrix that lost rank has many lower triangular factors: below a zero on the
diagonal the column may hold anything. The canonical factor is the one whose diagonal is not
negative and whose column is zero below a zero: a Cholesky factor in echelon form, one to one with
the matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.mixed.algebra.design import Block
from analysis.tidy.frame import Floats

#: A parameter in units of its column below this is zero.
NEGLIGIBLE = 1e-9


@dataclass(frozen=True, slots=True)
class CovarianceTerm:
    """Random effects of one grouping factor that are correlated with each other."""

    block: int  #: Place of the grouping factor's block.
    effects: slice  #: Its effects, as columns of the block.
    places: slice  #: Its elements of theta: the lower triangle, column by column.

    @property
    def width(self) -> int:
        """Number of effects, k."""
        return int(self.effects.stop - self.effects.start)

    def factor(self, theta: Floats) -> Floats:
        """Return the lower triangular factor, shape (k, k)."""
        result = np.zeros((self.width, self.width))
        columns, rows = np.triu_indices(self.width)
        result[rows, columns] = theta[self.places]
        return result

    def elements(self, factor: Floats) -> Floats:
        """Return the elements of theta of a lower triangular factor."""
        columns, rows = np.triu_indices(self.width)
        return np.asarray(factor[rows, columns])

    def replace_factor(self, theta: Floats, factor: Floats) -> Floats:
        """Return theta with the canonical factor of A A' in this term, A of shape (k, any)."""
        result = theta.copy()
        result[self.places] = self.elements(canonical(factor))
        return result


def covariance_terms(blocks: tuple[Block, ...]) -> tuple[CovarianceTerm, ...]:
    """Return the covariance matrices of all blocks, in the order of theta."""
    terms, start = [], 0
    for place, block in enumerate(blocks):
        left = 0
        while left < len(block.positions):
            first = block.positions[left][0]
            width = sum(1 for _, column in block.positions if column == first)
            size = width * (width + 1) // 2
            places = slice(start + left, start + left + size)
            terms.append(CovarianceTerm(place, slice(first, first + width), places))
            left += size
        start += len(block.positions)
    return tuple(terms)


def canonical(factor: Floats, negligible: float = NEGLIGIBLE) -> Floats:
    """Return the canonical factor of A A', shape (k, k), from A of shape (k, any).

    Row by row the rest of A is reflected onto its first column (Householder), so that no
    covariance is formed and no digit lost. A row without rest leaves its column zero.
    """
    size = len(factor)
    result, rest = np.zeros((size, size)), np.array(factor, dtype=np.float64)
    for row in range(size):
        length = float(np.linalg.norm(rest[row]))
        if length <= negligible:
            continue
        rest = _reflect(rest, rest[row], length)
        result[row:, row] = rest[row:, 0]
        result[row, row] = length
        rest = rest[:, 1:]
    return result


def _reflect(matrix: Floats, row: Floats, length: float) -> Floats:
    """Return a matrix reflected so that the row becomes (length, 0, ..., 0)."""
    mirror = row.copy()
    beside = float(row[1:] @ row[1:])
    mirror[0] = row[0] - length if row[0] <= 0 else -beside / (row[0] + length)
    squared = float(mirror @ mirror)
    if squared == 0:
        return matrix
    return np.asarray(matrix - np.outer(matrix @ mirror, 2 * mirror / squared))


def drop_smallest(factor: Floats, least: float) -> Floats:
    """Return a factor of the covariance less the principal axes shorter than `least`."""
    axes, lengths, _ = np.linalg.svd(factor)
    remaining = lengths >= least
    return np.asarray(axes[:, remaining] * lengths[remaining])
