"""X'X, Z'X, Z'Z, X'y, Z'y and y'y from the cells, laid out for elimination.

The rows of the grouping factor with most levels make a block-diagonal Z1'Z1: it is kept as
one small matrix per level, with what each level shares with all the rest. The rest is
[Z2 | X | y], every other random effect, the fixed design and the response.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from analysis.mixed.algebra.design import Block, Column, Design, block_rows, matrix_of
from analysis.mixed.algebra.levels import LEAST_SPARSE, MOST_OCCURRING, Levels, gather, portions
from analysis.mixed.reading.statistics import Statistics
from analysis.tidy.frame import Floats, Integers

#: Columns that sum to one within this span the constant.
ROUNDING = 1e-12


@dataclass(frozen=True)
class CrossProducts:
    """Cross-products of [Z1 | Z2 | X | y], all weighted."""

    blocks: tuple[Block, ...]  #: Random effects: the first is Z1, the others make Z2.
    diagonal: Floats  #: Z1'Z1 per level, shape (L, k, k).
    #: Z1'[Z2 | X | y], shape (L k, q + p + 1); sparse where few of its numbers are not zero.
    flat: Floats | sparse.csr_array
    #: [Z2 | X | y]'[Z2 | X | y], shape (q + p + 1, q + p + 1); sparse as Z1'[Z2 | X | y] is.
    among: Floats | sparse.csr_array
    n_obs: int  #: Rows.
    n_fixed: int  #: Columns of X, p.
    log_weights: float  #: Sum of the logarithms of the weights.
    #: Fixed effects of the internal design times this are those of the formula's, (p, p).
    centring: Floats
    #: Fixed effects, in the formula's design, that were taken out of the response, (p,).
    shift: Floats

    @cached_property
    def levels(self) -> Levels:
        """Levels of the first block, gathered where that saves work."""
        if sparse.issparse(self.flat):
            return gather(self.diagonal, self.flat)
        return gather(self.diagonal, self.cross)

    @cached_property
    def cross(self) -> Floats:
        """Z1'[Z2 | X | y] per level, shape (L, k, q + p + 1)."""
        flat = self.flat if isinstance(self.flat, np.ndarray) else self.flat.toarray()
        return np.asarray(flat).reshape(*self.diagonal.shape[:2], self.size)

    @property
    def rest(self) -> Floats:
        """[Z2 | X | y]'[Z2 | X | y], dense."""
        return self.among if isinstance(self.among, np.ndarray) else self.among.toarray()

    def level_portions(self) -> Iterator[tuple[slice, Floats]]:
        """Yield Z1'[Z2 | X | y] of some levels at a time, dense (n, k, q + p + 1), and which."""
        width = self.diagonal.shape[1]
        for few in portions(len(self.diagonal)):
            rows = self.flat[width * few.start : width * few.stop]
            dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
            yield few, np.asarray(dense).reshape(-1, width, self.size)

    def turn(self, turn: Floats) -> CrossProducts:
        """Return the cross-products of [Z2 | X | y] times a matrix."""
        flat = self.cross.reshape(-1, self.size) @ turn
        return replace(self, flat=flat, among=turn.T @ self.rest @ turn)

    @property
    def fixed_products(self) -> Floats:
        """[X | y]'[X | y], shape (p + 1, p + 1)."""
        dense = self.among[self.n_random :, self.n_random :]
        return dense if isinstance(dense, np.ndarray) else dense.toarray()

    @property
    def size(self) -> int:
        """Columns of [Z2 | X | y]."""
        return int(self.among.shape[0])

    @property
    def n_random(self) -> int:
        """Columns of Z2, q."""
        return self.size - self.n_fixed - 1

    @property
    def n_columns(self) -> int:
        """Columns of Z1, Z2 and X together."""
        return int(np.prod(self.diagonal.shape[:2])) + self.size - 1


@dataclass(frozen=True, slots=True)
class _Variable:
    """A column in a row of cell i: coefficient[i] * (shifted basis number + added)."""

    coefficient: Floats
    variable: int
    added: float


def assemble(statistics: Statistics, design: Design) -> CrossProducts:
    """Return the cross-products of a design.

    Columns of X whose basis number was shifted stay shifted where the design has the column
    that absorbs the shift (the intercept, or the dummy without the predictor): sums of squares
    about the mean keep their digits. Random effects are never shifted, as that would change
    what their covariance means.
    """
    fixed, centring = _fixed_variables(statistics, design)
    explained, shift = _response_variable(statistics, design)
    others = design.blocks[1:]
    dense = [*fixed, explained]
    first = design.blocks[0]
    is_sparse = n_occurring(first, others, len(dense)) is not None
    return CrossProducts(
        blocks=design.blocks,
        diagonal=_own_products(statistics, first),
        flat=_flat(statistics, first, others, _block_products(statistics, first, dense)),
        among=(_sparse_among if is_sparse else _dense_among)(statistics, others, dense),
        n_obs=statistics.n_obs,
        n_fixed=len(fixed),
        log_weights=float(statistics.log_weights.sum()),
        centring=centring,
        shift=shift,
    )


def select_fixed(cross: CrossProducts, columns: Integers) -> CrossProducts:
    """Return the cross-products with some of the fixed columns only, in the internal design."""
    q = cross.n_random
    places = np.concatenate([np.arange(q), q + columns, [cross.size - 1]])
    return replace(
        cross,
        flat=cross.flat[:, places],
        among=cross.rest[np.ix_(places, places)],
        n_fixed=len(columns),
        centring=cross.centring[np.ix_(columns, columns)],
        shift=cross.shift[columns],
    )


def _unshift(column: Column, statistics: Statistics) -> _Variable:
    return _Variable(column.coefficient, column.basis, float(statistics.shift[column.basis]))


def _fixed_variables(statistics: Statistics, design: Design) -> tuple[list[_Variable], Floats]:
    """Return X, shifted where another column absorbs it, and the map of its coefficients."""
    variables, centring = [], np.eye(len(design.fixed))
    for place, column in enumerate(design.fixed):
        absorber = _absorber(design, column.coefficient) if column.basis else None
        if absorber is None:
            variables.append(_unshift(column, statistics))
        else:
            variables.append(_Variable(column.coefficient, column.basis, 0.0))
            centring[absorber, place] = -float(statistics.shift[column.basis])
    return variables, centring


def _absorber(design: Design, coefficient: Floats) -> int | None:
    """Return the fixed column that equals the coefficient, times the number one."""
    for place, column in enumerate(design.fixed):
        if column.basis == 0 and np.array_equal(column.coefficient, coefficient):
            return place
    return None


def _response_variable(statistics: Statistics, design: Design) -> tuple[_Variable, Floats]:
    """Return the response, shifted where the fixed design can give the shift back."""
    ones = np.ones(len(statistics.counts))
    position = len(statistics.basis)
    shift = float(statistics.shift[position])
    fixed_shift = np.zeros(len(design.fixed))
    absorber = _absorber(design, ones)
    if absorber is not None:
        fixed_shift[absorber] = shift
        return _Variable(ones, position, 0.0), fixed_shift
    plain = [place for place, column in enumerate(design.fixed) if column.basis == 0]
    if plain:
        columns = matrix_of(design.fixed[place] for place in plain)
        weights = np.linalg.lstsq(columns, ones)[0]
        if np.abs(columns @ weights - ones).max() < ROUNDING:
            fixed_shift[plain] = shift * weights
            return _Variable(ones, position, 0.0), fixed_shift
    return _Variable(ones, position, shift), fixed_shift


def _products(statistics: Statistics, first: _Variable, second: _Variable) -> Floats:
    """Return the sums of products of two columns over every cell, shape (n cells,)."""
    i, j = first.variable, second.variable
    total = statistics.product(i, j)
    if second.added:
        total = total + second.added * statistics.product(0, i)
    if first.added:
        total = total + first.added * statistics.product(0, j)
    if first.added and second.added:
        total = total + first.added * second.added * statistics.product(0, 0)
    return first.coefficient * second.coefficient * total


def _numeric_products(statistics: Statistics, variables: list[_Variable]) -> Floats:
    size = len(variables)
    result = np.zeros((size, size))
    for i in range(size):
        for j in range(i, size):
            result[i, j] = _products(statistics, variables[i], variables[j]).sum()
            result[j, i] = result[i, j]
    return result


def _block_products(statistics: Statistics, block: Block, variables: list[_Variable]) -> Floats:
    """Return Z'V of a block and m columns V, such as [X | y], shape (L * k, m)."""
    levels, width = len(block.levels), block.width
    result = np.zeros((levels, width, len(variables)))
    for i, column in enumerate(block.columns):
        random = _unshift(column, statistics)
        for j, variable in enumerate(variables):
            products = _products(statistics, random, variable)
            result[:, i, j] = np.bincount(block.codes, products, levels)
    return result.reshape(levels * width, -1)


def _dense_among(
    statistics: Statistics, blocks: tuple[Block, ...], dense: list[_Variable]
) -> Floats:
    """Return [Z2 | X | y]'[Z2 | X | y] of blocks and of m columns [X | y]."""
    n_random = sum(block.size for block in blocks)
    size = n_random + len(dense)
    among = np.zeros((size, size))
    placed = list(zip(blocks, block_rows(blocks), strict=True))
    for place, (block, rows) in enumerate(placed):
        places = np.arange(rows.start, rows.stop).reshape(-1, block.width)
        among[places[:, :, None], places[:, None, :]] = _own_products(statistics, block)
        for other, columns in placed[place + 1 :]:
            among[rows, columns] = _cross_block_products(statistics, block, other)
            among[columns, rows] = among[rows, columns].T
        among[rows, n_random:] = _block_products(statistics, block, dense)
        among[n_random:, rows] = among[rows, n_random:].T
    among[n_random:, n_random:] = _numeric_products(statistics, dense)
    return among


def _sparse_among(
    statistics: Statistics, blocks: tuple[Block, ...], dense: list[_Variable]
) -> Floats | sparse.csr_array:
    """Return what `_dense_among` does, of levels that meet; sparse where these are few."""
    n = len(blocks)
    parts: list[list[sparse.csr_array | None]] = [[None] * (n + 1) for _ in range(n + 1)]
    for place, block in enumerate(blocks):
        parts[place][place] = _block_diagonal(statistics, block)
        beside = [_sparse_between(statistics, block, other) for other in blocks[place + 1 :]]
        beside.append(sparse.csr_array(_block_products(statistics, block, dense)))
        for other, part in enumerate(beside, start=place + 1):
            parts[place][other], parts[other][place] = part, sparse.csr_array(part.T)
    parts[n][n] = sparse.csr_array(_numeric_products(statistics, dense))
    among = sparse.csr_array(sparse.block_array(parts, format="csr"))
    return among if among.nnz <= MOST_OCCURRING * np.prod(among.shape) else among.toarray()


def n_occurring(first: Block, others: Sequence[Block], n_fixed: int) -> int | None:
    """Return how many numbers of Z1'[Z2 | X | y] may differ from zero; None where they are many."""
    size = first.size * (sum(block.size for block in others) + n_fixed)
    met = sum(len(first.codes) * first.width * block.width for block in others)
    occurring = met + first.size * n_fixed
    return occurring if size >= LEAST_SPARSE and occurring <= MOST_OCCURRING * size else None


def _flat(
    statistics: Statistics, first: Block, others: tuple[Block, ...], with_dense: Floats
) -> Floats | sparse.csr_array:
    """Return Z1'[Z2 | X | y], sparse where the cells are few beside its numbers."""
    if n_occurring(first, others, with_dense.shape[1]) is None:
        dense = [_cross_block_products(statistics, first, block) for block in others]
        return np.concatenate([*dense, with_dense], axis=1)
    parts = [_sparse_between(statistics, first, block) for block in others]
    return sparse.csr_array(sparse.hstack([*parts, sparse.csr_array(with_dense)], format="csr"))


def _sparse_between(statistics: Statistics, block: Block, other: Block) -> sparse.csr_array:
    """Return what `_cross_block_products` does, of pairs of levels that meet."""
    rows, columns, values = [], [], []
    for i, first in enumerate(block.columns):
        for j, second in enumerate(other.columns):
            rows.append(block.codes * block.width + i)
            columns.append(other.codes * other.width + j)
            one, two = _unshift(first, statistics), _unshift(second, statistics)
            values.append(_products(statistics, one, two))
    places = (np.concatenate(rows), np.concatenate(columns))
    shape = (block.size, other.size)
    return sparse.csr_array(sparse.coo_array((np.concatenate(values), places), shape=shape))


def _cross_block_products(statistics: Statistics, block: Block, other: Block) -> Floats:
    """Return Za'Zb of two blocks, shape (La * ka, Lb * kb)."""
    shape = (len(block.levels), len(other.levels))
    pair: Integers = block.codes * shape[1] + other.codes
    result = np.zeros((shape[0], block.width, shape[1], other.width))
    for i, first in enumerate(block.columns):
        for j, second in enumerate(other.columns):
            products = _products(
                statistics, _unshift(first, statistics), _unshift(second, statistics)
            )
            summed = np.bincount(pair, products, shape[0] * shape[1])
            result[:, i, :, j] = summed.reshape(shape)
    return result.reshape(shape[0] * block.width, shape[1] * other.width)


def _own_products(statistics: Statistics, block: Block) -> Floats:
    """Return Z'Z of every level of a block, which has nothing between two of them, (L, k, k)."""
    columns = [_unshift(column, statistics) for column in block.columns]
    return _block_products(statistics, block, columns).reshape(-1, block.width, block.width)


def _block_diagonal(statistics: Statistics, block: Block) -> sparse.csr_array:
    """Return Z'Z of a block, (L * k, L * k)."""
    of_levels = _own_products(statistics, block)
    starts = np.arange(0, block.size * block.width + 1, block.width)
    places = np.arange(block.size).reshape(-1, 1, block.width)
    columns = np.broadcast_to(places, of_levels.shape).ravel()
    return sparse.csr_array((of_levels.ravel(), columns, starts), shape=(block.size, block.size))
