"""Whether one mixed model lies within another on the same rows.

Every fixed column of the smaller must be a combination of the larger's, and every random term of
the smaller must lie in one of the larger's with the same groups. Terms are compared as they are
written; where that does not settle the fixed parts, their columns are compared over the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from analysis.mixed.algebra.crossproducts import assemble
from analysis.mixed.algebra.design import Block, Column, Design, design_columns, is_factor
from analysis.mixed.algebra.rank import aliased_columns
from analysis.mixed.inference.fitted import Fitted
from analysis.mixed.reading.collect import collect
from analysis.mixed.reading.formula import RandomTerm, parse, terms
from analysis.mixed.reading.plan import plan
from analysis.mixed.reading.statistics import Factor, Statistics
from analysis.tidy.frame import Floats

#: Sums over the same rows differ by less, relatively; sums of two orders of rows may.
ROUNDING = 1e-9


def same_rows(one: Fitted, other: Fitted) -> bool:
    """Tell whether two fits read the same rows: sums of the response and of shared factors agree.

    Rows are known by their sums alone: what differs between rows with the same number of rows, the
    same response in every level of every shared factor and the same weights is not seen.
    """
    ours, theirs = _totals(one), _totals(other)
    if ours.shape != theirs.shape or not np.allclose(ours, theirs, rtol=ROUNDING, atol=0):
        return False
    shared = set(one.statistics.factors) & set(other.statistics.factors)
    return all(
        _same_groups(one, one.statistics.factors[name], other, other.statistics.factors[name])
        for name in shared
    )


def lacking(smaller: Fitted, larger: Fitted) -> list[str]:
    """Return the terms of the smaller model that do not lie in the larger, none if it is nested."""
    fixed = _missing_terms(smaller.formula.fixed, larger.formula.fixed, smaller.statistics)
    if fixed and smaller.source is not None:
        fixed = _missing_columns(smaller, larger)
    random = [
        f"({term.left} | {term.group_name})"
        for term in smaller.formula.random
        if not any(_lies_in(smaller, term, larger, each) for each in larger.formula.random)
    ]
    return [*fixed, *random]


def _totals(model: Fitted) -> Floats:
    """Return the size, the mean and deviation of the response, and the weights."""
    statistics = model.statistics
    place = len(statistics.basis)
    size = float(statistics.product(0, 0).sum())
    about = float(statistics.product(0, place).sum())
    square = float(statistics.product(place, place).sum()) - about**2 / size
    deviation = np.sqrt(square / size)
    mean = about / size + float(statistics.shift[place])
    # The mean is compared on the scale of the deviation, so that a large one hides nothing.
    weights = float(statistics.log_weights.sum())
    return np.array([statistics.n_obs, size, 1 + abs(mean) / deviation, deviation, 1 + weights**2])


def _level_sums(model: Fitted, factor: Factor) -> Floats:
    """Return rows and mean response of every level in the order of both, shape (2, levels)."""
    statistics, n_levels = model.statistics, len(factor.levels)
    place = len(statistics.basis)
    counts = np.bincount(factor.codes, statistics.counts, n_levels)
    sizes = np.bincount(factor.codes, statistics.product(0, 0), n_levels)
    sums = np.bincount(factor.codes, statistics.product(0, place), n_levels)
    means = sums / sizes + statistics.shift[place]
    order = np.lexsort((np.round(means, 9), counts))
    return np.array([counts[order], means[order]])


def _same_groups(one: Fitted, ours: Factor, other: Fitted, theirs: Factor) -> bool:
    """Tell whether two factors divide the rows alike, as far as counts and means show."""
    if len(ours.levels) != len(theirs.levels):
        return False
    spread = float(np.sqrt(one.solution.variance))
    first, second = _level_sums(one, ours), _level_sums(other, theirs)
    return bool(
        np.array_equal(first[0], second[0])
        and np.allclose(first[1], second[1], rtol=ROUNDING, atol=1e-7 * spread)
    )


def _missing_terms(smaller: str, larger: str, statistics: Statistics) -> list[str]:
    """Return terms of one right side that no term of another contains."""
    known = [_parts(term, statistics) for term in terms(larger)]
    return [
        term.name()
        for term in terms(smaller)
        if not any(
            numbers == of and labels <= within
            for numbers, labels in [_parts(term, statistics)]
            for of, within in known
        )
    ]


def _parts(term: object, statistics: Statistics) -> tuple[frozenset[str], frozenset[str]]:
    """Return the numbers and the factors that a term multiplies."""
    codes = [factor.code for factor in getattr(term, "factors", ())]
    labels = frozenset(code for code in codes if is_factor(code, statistics))
    return frozenset(codes) - labels, labels


def _missing_columns(smaller: Fitted, larger: Fitted) -> list[str]:
    """Return fixed terms of the smaller model outside the span of the larger's, over the rows."""
    assert smaller.source is not None
    text = f"{smaller.formula.response.text} ~ {larger.formula.fixed} + {smaller.formula.fixed}"
    both = parse(f"{text} + (1 | {smaller.formula.random[0].group[0]})")
    statistics = collect(plan(both, smaller.source), smaller.source)
    wide, _ = design_columns(larger.formula.fixed, statistics, _known(larger, statistics))
    narrow, places = design_columns(smaller.formula.fixed, statistics, _known(smaller, statistics))
    cells = len(statistics.counts)
    whole = Column("Intercept", np.ones(cells), 0)
    block = Block("", ("",), np.zeros(cells, dtype=np.intp), (whole,), ((0, 0),))
    squares = assemble(statistics, Design((*wide, *narrow), (block,), (), {})).rest[:-1, :-1]
    aliased = set(aliased_columns(squares))
    return [
        term
        for term, of_term in places.items()
        if not all(len(wide) + place in aliased for place in of_term)
    ]


def _known(model: Fitted, statistics: Statistics) -> dict[str, Any]:
    return {name: each for name, each in model.contrasts.items() if name in statistics.factors}


def _lies_in(smaller: Fitted, term: RandomTerm, larger: Fitted, other: RandomTerm) -> bool:
    """Tell whether a random term lies in another: same groups, and effects that contain its own."""
    ours, theirs = _block(smaller, term), _block(larger, other)
    alike = _same_groups(
        smaller, Factor(ours.levels, ours.codes), larger, Factor(theirs.levels, theirs.codes)
    )
    return alike and not _missing_terms(term.left, other.left, smaller.statistics)


def _block(model: Fitted, term: RandomTerm) -> Block:
    return next(block for block in model.design.blocks if block.group == term.group_name)
