"""Refuse fixed designs and responses that have no unique estimate, and say why.

Columns that are linear combinations of those before them can be left out, as lme4 does.

Albert and Anderson (1984), Biometrika 71, 1: a logistic likelihood has a maximum unless some
combination of the predictors is never negative where the outcome is 1 and never positive where
it is 0. Konis (2007), Computational algorithms for detecting separated observations, chapter 4,
finds one by a linear programme.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from analysis.mixed.algebra.crossproducts import CrossProducts
from analysis.mixed.algebra.design import Block, Column, Design, LeftOut
from analysis.mixed.reading.statistics import Statistics
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, Integers

#: Share of a column's square outside the span of those before it below which it is aliased.
ALIASED = 1e-11

#: How columns that are left out are described: X'X shows no smaller distance from a span.
SPANNED = (
    f"linear combinations of the terms before them to within {np.sqrt(ALIASED):.0e} of their size"
)

#: Share of the size of a combination below which it is zero.
NEARLY_ZERO = 1e-8

#: Residual over total sum of squares below which the fixed effects explain everything.
PERFECT = 1e-14

#: The same of all effects, whose elimination loses more digits.
EXACT = 1e-12

#: A weight of a separating combination below this is zero.
NEGLIGIBLE = 1e-7


def require_estimable(cross: CrossProducts, design: Design, response: str) -> None:
    """Raise DesignError unless the fixed effects and the variance can be estimated."""
    p = cross.n_fixed
    squares = cross.fixed_products
    require_independent(squares[:p, :p], design, cross.n_obs)
    total = float(squares[p, p])
    left = total - float(squares[p, :p] @ np.linalg.solve(squares[:p, :p], squares[:p, p]))
    if left <= PERFECT * total or total == 0:
        raise DesignError(
            f"The response {response!r} must vary beyond the fixed effects; they fit it exactly.",
            "There is nothing left to model.",
        )


def require_residual(statistics: Statistics, cross: CrossProducts) -> None:
    """Raise DesignError when the fixed and random effects together fit every row.

    Asked when a search has failed or does not converge: it costs a factorisation of all columns.
    """
    response = statistics.response
    for block in cross.blocks:
        if _is_constant_within(statistics, block):
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
    weights = np.linalg.lstsq(squares[:-1, :-1], across, rcond=ALIASED)[0]
    if float(squares[-1, -1] - across @ weights) <= EXACT * float(cross.rest[-1, -1]):
        raise DesignError(
            f"The response {response!r} must vary beyond the fixed and random effects; together "
            "they fit it exactly.",
            "There is no residual: use fewer random effects.",
        )


def _is_constant_within(statistics: Statistics, block: Block) -> bool:
    """Tell whether a response takes one value in every level of a group."""
    place, n_levels = len(statistics.basis), len(block.levels)

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
        if square == 0 or repeats_intercept(column, design)
    ]
    if constant:
        raise DesignError(
            f"Every predictor must vary; {constant} do not.", "A constant explains nothing."
        )
    aliased = [names[place] for place in aliased_columns(squares)]
    if aliased:
        raise DesignError(
            f"Every term must add something; {aliased} are {SPANNED}.",
            "Drop them, or the terms they repeat: a constant repeats the intercept. "
            "aliased='drop' leaves them out. Of two columns that hardly differ, enter the "
            "difference beside one: x + I(x2 - x).",
        )


def repeats_intercept(column: Column, design: Design) -> bool:
    """Tell whether a column beside the intercept takes one value in all cells."""
    has_intercept = design.fixed[0].name == "Intercept"
    is_constant = column.basis == 0 and bool(np.ptp(column.coefficient) == 0)
    return has_intercept and is_constant and column is not design.fixed[0]


def aliased_columns(squares: Floats) -> list[int]:
    """Return columns that are linear combinations of those before them, from X'X."""
    scale = np.sqrt(np.diag(squares))
    correlations = squares / np.outer(scale, scale)
    independent: list[int] = []
    aliased: list[int] = []
    for place in range(len(squares)):
        among = correlations[np.ix_(independent, independent)]
        across = correlations[independent, place]
        outside = 1 - float(across @ np.linalg.solve(among, across)) if independent else 1.0
        (independent if outside > ALIASED else aliased).append(place)
    return aliased


def drop_aliased(squares: Floats, design: Design, centring: Floats | None = None) -> Design:
    """Return a design without the fixed columns that add nothing to those before them.

    `squares` is X'X, of columns that `centring` turns into the formula's. What is left out is kept
    beside the design by name, with the combinations of all columns that are zero in every row: a
    point is estimable where it is orthogonal to them (Searle 1971, Linear Models, section 5.4).
    """
    zero = [
        place
        for place, column in enumerate(design.fixed)
        if squares[place, place] == 0 or repeats_intercept(column, design)
    ]
    varying = np.setdiff1d(np.arange(len(squares)), zero)
    aliased = varying[aliased_columns(squares[np.ix_(varying, varying)])]
    places = np.union1d(zero, aliased).astype(np.intp)
    if not len(places):
        return design
    names = tuple(design.fixed[place].name for place in places)
    null = _null(squares, places)
    turn = np.eye(len(squares)) if centring is None else centring
    whole = turn @ null
    whole[np.abs(whole) <= NEARLY_ZERO * (np.abs(turn) @ np.abs(null))] = 0.0
    return only(design, LeftOut(names, whole))


def _null(squares: Floats, places: Integers) -> Floats:
    """Return the combinations that are zero, one per column left out, from X'X."""
    lengths = np.sqrt(np.diag(squares))
    independent = np.setdiff1d(np.arange(len(squares)), places)
    among = squares[np.ix_(independent, independent)] / np.outer(
        lengths[independent], lengths[independent]
    )
    across = squares[np.ix_(independent, places)] / lengths[independent, None]
    weights = np.linalg.solve(among, across)
    weights[np.abs(weights) <= NEARLY_ZERO * lengths[places]] = 0.0
    null = np.zeros((len(squares), len(places)))
    null[places, np.arange(len(places))] = 1.0
    null[independent] = -weights / lengths[independent, None]
    null[:, lengths[places] == 0] = np.eye(len(squares))[:, places[lengths[places] == 0]]
    return null


def only(design: Design, left_out: LeftOut) -> Design:
    """Return a design without the fixed columns that are left out, by name."""
    independent = [
        place for place, each in enumerate(design.fixed) if each.name not in left_out.names
    ]
    position = {place: new for new, place in enumerate(independent)}
    terms = {
        term: tuple(position[place] for place in places if place in position)
        for term, places in design.term_columns.items()
    }
    fixed: tuple[Column, ...] = tuple(design.fixed[place] for place in independent)
    term_columns = {term: places for term, places in terms.items() if places}
    return replace(design, fixed=fixed, term_columns=term_columns, left_out=left_out)


def estimable(design: Floats, left_out: LeftOut) -> NDArray[np.bool_]:
    """Return which points of a whole design can be estimated, shape (points,)."""
    across = np.abs(design @ left_out.null)
    size = np.abs(design) @ np.abs(left_out.null)
    return np.asarray((across <= NEARLY_ZERO * size).all(axis=1), dtype=np.bool_)


def separating_columns(design: Floats, trials: Floats, successes: Floats) -> list[int]:
    """Return the columns of a combination that separates the outcomes, none if there is none.

    The design has shape (cells, p), trials and successes (cells,).
    """
    from scipy.optimize import linprog

    sizes = np.abs(design).max(axis=0)
    varying = np.flatnonzero(sizes)  # a column of zeros tells nothing apart
    scaled = design[:, varying] / sizes[varying]
    points, cell = np.unique(scaled, axis=0, return_inverse=True)
    won = np.bincount(cell.reshape(-1), successes)
    lost = np.bincount(cell.reshape(-1), trials - successes)
    both = (won > 0) & (lost > 0)
    towards = np.where(won > 0, 1.0, -1.0)[~both, None] * points[~both]
    if not len(towards):
        return []
    optimum = linprog(
        -towards.sum(axis=0),
        A_ub=-towards,
        b_ub=np.zeros(len(towards)),
        A_eq=points[both] if both.any() else None,
        b_eq=np.zeros(int(both.sum())) if both.any() else None,
        bounds=(-1, 1),
    )
    weights = np.asarray(optimum.x, dtype=np.float64)
    if towards.sum(axis=0) @ weights < NEGLIGIBLE:
        return []
    return [int(place) for place in varying[np.abs(weights) > NEGLIGIBLE]]


def levels_with_both(codes: Integers, n_levels: int, trials: Floats, successes: Floats) -> int:
    """Return how many levels of a group hold both outcomes."""
    won = np.bincount(codes, successes, n_levels)
    lost = np.bincount(codes, trials - successes, n_levels)
    return int(((won > 0) & (lost > 0)).sum())
