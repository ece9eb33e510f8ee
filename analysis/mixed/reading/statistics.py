"""Sufficient statistics of a mixed model: cross-products per cell.

A cell is a combination of factor levels that occurs. Within a cell the design of a Gaussian
mixed model is a linear map of a few numbers per row, so that sums of their products over the
rows of every cell determine the likelihood (Bates et al. 2015, equations 16 to 23, read the
rows only through X'X, Z'X, Z'Z, X'y, Z'y and y'y).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from analysis.tidy.frame import Floats, Integers


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor over n cells.

    Attributes
    ----------
    levels
        Labels of the levels, in order.
    codes
        Level of every cell, shape (n,).
    """

    levels: tuple[str, ...]
    codes: Integers


def level_label(value: object) -> str:
    """Return a level as DuckDB writes it, so that it can be joined on."""
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, float):
        return str(value + 0.0)  # the two zeros are one level
    if isinstance(value, datetime) and value.microsecond and value.tzinfo is None:
        return str(value).rstrip("0")
    return str(value)


def level_places(values: Iterable[object], levels: Sequence[str]) -> Integers:
    """Return the place of every value among levels, -1 for none; 1.0 is the level 1.

    A missing value elsewhere in a column makes its whole numbers floats.
    """
    position = {level: place for place, level in enumerate(levels)}
    return np.array(
        [
            position.get(level_label(each), position.get(_as_other_number(each), -1))
            for each in values
        ],
        dtype=np.intp,
    )


def _as_other_number(value: object) -> str:
    """Return a whole number as its other type is written, floats as integers."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(float(value)) if isinstance(value, int | np.integer) else ""


def interaction(factors: list[Factor]) -> Factor:
    """Return the combinations of several factors that occur, as one factor."""
    if len(factors) == 1:
        return factors[0]
    codes = np.zeros(len(factors[0].codes), dtype=np.intp)
    for factor in factors:
        codes = codes * len(factor.levels) + factor.codes
    _, first, combined = np.unique(codes, return_index=True, return_inverse=True)
    levels = [":".join(f.levels[f.codes[cell]] for f in factors) for cell in first]
    return Factor(tuple(levels), np.asarray(combined.reshape(-1)[: len(codes)], dtype=np.intp))


@dataclass(frozen=True, slots=True)
class Statistics:
    """Sums over the rows of every cell; arrays run over n cells.

    Variables are the basis first, then the response. Variable i enters less ``shift[i]``.

    Attributes
    ----------
    factors
        Factors by column.
    constants
        Predictors that are constant within every cell, shape (n,) each.
    basis
        Products of predictors that vary within cells; the first is ``()``, the number one.
    response
        Text of the response.
    offset
        Text of what was taken from the response, empty for nothing.
    shift
        What was subtracted from every variable before squaring, shape (variables,).
    pairs
        Row of `sums` for every pair of variables, the smaller first.
    sums
        Sums of weighted products, shape (pairs, n).
    counts
        Rows, shape (n,).
    log_weights
        Sum of the logarithms of the weights, shape (n,).
    weighted
        Whether rows have weights.
    bases
        Calls of ``scale``, ``poly``, ``bs`` and ``ns`` among the predictors, written out with
        their constants.
    """

    factors: dict[str, Factor]
    constants: dict[str, Floats]
    basis: tuple[tuple[str, ...], ...]
    response: str
    offset: str
    shift: Floats
    pairs: dict[tuple[int, int], int]
    sums: Floats
    counts: Floats
    log_weights: Floats
    weighted: bool
    bases: Mapping[str, str] = field(default_factory=dict)

    @property
    def n_obs(self) -> int:
        """Rows that entered."""
        return round(float(self.counts.sum()))

    def product(self, first: int, second: int) -> Floats:
        """Return the sum over every cell of the product of two variables, shape (n,)."""
        values: Floats = self.sums[self.pairs[min(first, second), max(first, second)]]
        return values
