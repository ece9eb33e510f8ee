"""The fixed and the random part of the fitted values, as a map of the basis in every cell."""

from __future__ import annotations

import numpy as np

from analysis.mixed.algebra.design import Column
from analysis.mixed.inference.fitted import Fitted
from analysis.mixed.reading.statistics import Statistics
from analysis.tidy.frame import Floats


def fixed_part(columns: tuple[Column, ...], coefficients: Floats, statistics: Statistics) -> Floats:
    """Return the fixed part: a row times this, by basis and cell, shape (basis, cells)."""
    result = np.zeros((len(statistics.basis), len(statistics.counts)))
    for column, coefficient in zip(columns, coefficients, strict=True):
        result[column.basis] += coefficient * column.coefficient
    return result


def random_part(model: Fitted) -> Floats:
    """Return the conditional modes' part, shape (basis, cells)."""
    result = np.zeros((len(model.statistics.basis), len(model.statistics.counts)))
    for modes in model.inference.modes:
        for place, column in enumerate(modes.block.columns):
            effects = modes.effects[modes.block.codes, place]
            result[column.basis] += effects * column.coefficient
    return result


def variance(part: Floats, statistics: Statistics) -> float:
    """Return the sample variance over rows (weighted, where rows have weights) of a part."""
    about_shift = part.copy()
    about_shift[0] += statistics.shift[: len(part)] @ part
    size = float(statistics.product(0, 0).sum())
    mean = sum(float(about_shift[i] @ statistics.product(0, i)) for i in range(len(part))) / size
    about_shift[0] -= mean
    squares = sum(
        float((about_shift[i] * about_shift[j]) @ statistics.product(i, j))
        for i in range(len(part))
        for j in range(len(part))
    )
    return squares / size * statistics.n_obs / (statistics.n_obs - 1)
