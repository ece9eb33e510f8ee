"""R squared of every subset of blocks on many samples of rows at once.

The samples of a bootstrap differ in how often each row occurs, not in their predictors: with the
root of that number as weight they are one stack of matrices of one shape.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.tidy.frame import Floats, Integers

#: Sum of squares, relative to the sum of squared values, below which a response is constant.
CONSTANT = 1e-20

#: Numbers in a stack at most, so that memory does not grow with the number of samples.
_STACK = 4_000_000


def r_squared(subsets: Sequence[Floats], response: Floats, samples: Sequence[Integers]) -> Floats:
    """Return R squared of every subset on every sample; NaN where the response is constant.

    The share of the centred response that lies in the span of the centred columns. A column whose
    part beyond those before it is below machine precision times the larger dimension, relative to
    the longest column, spans nothing.

    Parameters
    ----------
    subsets
        Columns of each subset, shape (n, columns).
    response
        Shape (n,).
    samples
        Rows of each sample; a row may occur several times.

    Returns
    -------
    Shape (B, number of subsets).
    """
    counts = np.array([np.bincount(rows, minlength=len(response)) for rows in samples], dtype=float)
    widest = max(1, *(columns.shape[1] for columns in subsets))
    n_parts = -(-counts.size * widest // _STACK)
    parts = [_shares(subsets, response, part) for part in np.array_split(counts, n_parts)]
    return np.concatenate(parts)


def _shares(subsets: Sequence[Floats], response: Floats, counts: Floats) -> Floats:
    """Return R squared of every subset; ``counts`` says how often a sample has each row."""
    outcome = _centred(response[:, None], counts)[:, 0]
    total = np.square(outcome).sum(axis=1)
    constant = total <= CONSTANT * (counts @ np.square(response))
    explained = [_explained(_centred(columns, counts), outcome) for columns in subsets]
    with np.errstate(divide="ignore", invalid="ignore"):
        shares: Floats = np.column_stack(explained) / total[:, None]
    shares[constant] = np.nan
    return shares


def _centred(columns: Floats, counts: Floats) -> Floats:
    """Return columns without their mean in each sample, weighted, shape (B, columns, n)."""
    means = counts @ columns / counts.sum(axis=1, keepdims=True)
    return np.asarray((columns.T - means[:, :, None]) * np.sqrt(counts)[:, None, :])


def _explained(columns: Floats, outcome: Floats) -> Floats:
    """Return the sum of squares of the outcome in the span of the columns, shape (B,)."""
    n_samples, n_columns, n_rows = columns.shape
    if not n_columns:
        return np.zeros(n_samples)
    longest = np.sqrt(np.square(columns).sum(axis=2).max(axis=1))
    least = np.finfo(np.float64).eps * max(n_rows, n_columns) * longest
    basis = np.zeros_like(columns)
    for place in range(n_columns):
        rest, before = columns[:, place], basis[:, :place]
        for _ in range(2):  # once leaves rounding errors of those before it
            along = np.einsum("bin,bn->bi", before, rest)
            rest = rest - np.einsum("bin,bi->bn", before, along)
        length = np.sqrt(np.square(rest).sum(axis=1))
        spans = length > least
        basis[:, place] = rest * np.divide(1, length, out=np.zeros(n_samples), where=spans)[:, None]
    return np.asarray(np.square(np.einsum("bin,bn->bi", basis, outcome)).sum(axis=1))
