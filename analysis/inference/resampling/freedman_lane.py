"""Freedman and Lane's permutation test of one set of terms beside others.

Freedman and Lane (1983), Journal of Business and Economic Statistics 1, 292: the residuals of the
smaller of two nested models are exchanged, added to its fitted values, and F is computed again.
Winkler et al. (2014), NeuroImage 92, 381, say what may be exchanged with what: rows within the
levels of a factor that others are nested in. The test is exact where the smaller model is a mean
per level of `within`, and asymptotic otherwise.

>>> import numpy as np
>>> from statsmodels.datasets import grunfeld
>>> from analysis.inference import freedman_lane
>>> rows = grunfeld.load_pandas().data
>>> formulas = ("invest ~ capital", "invest ~ capital + value")
>>> rng = np.random.default_rng(1)
>>> table = freedman_lane.freedman_lane(rows, *formulas, rng=rng, n_permutations=99)
>>> table["p_value"].item()
0.01
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

import numpy as np
import pandas as pd
from scipy import stats

from analysis.inference.resampling.permutation import (
    MOST_ENUMERATED,
    every_assignment,
    n_assignments,
)
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.formula import model_matrices
from analysis.tidy.frame import (
    Floats,
    Integers,
    generator,
    group_codes,
    require_count,
    require_rows,
    rows_by_group,
    seed_of,
)
from analysis.tidy.progress import progress

#: Part of a column outside the span of others below which it lies in the span.
IN_SPAN = 1e-8

#: Share of a sum of squares below which it is rounding: orders closer than this are tied.
ROUNDING = 1e-12

#: Orders evaluated at a time: bounds the memory of the exchanged residuals.
BATCH = 2048


def freedman_lane(
    frame: pd.DataFrame,
    reduced: str,
    full: str,
    *,
    within: str | None = None,
    rng: np.random.Generator | None = None,
    n_permutations: int = 9999,
) -> pd.DataFrame:
    """Return the test of the terms that one formula has beyond another.

    Orders that differ only among rows which the larger model does not tell apart have
    one F, and count as one. Up to 20,000 such orders are enumerated, the observed one among them,
    and p is the share with an F at least as large. Beyond that `n_permutations` are drawn and
    p = (b + 1) / (B + 1). Where the larger model fits every row F is infinite, and p the share of
    orders that it fits as well.

    Parameters
    ----------
    frame
        One row per observation.
    reduced
        Formula of the smaller model, such as ``log_gain ~ n_layers``.
    full
        Formula of the larger one, such as ``log_gain ~ n_layers + suite``.
    within
        Rows are exchanged only within a level of this column: the factor that the tested one is
        nested in. None exchanges all.
    rng
        Source of the draws; needed only when orders are sampled.
    n_permutations
        Orders to draw when they are sampled.

    Returns
    -------
    One row: `term` (what the full formula adds), `estimate` (change of R squared), `statistic`
    (F), `df_numerator`, `df_residual`, `p_value` (permutation), `smallest_p` (that the design
    allows), `p_value_f` (F distribution, rows independent and normal), `n_permutations`, `n_obs`,
    `n_groups` (what is exchanged), `method`, `note`.

    Raises
    ------
    ColumnError
        If a formula or a column cannot be read.
    DesignError
        If the formulas have different responses or are not nested, the full one adds nothing or
        has as many columns as there are rows, the smaller one fits every row, or nothing can be
        exchanged.
    """
    require_rows(frame, 3, "A comparison of two models")
    response, bases, alike = _nested_bases(frame, reduced, full)
    groups = _exchangeable(frame, within)
    small, large = bases
    added = large.shape[1] - small.shape[1]
    left = len(response) - large.shape[1]
    residuals = response - small @ (small.T @ response)
    if residuals @ residuals <= ROUNDING**2 * (response @ response):
        raise DesignError(
            f"The smaller model must leave something to explain; {reduced!r} fits every row.",
            "Take terms out of it.",
        )
    rng = generator(rng, "orders are sampled")
    orders, n_orders = _orders(groups, alike, rng, n_permutations)
    shown = progress(orders, "permutation", n_orders or n_permutations + 1)
    values = _shares_of_the_rest(residuals, small, large, shown)
    total = float(((response - response.mean()) ** 2).sum())
    gained = float(((large.T @ residuals) ** 2).sum())
    statistic = values[0] / (1 - values[0]) * left / added if values[0] < 1 else float("inf")
    sampled = n_orders is None
    return glossary.table(
        {
            "term": [_added_terms(reduced, full)],
            "estimate": [min(1.0, gained / total)],
            "statistic": [float(statistic)],
            "df_numerator": [float(added)],
            "df_residual": [float(left)],
            "p_value": [float((values >= values[0] - ROUNDING).mean())],
            "smallest_p": [float((values >= values.max() - ROUNDING).mean())]
            if not sampled
            else [1 / len(values)],
            "p_value_f": [float(stats.f.sf(statistic, added, left))],
            "n_permutations": [n_permutations if sampled else len(values)],
            "seed": [seed_of(rng) if sampled else ""],
            "n_obs": [len(response)],
            "n_groups": [sum(len(group) for group in groups)],
            "method": [
                "F; permutation of the residuals of the smaller model (Freedman and Lane), "
                f"{'sampled' if sampled else 'enumerated'}"
            ],
            "note": [_note(groups)],
        }
    )


def _nested_bases(
    frame: pd.DataFrame, reduced: str, full: str
) -> tuple[Floats, tuple[Floats, Floats], Integers]:
    """Return the response, orthonormal bases of both designs, shapes (n, r) and (n, s), and codes.

    Rows of one code are alike in the larger design, hence in both.
    """
    smaller, larger = model_matrices(frame, reduced), model_matrices(frame, full)
    if not np.array_equal(smaller.response, larger.response):
        raise DesignError(
            f"Both formulas must have one response; found {reduced.partition('~')[0].strip()!r} "
            f"and {full.partition('~')[0].strip()!r}.",
            "Change the terms on the right only.",
        )
    small, large = _basis(smaller.design), _basis(larger.design)
    outside = small - large @ (large.T @ small)
    if np.abs(outside).max(initial=0.0) > IN_SPAN:
        raise DesignError(
            f"The smaller model must lie in the larger; {reduced!r} has terms that {full!r} lacks.",
            "Add them to the larger formula.",
        )
    if large.shape[1] == small.shape[1]:
        raise DesignError(
            f"The larger model must add something; {_added_terms(reduced, full)} lies in the "
            "span of the other terms.",
            "A factor that another is nested in adds nothing beside it.",
        )
    if large.shape[1] >= len(small):
        raise DesignError(
            f"The larger model must leave a residual; it has {large.shape[1]} columns for "
            f"{len(small)} rows.",
            "Take fewer terms.",
        )
    alike = np.unique(larger.design, axis=0, return_inverse=True)[1]
    return larger.response, (small, large), np.asarray(alike, dtype=np.intp).ravel()


def _basis(design: Floats) -> Floats:
    """Return an orthonormal basis of the columns' span, shape (n, rank)."""
    norms = np.linalg.norm(design, axis=0)
    scaled = design[:, norms > 0] / norms[norms > 0]
    left, values, _ = np.linalg.svd(scaled, full_matrices=False)
    return np.asarray(left[:, values > IN_SPAN * values.max(initial=0.0)], dtype=np.float64)


def _exchangeable(frame: pd.DataFrame, within: str | None) -> list[Integers]:
    """Return sets of rows that may change places."""
    everything = np.arange(len(frame), dtype=np.intp)
    groups = [everything] if within is None else rows_by_group(group_codes(frame, within))
    if all(len(group) < 2 for group in groups):
        raise DesignError(
            f"Something must be exchangeable; every level of {within!r} has one row.",
            "Exchange within larger levels.",
        )
    return groups


def _orders(
    groups: list[Integers], alike: Integers, rng: np.random.Generator, n_permutations: int
) -> tuple[Iterator[Integers], int | None]:
    """Return the orders of the rows, the observed first, and their number when enumerated."""
    kinds = [np.unique(alike[group], return_inverse=True)[1].ravel() for group in groups]
    possible = prod(n_assignments(kind) for kind in kinds)
    if possible <= MOST_ENUMERATED:
        return _every_order(groups, kinds, len(alike)), possible
    require_count("n_permutations", n_permutations)
    return _sampled_orders(groups, len(alike), rng, n_permutations), None


def _every_order(groups: list[Integers], kinds: list[Integers], n_obs: int) -> Iterator[Integers]:
    """Yield every order that differs in which kinds of rows get which residuals."""
    places = [np.argsort(kind, kind="stable") for kind in kinds]
    for assignment in product(*(every_assignment(kind) for kind in kinds)):
        order = np.empty(n_obs, dtype=np.intp)
        for group, place, assigned in zip(groups, places, assignment, strict=True):
            order[group[place]] = group[np.argsort(assigned, kind="stable")]
        yield order


def _sampled_orders(
    groups: list[Integers], n_obs: int, rng: np.random.Generator, n: int
) -> Iterator[Integers]:
    order = np.arange(n_obs, dtype=np.intp)
    yield order.copy()
    for _ in range(n):
        for group in groups:
            order[group] = group[rng.permutation(len(group))]
        yield order.copy()


def _shares_of_the_rest(
    residuals: Floats, small: Floats, large: Floats, orders: Iterator[Integers]
) -> Floats:
    """Return what the larger model explains of what the smaller leaves, by order, shape (B,).

    F rises with it, and it is finite where F is not. The fitted values of the smaller model lie in
    both spans, so the residuals suffice.
    """
    values: list[Floats] = []
    batch: list[Integers] = []
    for order in orders:
        batch.append(order)
        if len(batch) == BATCH:
            values.append(_shares(residuals[np.array(batch)], small, large))
            batch = []
    if batch:
        values.append(_shares(residuals[np.array(batch)], small, large))
    return np.concatenate(values)


def _shares(exchanged: Floats, small: Floats, large: Floats) -> Floats:
    whole = (exchanged**2).sum(axis=1)
    by_small = ((exchanged @ small) ** 2).sum(axis=1)
    by_large = ((exchanged @ large) ** 2).sum(axis=1)
    rest = whole - by_small
    shares = np.zeros_like(whole)
    np.divide(by_large - by_small, rest, out=shares, where=rest > ROUNDING * whole)
    return np.where(shares > 1 - ROUNDING, 1.0, shares)


def _added_terms(reduced: str, full: str) -> str:
    known = {term.strip() for term in reduced.partition("~")[2].split("+")}
    terms = [term.strip() for term in full.partition("~")[2].split("+")]
    return " + ".join(term for term in terms if term not in known)


def _note(groups: list[Integers]) -> str:
    alone = sum(len(group) for group in groups if len(group) < 2)
    return f"{alone} of the rows have no other to change places with." if alone else ""
