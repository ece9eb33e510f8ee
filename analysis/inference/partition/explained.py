"""R squared of every subset of blocks on many samples of rows at once.

The samples of a bootstrap differ in their rows, not in their predictors: those with equally many
rows are one stack of matrices, which LAPACK decomposes in one call.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.tidy.frame import Floats, Integers

#: Sum of squares, relative to the sum of squared values, below which a response is constant.
CONSTANT = 1e-20


def r_squared(subsets: Sequence[Floats], response: Floats, samples: Sequence[Integers]) -> Floats:
    """Return R squared of every subset on every sample; NaN where the response is constant.

    The share of the centred response that lies in the span of the centred columns. Directions
    whose singular value is below machine precision times the larger dimension, relative to the
    largest, span nothing: the rule of ``numpy.linalg.lstsq``.

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
    found = np.empty((len(samples), len(subsets)))
    sizes = np.array([len(rows) for rows in samples])
    for size in np.unique(sizes):
        alike = np.flatnonzero(sizes == size)
        rows = np.array([samples[int(place)] for place in alike])
        found[alike] = _of_equal_size(subsets, response, rows)
    return found


def _of_equal_size(subsets: Sequence[Floats], response: Floats, rows: Integers) -> Floats:
    """Return R squared of every subset on samples of one size, shape (B, number of subsets)."""
    drawn = response[rows]
    outcome = drawn - drawn.mean(axis=1, keepdims=True)
    total = np.square(outcome).sum(axis=1)
    constant = total <= CONSTANT * np.square(drawn).sum(axis=1)
    explained = [_explained(columns[rows], outcome) for columns in subsets]
    with np.errstate(divide="ignore", invalid="ignore"):
        shares: Floats = np.column_stack(explained) / total[:, None]
    shares[constant] = np.nan
    return shares


def _explained(columns: Floats, outcome: Floats) -> Floats:
    """Return the sum of squares in the span of the centred columns, shape (B,)."""
    n_samples, n_rows, n_columns = columns.shape
    if not n_columns:
        return np.zeros(n_samples)
    centred = columns - columns.mean(axis=1, keepdims=True)
    directions, lengths, _ = np.linalg.svd(centred, full_matrices=False)
    least = np.finfo(np.float64).eps * max(n_rows, n_columns) * lengths[:, :1]
    along = np.einsum("bnk,bn->bk", directions, outcome)
    spans = lengths > least
    return np.asarray(np.square(along * spans).sum(axis=1), dtype=np.float64)
