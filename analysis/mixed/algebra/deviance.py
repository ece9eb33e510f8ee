"""The profiled deviance and its gradient, from cross-products.

Bates, Maechler, Bolker and Walker (2015), Journal of Statistical Software 67(1): the deviance
of theta with the fixed effects and the variance profiled out is equation 34 (ML) or 42 (REML).
With A = Lambda' Z'Z Lambda + I,

    -2 log L = log|A| + [log|X' H^-1 X|] + d (1 + log(2 pi r^2 / d)) - sum log w,

where H = Z Lambda Lambda' Z' + I, d is n (ML) or n - p (REML, with the term in brackets), and
r^2 the penalised residual sum of squares. The first block's Z1 is eliminated level by level
(its part of A is block-diagonal), the remainder is one dense Cholesky factor.

The gradient is by reverse accumulation: with F the remainder, d log|F| = tr(F^-1 dF), and r^2
is the minimum of a quadratic form w'Fw, so that dr^2 = w' dF w. With P the derivative by F and
lambda the one relative deviation of a later block of n levels, it is 2 (n - tr P_block) / lambda,
as F is Lambda2' M Lambda2 + I: for that M need not be kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import lapack

from analysis.mixed.algebra.crossproducts import CrossProducts
from analysis.mixed.algebra.design import Block, block_rows
from analysis.mixed.algebra.levels import make_symmetric, portions
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, Integers

#: Columns beside the first block from which on M is overwritten by what is made of it.
LEAST_OVERWRITTEN = 500

#: A relative deviation below this has its derivative from the moments: the trace loses digits.
LEAST = 1e-2


@dataclass(frozen=True, slots=True)
class Elimination:
    """The first block eliminated at a relative factor; H1 = Z1 Lambda1 Lambda1' Z1' + I."""

    factor: Floats  #: Lambda1 of one level, shape (k, k).
    #: A1^-1 = (Lambda1' Z1'Z1 Lambda1 + I)^-1 per class of levels, shape (V, k, k).
    inverse: Floats
    kernel_by_class: Floats  #: B = Lambda1 A1^-1 Lambda1' per class, shape (V, k, k).
    codes: Integers  #: Class of every level, shape (L,).
    log_determinant: float  #: log|A1| over all levels.

    @property
    def kernel(self) -> Floats:
        """B per level, shape (L, k, k)."""
        return self.kernel_by_class[self.codes]


@dataclass(frozen=True, slots=True)
class Profile:
    """Everything known at a theta."""

    theta: Floats  #: Parameters of the relative factors.
    criterion: float  #: Minus twice the profiled (restricted) log-likelihood.
    gradient: Floats  #: Its derivative by theta.
    coefficients: Floats  #: Fixed effects of the internal design, shape (p,).
    modes: Floats  #: Spherical conditional modes u2 of the later blocks, shape (q,).
    residual: float  #: Penalised residual sum of squares r^2.
    df: int  #: d: n for ML, n - p for REML.
    #: Lower Cholesky factor of [Lambda2' Z2 | X]' H1^-1 [Z2 Lambda2 | X] + I, (q + p, q + p).
    root: Floats
    eliminated: Elimination  #: The first block.

    @property
    def variance(self) -> float:
        """Residual variance, r^2 / d."""
        return self.residual / self.df


def profile(
    cross: CrossProducts, theta: Floats, *, reml: bool = True, variance: float | None = None
) -> Profile:
    """Return the profiled deviance, its gradient, and the solution at a theta."""
    factors = relative_factors(cross.blocks, theta)
    eliminated = eliminate(cross, factors[0])
    q, p = cross.n_random, cross.n_fixed
    reduced, sizes = reduce(cross, eliminated), _large_sizes(cross, factors)
    square = float(reduced[-1, -1])
    if sizes is None:
        moment, response = _moments(reduced, cross.blocks[1:], factors[1:])
    else:
        moment, response = _put_moments(reduced, sizes)  # what M held is overwritten
    moment[np.arange(q), np.arange(q)] += 1.0
    root = _root(moment)
    half = solve_lower(root, response)
    residual = square - float(half @ half)
    solution = solve_lower(root, half, trans=1)
    logs = 2 * np.log(np.diag(root))
    df = cross.n_obs - p if reml else cross.n_obs
    log_determinant = eliminated.log_determinant + logs[:q].sum() + (logs[q:].sum() if reml else 0)
    scale = residual / df if variance is None else variance
    if not scale > 0:
        raise DesignError(
            "The residual variance must be positive; it is lost in rounding.",
            "Subtract from each predictor a constant near its mean.",
        )
    fit = df * np.log(2 * np.pi * scale) + residual / scale
    sensitivity = _sensitivity(root, solution, q, reml, scale)
    if sizes is None:
        gradient = _gradient(cross, factors, eliminated, reduced, sensitivity)
    else:
        gradient = _gradient_by_traces(cross, eliminated, sizes, sensitivity)
    return Profile(
        theta=theta,
        criterion=float(log_determinant + fit - cross.log_weights),
        gradient=gradient,
        coefficients=solution[q:],
        modes=solution[:q],
        residual=residual,
        df=df,
        root=root,
        eliminated=eliminated,
    )


def covariance_gradients(
    cross: CrossProducts, solution: Profile, *, reml: bool = True
) -> list[Floats]:
    """Return the derivative of the deviance by the relative covariance of every block, (k, k).

    With S = Lambda Lambda' and e the residuals, dH = Z dS Z' gives, summed over the levels,

        G = Z'PZ - Z'H^-1 e e'H^-1 Z / variance,

    where P is H^-1 (ML) or H^-1 - H^-1 X (X'H^-1 X)^-1 X'H^-1 (REML). The derivative by Lambda
    is 2 G Lambda, which is zero wherever Lambda is: G alone tells whether a variance that is
    zero should be.
    """
    factors = relative_factors(cross.blocks, solution.theta)
    optimum = np.concatenate([solution.modes, solution.coefficients])
    later, outward = cross.blocks[1:], [factor.T for factor in factors[1:]]
    through = _sensitivity(solution.root, optimum, cross.n_random, reml, solution.variance)
    scale_rows(through.T, later, outward)
    scale_rows(through, later, outward)
    gradients = [_first_covariance_gradient(cross, solution.eliminated, through)]
    reduced = reduce(cross, solution.eliminated)
    spread = reduced @ through
    for block, places in zip(later, block_rows(later), strict=True):
        by_level = (len(block.levels), block.width, -1)
        rows, one = reduced[places].reshape(by_level), np.arange(len(block.levels))
        within = rows[:, :, places].reshape(*by_level[:2], *by_level[:2])[one, :, one, :]
        lost = spread[places].reshape(by_level) @ rows.transpose(0, 2, 1)
        gradients.append((within - lost).sum(axis=0))
    return [(each + each.T) / 2 for each in gradients]


def relative_factors(blocks: tuple[Block, ...], theta: Floats) -> list[Floats]:
    """Return Lambda of one level for every block: lower triangular, shape (k, k)."""
    factors, start = [], 0
    for block in blocks:
        factor = np.zeros((block.width, block.width))
        for (row, column), value in zip(block.positions, theta[start:], strict=False):
            factor[row, column] = value
        start += len(block.positions)
        factors.append(factor)
    return factors


def scaled_rows(matrix: Floats, blocks: tuple[Block, ...], factors: list[Floats]) -> Floats:
    """Return Lambda2' times a matrix whose first rows are the random effects of the blocks."""
    result = matrix.copy()
    scale_rows(result, blocks, factors)
    return result


def scale_rows(matrix: Floats, blocks: tuple[Block, ...], factors: list[Floats]) -> None:
    """Do what `scaled_rows` does in the memory of the matrix."""
    for block, rows, factor in zip(blocks, block_rows(blocks), factors, strict=True):
        if block.width == 1:
            matrix[rows] *= factor[0, 0]
            continue
        for few in portions(matrix.shape[1]):
            by_level = matrix[rows, few].reshape(len(block.levels), block.width, -1)
            matrix[rows, few] = (factor.T @ by_level).reshape(block.size, -1)


def eliminate(cross: CrossProducts, factor: Floats) -> Elimination:
    """Return the first block integrated out."""
    levels = cross.levels
    penalised = factor.T @ levels.diagonal @ factor + np.eye(len(factor))
    inverse: Floats = np.linalg.inv(penalised).astype(np.float64)
    kernel = factor @ inverse @ factor.T
    return Elimination(
        factor=factor,
        inverse=inverse,
        kernel_by_class=kernel,
        codes=levels.codes,
        log_determinant=float(levels.sizes @ np.linalg.slogdet(penalised).logabsdet),
    )


def reduce(cross: CrossProducts, eliminated: Elimination) -> Floats:
    """Return M = W'H1^-1 W of W = [Z2 | X | y], shape (q + p + 1, q + p + 1).

    By the Woodbury identity M = W'W - sum over levels of C' B C, with C = Z1'W of the level.
    """
    return _difference(cross.among, cross.levels.weighted(eliminated.kernel_by_class))


def _difference(whole: Floats | sparse.csr_array, part: Floats) -> Floats:
    """Return whole - part, in the memory of the part."""
    if isinstance(whole, np.ndarray):
        return np.subtract(whole, part, out=part)
    np.negative(part, out=part)
    rows = np.repeat(np.arange(whole.shape[0]), np.diff(whole.indptr))
    part[rows, whole.indices] += whole.data
    return part


def _moments(
    reduced: Floats, blocks: tuple[Block, ...], factors: list[Floats]
) -> tuple[Floats, Floats]:
    """Return M of [Z2 Lambda2 | X], in Fortran's order, and of it with y."""
    sizes = _sizes(blocks, factors, len(reduced) - 1)
    if sizes is not None:
        scaled = np.multiply(reduced[:-1, :-1], sizes[:, None], order="F")
        scaled *= sizes
        return scaled, sizes * reduced[:-1, -1]
    moment = scaled_rows(reduced, blocks, factors)
    scale_rows(moment.T, blocks, factors)
    return np.array(moment[:-1, :-1], order="F"), moment[:-1, -1].copy()


def _large_sizes(cross: CrossProducts, factors: list[Floats]) -> Floats | None:
    """Return Lambda2 as `_sizes` does where columns are many; None where a deviation is near 0."""
    if cross.size < LEAST_OVERWRITTEN:
        return None
    sizes = _sizes(cross.blocks[1:], factors[1:], cross.size)
    return sizes if sizes is not None and np.abs(sizes).min() >= LEAST else None


def _put_moments(reduced: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """Return what `_moments` does, in the memory of M; Lambda2 is the diagonal `sizes`."""
    n = len(reduced) - 1
    inner, response = sizes[:n], sizes[:n] * reduced[:n, n]
    memory = reduced.reshape(-1)
    for few in portions(n):  # from the first: no row comes where one lies
        rows = reduced[few, :n] * inner[few, None]
        rows *= inner
        memory[few.start * n : few.stop * n] = rows.ravel()
    return memory[: n**2].reshape((n, n), order="F"), response  # symmetric


def _sizes(blocks: tuple[Block, ...], factors: list[Floats], n: int) -> Floats | None:
    """Return Lambda2 as the diagonal of a matrix of n columns; None where it is none."""
    if any(block.width > 1 for block in blocks):
        return None
    sizes = np.ones(n)
    for rows, factor in zip(block_rows(blocks), factors, strict=True):
        sizes[rows] = factor[0, 0]
    return sizes


def _root(matrix: Floats) -> Floats:
    """Return the lower Cholesky factor, in the memory of a matrix in Fortran's order.

    LAPACK is called itself: a fit by the thousand spends more on checks than on a matrix this
    small.
    """
    if not len(matrix):
        return matrix
    root, failed = lapack.dpotrf(matrix, lower=1, clean=1, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError(f"The leading minor of order {failed} is not positive.")
    return np.asarray(root, dtype=np.float64)


def solve_lower(root: Floats, right: Floats, trans: int = 0) -> Floats:
    """Return the solution of a lower triangular system, or of its transpose."""
    if not len(root):
        return right
    return np.asarray(lapack.dtrtrs(root, right, lower=1, trans=trans)[0], dtype=np.float64)


def _sensitivity(root: Floats, solution: Floats, q: int, reml: bool, scale: float) -> Floats:
    """Return the derivative of the deviance by F, the augmented moment matrix.

    It is F^-1 without the response (of its random part alone for ML) plus w w' / variance,
    where w = (-u, -beta, 1) attains the residual sum of squares. All is made in the memory of the
    result: large matrices are what a fit of crossed factors takes its memory for.
    """
    size = len(root)
    memory = np.empty((size + 1) ** 2)
    result = memory.reshape((size + 1, size + 1), order="F")
    inner = size if reml else q
    # The leading q x q part of the factor is the factor of the leading part.
    _put_inverse(memory, result, root[:inner, :inner])
    direction = np.append(-solution, 1.0)
    weighted = direction / scale
    for few in portions(size + 1):
        result[:, few] += weighted[:, None] * direction[few]
    return result.T  # in C's order, and symmetric


def _put_inverse(memory: Floats, result: Floats, root: Floats) -> None:
    """Put the inverse of the matrix with this lower Cholesky factor into a corner, zeros elsewhere.

    ``result`` is ``memory`` as a matrix in Fortran's order, of which LAPACK takes a whole one.
    """
    inner = len(root)
    if inner:
        inverse = memory[: inner**2].reshape((inner, inner), order="F")
        inverse[:] = root
        lapack.dpotri(inverse, lower=1, overwrite_c=1)
        for few in reversed([*portions(inner)]):  # from the last: no column lies where one comes
            result[:inner, few] = inverse[:, few].copy()
        result[np.arange(inner), np.arange(inner)] /= 2  # above the diagonal the factor is zero
        make_symmetric(result[:inner, :inner])
    result[inner:] = 0
    result[:, inner:] = 0


def _gradient(
    cross: CrossProducts,
    factors: list[Floats],
    eliminated: Elimination,
    reduced: Floats,
    sensitivity: Floats,
) -> Floats:
    """Return the derivative of the deviance by theta; what the sensitivity held is overwritten."""
    later = cross.blocks[1:]
    sizes = _sizes(later, factors[1:], len(sensitivity))
    if sizes is not None:
        sensitivity *= sizes  # S Lambda2, whose rows are those of the transpose of Lambda2 S
        of_later = [[2 * np.vdot(reduced[rows], sensitivity[rows])] for rows in block_rows(later)]
        sensitivity *= sizes[:, None]
        of_first = _first_gradient(cross, eliminated, sensitivity)[_places(cross.blocks[0])]
        return np.concatenate([of_first, *of_later])
    outward = [factor.T for factor in factors[1:]]
    scale_rows(sensitivity.T, later, outward)  # S Lambda2'
    parts = []
    for block, places in zip(later, block_rows(later), strict=True):
        by_level = (-1, block.width, len(sensitivity))
        rows, columns = reduced[places].reshape(by_level), sensitivity[places].reshape(by_level)
        parts.append(2 * np.einsum("lrs,lcs->rc", rows, columns)[_places(block)])
    scale_rows(sensitivity, later, outward)
    of_first = _first_gradient(cross, eliminated, sensitivity)[_places(cross.blocks[0])]
    return np.concatenate([of_first, *parts])


def _gradient_by_traces(
    cross: CrossProducts, eliminated: Elimination, sizes: Floats, sensitivity: Floats
) -> Floats:
    """Return what `_gradient` does without M; Lambda2 is the diagonal `sizes`, none zero."""
    later, diagonal = cross.blocks[1:], sensitivity.diagonal().copy()
    of_later = [
        [2 * float(block.size - diagonal[rows].sum()) / sizes[rows.start]]
        for block, rows in zip(later, block_rows(later), strict=True)
    ]
    sensitivity *= sizes
    sensitivity *= sizes[:, None]
    of_first = _first_gradient(cross, eliminated, sensitivity)[_places(cross.blocks[0])]
    return np.concatenate([of_first, *of_later])


def _places(block: Block) -> tuple[list[int], list[int]]:
    return [row for row, _ in block.positions], [column for _, column in block.positions]


def _first_gradient(cross: CrossProducts, eliminated: Elimination, through: Floats) -> Floats:
    """Return the derivative by Lambda1 of one level, shape (k, k).

    With D = Z1'Z1 and Q = C P C' of a level, P the derivative by M: the log-determinant gives
    2 D Lambda A^-1, the eliminated part -2 (I - D B) Q Lambda A^-1.
    """
    levels = cross.levels
    scaled = eliminated.factor @ eliminated.inverse
    by_determinant = levels.sizes[:, None, None] * (levels.diagonal @ scaled)
    remaining = np.eye(len(eliminated.factor)) - levels.diagonal @ eliminated.kernel_by_class
    by_moments = levels.between(remaining, through, scaled)
    return np.asarray(2 * (by_determinant.sum(axis=0) - by_moments))


def _first_covariance_gradient(
    cross: CrossProducts, eliminated: Elimination, through: Floats
) -> Floats:
    """Return the derivative by Lambda1 Lambda1' of one level, shape (k, k).

    With R = I - D B of a level: Z1'H1^-1 Z1 is R D and Z1'H1^-1 [Z2 | X | y] is R C.
    """
    levels = cross.levels
    remaining = np.eye(len(eliminated.factor)) - levels.diagonal @ eliminated.kernel_by_class
    of_factor = levels.sizes[:, None, None] * (remaining @ levels.diagonal)
    lost = levels.between(remaining, through, remaining.transpose(0, 2, 1))
    return np.asarray(of_factor.sum(axis=0) - lost)
