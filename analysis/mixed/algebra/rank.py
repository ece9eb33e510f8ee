"""Refuse fixed designs and responses that have no unique estimate, and say why."""

from __future__ import annotations

import numpy as np

from analysis.mixed.algebra.crossproducts import CrossProducts
from analysis.mixed.algebra.design import Column, Design
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats

#: Share of a column's square outside the span of those before it below which it is aliased.
ALIASED = 1e-11

#: Residual over total sum of squares below which the fixed effects explain everything.
PERFECT = 1e-14


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
