"""Refuse fixed designs and responses that have no unique estimate, and say why."""

from __future__ import annotations

import numpy as np

from analysis.mixed.algebra.crossproducts import CrossProducts
from analysis.mixed.algebra.design import Block, Column, Design
from analysis.mixed.reading.statistics import Statistics
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats

#: Share of a column's square outside the span of those before it below which it is aliased.
ALIASED = 1e-11

#: Residual over total sum of squares below which the fixed effects explain everything.
PERFECT = 1e-14

#: The same of all effects, whose elimination loses more digits.
EXACT = 1e-12


def require_estimable(cross: CrossProducts, design: Design, response: str) -> None:
    """Raise DesignError unless the fixed effects and the variance can be estimated."""
    q, p = cross.n_random, cross.n_fixed
    squares = cross.rest[q:, q:]
    require_independent(squares[:p, :p], design, cross.n_obs)
    total = float(squares[p, p])
    left = total - float(squares[p, :p] @ np.linalg.solve(squares[:p, :p], squares[:p, p]))
    if left <= PERFECT * total or total == 0:
        raise DesignError(
            f"The response {response!r} must vary beyond the fixed effects; they fit it exactly.",
            "There is nothing left to model.",
        )


def require_residual(statistics: Statistics, cross: CrossProducts, place: int) -> None:
    """Raise DesignError when the fixed and random effects together fit every row.

    Asked when a search has failed or does not converge: it costs a factorisation of all columns.

    Parameters
    ----------
    statistics
        The cells.
    cross
        The cross-products.
    place
        Which of the responses.
    """
    response = statistics.responses[place]
    for block in cross.blocks:
        if _is_constant_within(statistics, block, place):
            raise DesignError(
                f"The response {response!r} must vary within the levels of {block.group!r}; it is "
                "constant in each of them.",
                f"Keep one row per level of {block.group} and drop its random term: the levels are "
                "the observations.",
            )
    inverse = np.linalg.pinv(cross.diagonal, rcond=PERFECT, hermitian=True)
    squares = cross.rest - np.einsum(
        "lir,lij,ljs->rs", cross.cross, inverse, cross.cross, optimize=True
    )
    across = squares[:-1, -1]
    found = np.linalg.lstsq(squares[:-1, :-1], across, rcond=ALIASED)[0]
    if float(squares[-1, -1] - across @ found) <= EXACT * float(cross.rest[-1, -1]):
        raise DesignError(
            f"The response {response!r} must vary beyond the fixed and random effects; together "
            "they fit it exactly.",
            "There is no residual: use fewer random effects.",
        )


def _is_constant_within(statistics: Statistics, block: Block, response: int) -> bool:
    """Tell whether a response takes one value in every level of a group."""
    place, n_levels = len(statistics.basis) + response, len(block.levels)

    def summed(values: Floats) -> Floats:
        return np.bincount(block.codes, values, n_levels).astype(np.float64)

    square = summed(statistics.product(place, place))
    mean = summed(statistics.product(0, place)) ** 2 / summed(statistics.product(0, 0))
    return bool(float((square - mean).sum()) <= EXACT * float(square.sum()))


def require_independent(squares: Floats, design: Design, n_obs: int) -> None:
    """Raise DesignError unless every fixed column adds something, given X'X."""
    names, p = [column.name for column in design.fixed], len(design.fixed)
    if n_obs <= p:
        raise DesignError(
            f"{p} fixed effects need at least {p + 1} rows; found {n_obs}.", "Use fewer terms."
        )
    constant = [
        column.name
        for column, square in zip(design.fixed, np.diag(squares), strict=True)
        if square == 0 or _repeats_intercept(column, design)
    ]
    if constant:
        raise DesignError(
            f"Every predictor must vary; {constant} do not.", "A constant explains nothing."
        )
    aliased = [names[place] for place in aliased_columns(squares)]
    if aliased:
        raise DesignError(
            f"Every term must add something; {aliased} are linear combinations of the terms "
            "before them.",
            "Drop them, or the terms they repeat: a constant repeats the intercept.",
        )


def _repeats_intercept(column: Column, design: Design) -> bool:
    has_intercept = design.fixed[0].name == "Intercept"
    is_constant = column.basis == 0 and bool(np.ptp(column.coefficient) == 0)
    return has_intercept and is_constant and column is not design.fixed[0]


def aliased_columns(squares: Floats) -> list[int]:
    """Return columns that are linear combinations of those before them, from X'X."""
    scale = np.sqrt(np.diag(squares))
    correlations = squares / np.outer(scale, scale)
    kept: list[int] = []
    aliased: list[int] = []
    for place in range(len(squares)):
        among = correlations[np.ix_(kept, kept)]
        across = correlations[kept, place]
        outside = 1 - float(across @ np.linalg.solve(among, across)) if kept else 1.0
        (kept if outside > ALIASED else aliased).append(place)
    return aliased
