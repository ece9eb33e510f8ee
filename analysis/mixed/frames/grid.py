"""Points at which a fitted model is asked: factors' levels with numbers at their means."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np

from analysis.mixed.algebra.design import design_columns, is_factor, matrix_of
from analysis.mixed.algebra.rank import estimable
from analysis.mixed.inference.fitted import Specification, Tested
from analysis.mixed.reading.expression import Expression, quoted, translate
from analysis.mixed.reading.formula import terms
from analysis.mixed.reading.plan import column_name, factor_column
from analysis.mixed.reading.source import Source
from analysis.mixed.reading.statistics import Factor, Statistics
from analysis.tidy.errors import ColumnError, DesignError
from analysis.tidy.frame import Floats, nearest

#: Offsets of a column at which its derivative's difference quotient is taken [steps].
STENCIL = {-2.0: 1 / 12, -1.0: -8 / 12, 1.0: 8 / 12, 2.0: -1 / 12}

#: A step of that quotient, in standard deviations of the column.
STEP = 1e-3

#: Share of its parts below which that quotient is zero.
ROUNDING = 1e-14


@dataclass(frozen=True, slots=True)
class Grid:
    """Every combination of the fixed factors' levels, numbers at their means."""

    points: Statistics  #: A point per cell.
    names: tuple[str, ...]  #: The factors.
    design: Floats  #: Fixed design at the points, shape (points, p).
    offset: float  #: The offset with its columns at their means.
    note: str  #: What a reader must know of the numbers, empty for nothing.
    what: str = "mean"  #: What the design gives at a point.
    #: Levels that are asked for of some factors; the others keep all of theirs.
    kept: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def levels(self, factor: str) -> list[tuple[int, str]]:
        """Return code and name of the levels of a factor that are asked for."""
        every = list(enumerate(self.points.factors[factor].levels))
        if factor not in self.kept:
            return every
        order = {name: place for place, name in enumerate(self.kept[factor])}
        return sorted((each for each in every if each[1] in order), key=lambda it: order[it[1]])


def fixed_design(model: Specification, points: Statistics) -> Floats:
    """Return the fixed design at the points, shape (points, p)."""
    columns, _ = design_columns(model.formula.fixed, points, model.contrasts)
    design = matrix_of(columns) if columns else np.zeros((len(points.counts), 0))
    left_out = model.design.left_out
    if not left_out.names:
        return design
    unknown = ~estimable(design, left_out)
    if unknown.any():
        raise DesignError(
            "A prediction or a mean must be determined by the rows fitted; "
            f"{int(unknown.sum())} of {len(design)} points are not. There "
            f"{', '.join(left_out.names)} could not be separated from the other terms.",
            "Ask where the rows of the fit were, or fit without the terms they are aliased with.",
        )
    return design[:, [column.name not in left_out.names for column in columns]]


def reference_grid(model: Tested, at: Mapping[str, Any] | None = None) -> Grid:
    """Return every combination of the fixed factors' levels, columns of numbers at their means.

    `at` states the value of a column of numbers, or the levels of a factor that are asked for.

    Means are over rows, each counting once. A transform is that of the mean: ``log(rho)`` is the
    logarithm of rho's mean, as in R's emmeans. From statistics alone it is the transform's mean,
    and a number that varies within cells is at its weighted one; a note says so.
    """
    names = tuple(
        dict.fromkeys(
            factor_column(code) for code in codes_of(model) if is_factor(code, model.statistics)
        )
    )
    kept, stated = _split_values(model, names, at or {})
    numbers, note = _values(model, {}, stated)
    points = _combinations(model, names, numbers)
    offset = model.formula.offset
    if offset is None:
        return Grid(points, names, fixed_design(model, points), 0.0, note, kept=kept)
    if model.source is None:
        raise DesignError(
            "Marginal means need the mean of the offset's columns; this model was fitted from "
            "statistics.",
            "Fit it with the rows at hand.",
        )
    value = _evaluate(model.source, [offset], {}, stated)[0]
    return Grid(points, names, fixed_design(model, points), value, note, kept=kept)


def _split_values(
    model: Tested, names: Sequence[str], at: Mapping[str, Any]
) -> tuple[dict[str, tuple[str, ...]], dict[str, float]]:
    """Return the levels that are asked for by factor, and the values of columns of numbers."""
    read = {c for code in codes_of(model) for c in translate(code).columns} - set(names)
    if model.formula.offset is not None:
        read |= set(model.formula.offset.columns)
    kept: dict[str, tuple[str, ...]] = {}
    stated: dict[str, float] = {}
    for name, value in at.items():
        if name in names:
            levels = model.statistics.factors[name].levels
            kept[name] = tuple(map(str, [value] if isinstance(value, str) else value))
            unknown = [level for level in kept[name] if level not in levels]
            if unknown or not kept[name]:
                raise ColumnError(
                    f"`at` must name levels of {name!r}; {unknown or 'nothing'} is not one.",
                    f"It has {list(levels)}.",
                )
        elif name not in read:
            known = sorted({*names, *read})
            raise ColumnError(
                f"`at` must be of columns of the fixed part; {name!r} is not one"
                + (f", the nearest is {nearest(name, known)!r}." if known else "."),
                f"It has {known}.",
            )
        elif isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
            raise ColumnError(
                f"`at` must give the column of numbers {name!r} one number; found {value!r}.",
                "Ask once for every value.",
            )
        else:
            stated[name] = float(value)
    return kept, stated


def derivatives(model: Tested, number: str, at: Mapping[str, Any] | None = None) -> Grid:
    """Return the grid with the derivatives of the fixed design by a column of numbers."""
    source = model.source
    codes = [code for code in codes_of(model) if not is_factor(code, model.statistics)]
    read = sorted({column for code in codes for column in translate(code).columns})
    if source is None:
        raise DesignError(
            "Trends need the rows; this model was fitted from statistics.",
            "Fit it with the rows at hand.",
        )
    _require_of_fixed_part("A trend must be by", "column of numbers", number, read)
    grid = reference_grid(model, at)
    stated = _split_values(model, grid.names, at or {})[1]
    spread = source.query(f"SELECT stddev_samp({quoted(number)}) AS s FROM observations")
    step = STEP * float(spread.column("s")[0].as_py())
    design, size = np.zeros((2, *grid.design.shape))
    slope = 0.0
    for place, weight in STENCIL.items():
        moved = {number: place * step}
        moved_design = fixed_design(
            model, _combinations(model, grid.names, _values(model, moved, stated)[0])
        )
        design += weight / step * moved_design
        size += abs(weight / step) * np.abs(moved_design)
        if model.formula.offset is not None:
            slope += weight / step * _evaluate(source, [model.formula.offset], moved, stated)[0]
    if not (np.abs(design) > ROUNDING * size).any():
        raise DesignError(
            f"The fixed part must have a slope at the mean of {number!r}; it has none there.",
            "A column that enters by comparisons alone moves the mean in steps: compare its sides.",
        )
    return replace(grid, design=design, offset=slope, what=f"slope by {number}")


def average(grid: Grid, factors: Sequence[str]) -> tuple[Floats, list[tuple[str, ...]]]:
    """Return the design averaged over all other factors, and the levels of every combination."""
    if len(set(factors)) < len(factors):
        raise DesignError(
            f"Every factor must be named once; found {list(factors)}.", "Drop the repetition."
        )
    for factor in factors:
        _require_of_fixed_part("Marginal means need", "factor", factor, list(grid.names))
    known = grid.points.factors
    asked = np.ones(len(grid.design), dtype=bool)
    for name in grid.kept:
        asked &= np.isin(known[name].codes, [code for code, _ in grid.levels(name)])
    rows, labels = [], []
    for levels in itertools.product(*(grid.levels(name) for name in factors)):
        inside = asked.copy()
        for name, (code, _) in zip(factors, levels, strict=True):
            inside &= known[name].codes == code
        rows.append(grid.design[inside].mean(axis=0))
        labels.append(tuple(label for _, label in levels))
    return np.array(rows), labels


def _require_of_fixed_part(what: str, kind: str, name: str, known: list[str]) -> None:
    """Raise DesignError unless a name is one of those known, which may be none at all."""
    if name not in known:
        lack = f"{name!r} is not one of {known}" if known else f"it has none, nor {name!r}"
        hint = "Name one of them." if known else f"Fit a formula whose fixed part has a {kind}."
        raise DesignError(f"{what} a {kind} of the fixed part; {lack}.", hint)


def codes_of(model: Specification, *sides: str) -> list[str]:
    """Return the factors and numbers of the fixed part, and of other right sides, sorted."""
    codes = {
        factor.code
        for side in (model.formula.fixed, *sides)
        for term in terms(side)
        for factor in term.factors
    }
    return sorted(codes)


def _combinations(
    model: Specification, names: Sequence[str], numbers: Mapping[str, float]
) -> Statistics:
    """Return every combination of the levels of some factors, numbers at values."""
    known = {n: f for n, f in model.statistics.factors.items() if n in names}
    levels = itertools.product(*(range(len(factor.levels)) for factor in known.values()))
    codes = np.array(list(levels), dtype=np.intp)
    factors = {
        name: Factor(factor.levels, codes[:, place])
        for place, (name, factor) in enumerate(known.items())
    }
    values = {name: np.full(len(codes), value) for name, value in numbers.items()}
    return Statistics.counted(factors, values, np.ones(len(codes)))


def _values(
    model: Tested, moved: Mapping[str, float], stated: Mapping[str, float]
) -> tuple[dict[str, float], str]:
    """Return every number of the fixed part at the means of its columns or at values, and a note.

    Values that are stated take the place of means; both may be moved by an amount.
    """
    codes = [code for code in codes_of(model) if not is_factor(code, model.statistics)]
    if model.source is None:
        return _means_of_sums(model, codes, stated)
    values = _evaluate(model.source, [translate(code) for code in codes], moved, stated)
    return dict(zip(codes, values, strict=True)), ""


def _evaluate(
    source: Source,
    expressions: Sequence[Expression],
    moved: Mapping[str, float],
    stated: Mapping[str, float],
) -> list[float]:
    """Return expressions at the means of their columns or at values, some moved by an amount."""
    if not expressions:
        return []
    read = list(dict.fromkeys(name for each in expressions for name in each.columns))
    centres = {name: f"avg(CAST({quoted(name)} AS DOUBLE))" for name in read}
    centres |= {name: f"CAST({value!r} AS DOUBLE)" for name, value in stated.items()}
    means = ", ".join(
        f"{centres[name]} + ({moved.get(name, 0.0)!r}) AS {quoted(name)}" for name in read
    )
    listed = ", ".join(f"{each.sql} AS v{place}" for place, each in enumerate(expressions))
    every = not set(read) <= set(stated)
    rows = f"(SELECT {means}{' FROM observations' if every else ''})" if read else "(SELECT 1)"
    table = source.query(f"SELECT {listed} FROM {rows}")
    return [float(column[0].as_py()) for column in table.columns]


def _means_of_sums(
    model: Tested, codes: Sequence[str], stated: Mapping[str, float]
) -> tuple[dict[str, float], str]:
    """Return the mean of every number from the statistics, and a note on what kind of mean it is.

    Of a number that varies within cells only the weighted sum is known, where rows have weights.
    """
    statistics, weighted = model.statistics, []
    counts, size = statistics.counts, float(statistics.product(0, 0).sum())
    known = {
        name: float(values @ counts) / statistics.n_obs
        for name, values in statistics.constants.items()
    }
    for place, names in enumerate(statistics.basis):
        if len(names) == 1:
            shifted = float(statistics.product(0, place).sum()) / size
            known[names[0]] = shifted + float(statistics.shift[place])
            weighted += [names[0]] if statistics.weighted else []
    bent = [c for c in codes if column_name(c) is None and set(translate(c).columns) & set(stated)]
    if bent:
        raise DesignError(
            f"`at` needs the rows where a column is transformed; {bent} of {sorted(stated)} were "
            "fitted from statistics.",
            "Fit with the rows at hand.",
        )
    known |= {code: stated[name] for code in codes if (name := column_name(code) or "") in stated}
    lacking = sorted(set(codes) - set(known))
    if lacking:
        raise DesignError(
            f"Marginal means need the mean of {lacking}, which enter only by their product.",
            "Add their main effects to the formula, or fit with the rows at hand.",
        )
    transforms = [code for code in codes if column_name(code) is None]
    remarks = [f"{', '.join(transforms)} at its own mean"] if transforms else []
    if heavier := [code for code in codes if code in weighted]:
        remarks.append(f"{', '.join(heavier)} at the mean over weights")
    note = f"From statistics alone: {'; '.join(remarks)}." if remarks else ""
    return {code: known[code] for code in codes}, note
