"""Sums of a new response drawn cell by cell, for simulations that need the cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from analysis.mixed.algebra.simulate import NULL
from analysis.mixed.reading.statistics import Statistics
from analysis.tidy.frame import Floats


def draw_statistics(
    statistics: Statistics, part: Floats, sigma: float, rng: np.random.Generator
) -> Statistics:
    """Return the statistics with a new first response, drawn cell by cell.

    In a cell with Gram matrix S of the basis, b'e is normal with covariance sigma^2 S, and e'e
    given it is sigma^2 chi-squared on the rows less the rank of S. Unlike `Simulator` this
    keeps the cells, for tests that need them.

    Parameters
    ----------
    statistics
        The cells.
    part
        What a row's basis numbers are multiplied by to give its mean, shape (basis, cells).
    sigma
        Residual standard deviation.
    rng
        Source of the draws.
    """
    m = len(statistics.basis)
    gram = np.empty((len(statistics.counts), m, m))
    for i in range(m):
        for j in range(m):
            gram[:, i, j] = statistics.product(i, j)
    values, vectors = np.linalg.eigh(gram)
    kept = values > NULL * values.max(axis=1, keepdims=True)
    roots = np.sqrt(np.where(kept, values, 0.0))
    normal = np.where(kept, rng.standard_normal(values.shape), 0.0)
    noise = sigma * np.einsum("cij,cj->ci", vectors, roots * normal)
    free = statistics.counts - kept.sum(axis=1)
    square = (normal**2).sum(axis=1) + np.where(free > 0, rng.chisquare(np.maximum(free, 1)), 0)
    about = part.copy()
    about[0] += statistics.shift[:m] @ part
    mean = np.einsum("cij,jc->ci", gram, about)
    sums = statistics.sums.copy()
    for i in range(m):
        sums[statistics.pairs[i, m]] = mean[:, i] + noise[:, i]
    sums[statistics.pairs[m, m]] = (
        np.einsum("ic,ci->c", about, mean + 2 * noise) + sigma**2 * square
    )
    shift = statistics.shift.copy()
    shift[m] = 0.0
    return replace(statistics, sums=sums, shift=shift)
