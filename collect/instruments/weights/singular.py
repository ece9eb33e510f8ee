"""Largest singular values and Frobenius norms of weights, without their full spectrum."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

#: Up to this many rows or columns a whole matrix is done by its Gram matrix.
_SMALL = 512

#: Residual |W^T W v - lambda v| / lambda at which Lanczos steps end, and vectors kept: in float32
#: to find v, then in float64 to bound the relative error of sigma_max by half the residual.
_LANCZOS = {torch.float32: (1e-6, 24), torch.float64: (1e-7, 8)}

#: Rows of a whole matrix that are multiplied at a time; they stay in the processor's cache.
_SLICE = 128

#: Largest entries between which products can neither overflow nor vanish in float32.
_ORDINARY = (1e-15, 1e15)


@dataclass(frozen=True, slots=True)
class Norms:
    """Norms of some matrices, each (n,) in float64 [weight units].

    Attributes
    ----------
    sigma_max
        Largest singular value.
    frobenius
        sqrt(sum_ij W_ij^2).
    """

    sigma_max: Tensor
    frobenius: Tensor

    def at(self, places: Tensor) -> Norms:
        """Return the norms of some of the matrices, which may be asked for several times."""
        return Norms(self.sigma_max[places], self.frobenius[places])


@dataclass(frozen=True, slots=True)
class Grams:
    """Gram matrices W W^T of some matrices, in float64.

    Attributes
    ----------
    products
        (n, rows, rows), divided by ``scale`` squared.
    scale
        (n,): 1, or the largest entry of a matrix in float64, whose square could overflow.
    """

    products: Tensor
    scale: Tensor

    def at(self, places: Tensor) -> Grams:
        """Return the Gram matrices at some places, which may be asked for several times."""
        return Grams(self.products[places], self.scale[places])

    def norms(self) -> Norms:
        """Return the norms of the matrices: sqrt(lambda_max) and sqrt(trace)."""
        traces = self.products.diagonal(dim1=-2, dim2=-1).sum(-1)
        return Norms(_sqrt_largest(self.products) * self.scale, traces.sqrt() * self.scale)


def grams(matrices: Tensor, gain: Tensor | None = None) -> Grams:
    """Return the Gram matrices of some matrices, computed in float64, one after the other.

    Parameters
    ----------
    matrices
        (n, rows, columns), any floating type [weight units].
    gain
        (columns,): what the columns are multiplied by first, if anything.
    """
    n, n_rows, n_columns = matrices.shape
    products = torch.empty(n, n_rows, n_rows, dtype=torch.float64)
    scale = torch.ones(n, dtype=torch.float64)
    # One workspace for all: memory that comes and goes leaves holes that nothing fits into.
    x64 = torch.empty(n_rows, n_columns, dtype=torch.float64)
    for place, matrix in enumerate(matrices):
        x64.copy_(matrix)
        if gain is not None:
            x64.mul_(gain)
        if matrices.dtype == torch.float64:
            scale[place] = _largest(x64) or 1.0
            x64.div_(scale[place])
        torch.mm(x64, x64.mT, out=products[place])
    return Grams(products, scale)


def head_norms(matrices: Tensor, gain: Tensor | None = None) -> Norms:
    """Return the norms of some matrices of which one side is short, one after the other.

    sigma_max = sqrt(lambda_max(W W^T)), products and eigenvalues in float64, to a relative error
    of about 1e-15. Products in float32 were off by up to 2.4e-7, which no trace betrays.

    Parameters
    ----------
    matrices
        (n, rows, columns) with rows <= columns, any floating type [weight units].
    gain
        (columns,): what the columns are multiplied by first, if anything.
    """
    return grams(matrices, gain).norms()


def product_norms(left: Grams, right: Grams) -> Norms:
    """Return the norms of products L R, from the Gram matrices of L^T and of R.

    With A = L^T L and B = R R^T: sigma_max^2 = lambda_max(A B) = lambda_max(C^T A C) where
    B = C C^T, and |L R|_F^2 = trace(A B) = sum_ij A_ij B_ij, all of them as small as the inner
    side of the product. In float64, because a product can be much smaller than its factors.

    Parameters
    ----------
    left, right
        Of L^T and of R, (n, inner, inner) both.
    """
    root, failures = torch.linalg.cholesky_ex(right.products)
    if failures.any():
        is_singular = failures > 0
        eigenvalues, vectors = torch.linalg.eigh(right.products[is_singular])
        root[is_singular] = vectors * eigenvalues.clamp_min(0).sqrt()[..., None, :]
    scale = left.scale * right.scale
    traces = (left.products * right.products).sum((-2, -1)).clamp_min(0)
    return Norms(
        _sqrt_largest(root.mT @ left.products @ root) * scale,
        traces.sqrt() * scale,
    )


def whole_norms(matrix: Tensor) -> Norms:
    """Return the norms of one large matrix, each (1,).

    sigma_max = sqrt(lambda_max(W^T W)) by Lanczos steps (ARPACK) from a random start, first in
    float32, then in float64 until |W^T W v - lambda v| <= 1e-7 lambda, so that the relative
    error of sigma_max is at most 5e-8. A matrix with a short side is done by `grams`.

    Parameters
    ----------
    matrix
        (rows, columns), any floating type [weight units].
    """
    if min(matrix.shape) <= _SMALL:
        rows = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.mT
        return grams(rows[None]).norms()
    # Rows that lie apart in memory are slow to read; the transpose has the same norms.
    rows = matrix if matrix.is_contiguous() else matrix.mT
    largest = _largest(rows)
    if largest == 0:
        return Norms(torch.zeros(1).double(), torch.zeros(1).double())
    scale = 1.0
    # Widened once: to convert a 16-bit number costs more than to multiply it.
    rows = rows.to(torch.promote_types(rows.dtype, torch.float32))
    if not _ORDINARY[0] < largest < _ORDINARY[1]:
        rows, scale = rows.double() / largest, largest
    norms = torch.tensor([_lanczos(rows), frobenius_norm(rows)], dtype=torch.float64) * scale
    return Norms(norms[:1], norms[1:])


def frobenius_norm(matrix: Tensor) -> float:
    """Return sqrt(sum_ij W_ij^2) of one matrix, summed in float64 slice by slice."""
    slices = matrix.split(_SLICE)
    return math.hypot(*(float(torch.linalg.vector_norm(s, dtype=torch.float64)) for s in slices))


def _largest(matrix: Tensor) -> float:
    """Return the largest entry in absolute value."""
    return float(torch.stack(torch.aminmax(matrix)).abs().max())


def _sqrt_largest(products: Tensor) -> Tensor:
    """Return the square root of the largest eigenvalue of each symmetric matrix."""
    eigenvalues: Tensor = torch.linalg.eigvalsh(products)
    return eigenvalues[..., -1].clamp_min(0).sqrt()


def _lanczos(matrix: Tensor) -> float:
    """Return the largest singular value of a matrix (rows, columns)."""
    # Only a large matrix needs it, and importing it takes as long as importing pandas.
    from scipy.sparse.linalg import LinearOperator, eigsh

    n_columns = matrix.shape[1]
    vector = np.random.default_rng(0).standard_normal(n_columns)
    for dtype, (residual, n_vectors) in _LANCZOS.items():

        def times_gram(v: NDArray[np.float64], dtype: torch.dtype = dtype) -> NDArray[np.float64]:
            given = torch.from_numpy(v.reshape(-1)).to(dtype)
            product = torch.zeros(len(given), dtype=torch.float64)
            for rows in matrix.split(_SLICE):
                part = rows.to(dtype)
                product += part.mT @ (part @ given)
            result: NDArray[np.float64] = product.numpy()
            return result

        operator = LinearOperator((n_columns, n_columns), matvec=times_gram, dtype=np.float64)
        values, vectors = eigsh(operator, k=1, which="LA", ncv=n_vectors, v0=vector, tol=residual)
        vector = vectors[:, 0]
    return float(np.sqrt(values[0]))
