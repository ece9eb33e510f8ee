"""R squared of every subset of blocks on many samples of rows at once.

The samples of a bootstrap differ in how often each row occurs, not in their predictors: with the
root of that number as weight they are one stack of matrices of one shape. What a block adds to
those before it is computed once for all subsets that begin alike.

>>> import numpy as np, pandas as pd
>>> from analysis.inference import explained
>>> x = np.arange(6.0)[:, None]
>>> explained.r_squared([x], 2 * x[:, 0], [np.arange(6)]).round(6).max().item()
1.0
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.tidy.frame import Floats, Integers

#: Sum of squares, relative to the sum of squared values, below which a response is constant.
CONSTANT = 1e-20

#: Numbers in a stack at most, so that memory does not grow with the number of samples.
_STACK = 4_000_000


def r_squared(blocks: Sequence[Floats], response: Floats, samples: Sequence[Integers]) -> Floats:
    """Return R squared of every subset on every sample; NaN where the response is constant.

    The share of the centred response that lies in the span of the centred columns. A column whose
    part beyond those before it is below machine precision times the larger dimension, relative to
    the longest column, spans nothing.

    Parameters
    ----------
    blocks
        Columns of each of k blocks, shape (n, columns); at least one block, of at least one column.
    response
        Shape (n,).
    samples
        Rows of each sample; a row may occur several times.

    Returns
    -------
    Shape (B, 2^k). Subset s holds block b when bit b of s is set.
    """
    counts = np.array([np.bincount(rows, minlength=len(response)) for rows in samples], dtype=float)
    n_columns = sum(columns.shape[1] for columns in blocks)
    n_parts = -(-counts.size * n_columns // _STACK)
    parts = [_shares(blocks, response, part) for part in np.array_split(counts, n_parts)]
    return np.concatenate(parts)


def _shares(blocks: Sequence[Floats], response: Floats, counts: Floats) -> Floats:
    """Return R squared of every subset; ``counts`` says how often a sample has each row."""
    outcome = _centre(response[:, None], counts)
    total = np.square(outcome).sum(axis=(1, 2))
    constant = total <= CONSTANT * (counts @ np.square(response))
    explained = _explain([_centre(columns, counts) for columns in blocks], outcome[:, 0])
    with np.errstate(divide="ignore", invalid="ignore"):
        shares: Floats = explained / total[:, None]
    shares[constant] = np.nan
    return shares


def _centre(columns: Floats, counts: Floats) -> Floats:
    """Return columns without their mean in each sample, weighted, shape (B, columns, n)."""
    means = counts @ columns / counts.sum(axis=1, keepdims=True)
    return np.asarray((columns.T - means[:, :, None]) * np.sqrt(counts)[:, None, :])


def _explain(blocks: Sequence[Floats], outcome: Floats) -> Floats:
    """Return the sum of squares of the outcome in the span of each subset, shape (B, 2^k)."""
    every = np.concatenate(blocks, axis=1)
    longest = np.sqrt(np.square(every).sum(axis=2).max(axis=1))
    least = np.finfo(np.float64).eps * max(every.shape[1:]) * longest
    explained = np.zeros((len(outcome), 2 ** len(blocks)))

    def extend(basis: Floats, subset: int, first: int) -> None:
        """Add each block from the first on to a subset, and further blocks to that."""
        for block in range(first, len(blocks)):
            added = _orthogonal_basis(basis, blocks[block], least)
            larger = subset | 1 << block
            along = np.einsum("bin,bn->bi", added, outcome)
            explained[:, larger] = explained[:, subset] + np.square(along).sum(axis=1)
            extend(np.concatenate([basis, added], axis=1), larger, block + 1)

    extend(every[:, :0], 0, 0)
    return explained


def _orthogonal_basis(basis: Floats, columns: Floats, least: Floats) -> Floats:
    """Return an orthonormal basis of what the columns span beyond a basis; zeros where nothing."""
    n_before = basis.shape[1]
    whole = np.concatenate([basis, np.zeros_like(columns)], axis=1)
    for place, column in enumerate(np.moveaxis(columns, 1, 0), start=n_before):
        rest, before = column, whole[:, :place]
        for _ in range(2):  # once leaves rounding errors of those before it
            along = np.einsum("bin,bn->bi", before, rest)
            rest = rest - np.einsum("bin,bi->bn", before, along)
        length = np.sqrt(np.square(rest).sum(axis=1))
        spans = length > least
        scale = np.divide(1, length, out=np.zeros_like(length), where=spans)
        whole[:, place] = rest * scale[:, None]
    return whole[:, n_before:]
