"""Columns of the fixed and the random design, each a coefficient per cell times a basis number.

`patsy` decides which dummies a factor gets where (full rank or reduced, and the contrast);
the columns themselves are never written out over rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from analysis.mixed.reading.expression import level_places, shown
from analysis.mixed.reading.formula import (
    MixedFormula,
    RandomTerm,
    is_factor_call,
    term_name,
    terms,
)
from analysis.mixed.reading.plan import column_name, factor_column
from analysis.mixed.reading.statistics import Factor, Statistics, interaction
from analysis.tidy.errors import ColumnError, DesignError
from analysis.tidy.frame import Floats, Integers


@dataclass(frozen=True, slots=True)
class Column:
    """A design column: in a row of cell i it is ``coefficient[i]`` times a basis number."""

    name: str  #: As patsy writes it, such as ``lab[T.EleutherAI]:depth``.
    coefficient: Floats  #: Shape (n cells,).
    basis: int  #: Position of the basis number in the statistics.


def matrix_of(columns: Iterable[Column]) -> Floats:
    """Return the coefficients of columns beside each other, shape (n cells, columns)."""
    return np.column_stack([column.coefficient for column in columns])


@dataclass(frozen=True, slots=True)
class Block:
    """All random effects of one grouping factor."""

    group: str  #: Name of the factor, such as ``lab:suite``.
    levels: tuple[str, ...]  #: Labels of its levels.
    codes: Integers  #: Level of every cell, shape (n cells,).
    columns: tuple[Column, ...]  #: The coefficients that vary, k of them.
    #: Row and column of every parameter in the k x k relative factor, lme4's order.
    positions: tuple[tuple[int, int], ...]

    @property
    def width(self) -> int:
        """Random effects per level."""
        return len(self.columns)

    @property
    def size(self) -> int:
        """Random effects of all levels."""
        return len(self.levels) * self.width


def block_rows(blocks: Iterable[Block]) -> Iterator[slice]:
    """Yield the rows of every block among the random effects of all."""
    start = 0
    for block in blocks:
        yield slice(start, start + block.size)
        start += block.size


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Fixed columns that are left out because they add nothing to those before them."""

    names: tuple[str, ...] = ()  #: Their names.
    #: Combinations of all columns, theirs included, that are zero in every row, shape (all columns,
    #: columns left out).
    null: Floats = field(default_factory=lambda: np.zeros((0, 0)))


@dataclass(frozen=True, slots=True)
class Design:
    """What a formula makes of the cells."""

    fixed: tuple[Column, ...]  #: Columns of the fixed design.
    blocks: tuple[Block, ...]  #: Random effects by grouping factor, most levels first, as in lme4.
    #: Reference level of every factor with treatment contrasts, as ``lab = AI2``.
    references: tuple[str, ...]
    #: Columns of every fixed term: name of the term to positions.
    term_columns: dict[str, tuple[int, ...]]
    #: Fixed columns that the formula has and the design has not.
    left_out: LeftOut = field(default_factory=LeftOut)


def build(
    formula: MixedFormula, statistics: Statistics, contrasts: Mapping[str, Any] | None = None
) -> Design:
    """Return the design of a formula over the cells.

    Contrasts of factors by column: the reference level, or a contrast of patsy's such as
    ``patsy.Sum()``; treatment contrasts with the first level as reference otherwise.
    """
    stated = dict(contrasts or {})
    unknown = [name for name in stated if name not in statistics.factors]
    if unknown:
        raise ColumnError(
            f"Contrasts must be of factors of the formula; {unknown} are not.",
            f"Its factors are: {', '.join(statistics.factors)}.",
        )
    fixed, term_columns = design_columns(formula.fixed, statistics, stated)
    blocks = _blocks(formula.random, statistics, stated)
    return Design(
        tuple(fixed), tuple(blocks), _references(formula, statistics, fixed), term_columns
    )


def _blocks(
    random: tuple[RandomTerm, ...], statistics: Statistics, stated: Mapping[str, Any]
) -> list[Block]:
    """Return one block per grouping factor; its uncorrelated terms share it."""
    by_group: dict[tuple[str, ...], list[tuple[Column, ...]]] = {}
    for term in random:
        part, _ = design_columns(term.left, statistics, stated)
        by_group.setdefault(term.group, []).append(tuple(part))
    blocks = []
    for group, parts in by_group.items():
        _require_collected(group, statistics)
        factor = interaction([statistics.factors[name] for name in group])
        columns = tuple(itertools.chain.from_iterable(parts))
        block = Block(":".join(group), factor.levels, factor.codes, columns, _positions(parts))
        _require_groups(block, statistics.n_obs)
        _require_once(block)
        blocks.append(block)
    return sorted(blocks, key=lambda block: -len(block.levels))


def _require_collected(group: tuple[str, ...], statistics: Statistics) -> None:
    absent = [name for name in group if name not in statistics.factors]
    if absent:
        raise DesignError(
            f"The statistics must hold the factors {absent}; they hold {list(statistics.factors)}.",
            "Collect them with this formula, or name the factors in `units`.",
        )


def _positions(parts: list[tuple[Column, ...]]) -> tuple[tuple[int, int], ...]:
    """Return the lower triangles of the terms' blocks, column by column."""
    positions, start = [], 0
    for part in parts:
        width = len(part)
        positions += [
            (start + row, start + column) for column in range(width) for row in range(column, width)
        ]
        start += width
    return tuple(positions)


def _require_once(block: Block) -> None:
    names = [column.name for column in block.columns]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise DesignError(
            f"Every random effect must occur once; {', '.join(repeated)} among "
            f"{block.group} occurs in several terms, whose variances cannot be separated.",
            f"Write one term, such as (1 + x | {block.group}), or (0 + x | {block.group}) beside "
            f"(1 | {block.group}).",
        )


def _require_groups(block: Block, n_obs: int) -> None:
    if not block.columns:
        raise DesignError(
            f"Something must vary among the levels of {block.group!r}; the term has no effect.",
            f"Write (1 | {block.group}), or drop it.",
        )
    if len(block.levels) < 2:
        raise DesignError(
            f"Group {block.group!r} must have at least two levels; found {list(block.levels)}.",
            "Drop its random term, or widen the filter.",
        )
    if block.size >= n_obs:
        raise DesignError(
            f"Group {block.group!r} must have fewer effects than there are rows; it has "
            f"{block.size} for {n_obs} rows.",
            "They cannot be separated from the residual: drop the term.",
        )


def design_columns(
    side: str, statistics: Statistics, stated: Mapping[str, Any]
) -> tuple[list[Column], dict[str, tuple[int, ...]]]:
    """Return the columns of a right side over the cells, and which of them every term has.

    The columns of a basis such as ``poly(x, 2)`` are one term.
    """
    from patsy.build import design_matrix_builders
    from patsy.desc import Term
    from patsy.eval import EvalEnvironment

    # One object for each piece: patsy knows a factor that occurs twice by its being equal, which
    # contrasts of the same level are not.
    codes = {factor.code for term in terms(side) for factor in term.factors}
    pieces = {code: _adapt(code, statistics, stated) for code in sorted(codes)}
    adapted = [Term([pieces[factor.code] for factor in term.factors]) for term in terms(side)]
    environment = EvalEnvironment([{}])
    (info,) = design_matrix_builders([adapted], lambda: iter([{}]), environment)
    columns: list[Column] = []
    term_columns: dict[str, tuple[int, ...]] = {}
    for term, subterms in info.term_codings.items():
        start = len(columns)
        for subterm in subterms:
            columns += _subterm_columns(subterm, statistics)
        name = term_name(term)
        places = tuple(range(start, len(columns)))
        term_columns[name] = term_columns.get(name, ()) + places
    return columns, term_columns


@dataclass(frozen=True)
class _Piece:
    """A piece of a formula as patsy sees it, a number: its values are not asked for."""

    code: str
    origin: ClassVar[None] = None

    def name(self) -> str:
        return shown(self.code)

    def memorize_passes_needed(self, state: object, environment: object) -> int:
        return 0

    def eval(self, state: object, rows: object) -> Any:
        return np.ones(1)


@dataclass(frozen=True)
class _Label(_Piece):
    """A factor as patsy sees it: its levels in order."""

    column: str
    levels: tuple[str, ...]
    stated: Any

    def eval(self, state: object, rows: object) -> Any:
        from patsy.categorical import C

        levels = list(self.levels)
        return C(pd.Categorical(levels, categories=levels), self.stated, levels)


def is_factor(code: str, statistics: Statistics) -> bool:
    """Tell whether a piece of a formula is a factor of the statistics."""
    return is_factor_call(code) or column_name(code) in statistics.factors


def _adapt(code: str, statistics: Statistics, stated: Mapping[str, Any]) -> _Piece:
    if not is_factor(code, statistics):
        return _Piece(code)
    name = factor_column(code)
    factor = statistics.factors[name]
    if len(factor.levels) < 2:
        raise DesignError(
            f"Factor {name!r} must have at least two levels; found {list(factor.levels)}.",
            "Drop it from the formula, or widen the filter.",
        )
    contrast = _written_contrast(code) if name not in stated else stated[name]
    return _Label(code, name, factor.levels, _contrast_of(name, factor, contrast))


def _references(
    formula: MixedFormula, statistics: Statistics, fixed: list[Column]
) -> tuple[str, ...]:
    """Return the level of every factor with treatment contrasts that has no column of its own."""
    names = "".join(f":{column.name}:" for column in fixed)
    codes = {factor.code for term in terms(formula.fixed) for factor in term.factors}
    reference = {}
    for code in codes:
        if not is_factor(code, statistics):
            continue
        name = factor_column(code)
        levels = statistics.factors[name].levels
        without = [level for level in levels if f":{code}[T.{level}]:" not in names]
        if len(without) == 1:
            reference[name] = without[0]
    return tuple(f"{name} = {reference[name]}" for name in statistics.factors if name in reference)


def _subterm_columns(subterm: Any, statistics: Statistics) -> list[Column]:
    """Return the columns of patsy's subterm: the leftmost factor's columns vary fastest."""
    choices = []
    numbers = []
    for factor in subterm.factors:
        if isinstance(factor, _Label):
            choices.append(_dummies(factor, subterm.contrast_matrices[factor], statistics))
        else:
            numbers.append(factor.code)
    varying = tuple(sorted(name for name in numbers if name not in statistics.constants))
    if varying not in statistics.basis:
        raise DesignError(
            f"The statistics must hold the product {' * '.join(varying)!r}; they do not.",
            "Collect them with this formula, or with one that has all its terms.",
        )
    basis = statistics.basis.index(varying)
    constant = np.ones(len(statistics.counts))
    for name in numbers:
        constant = constant * statistics.constants.get(name, 1.0)
    columns = []
    for chosen in itertools.product(*reversed(choices)):
        suffixes = {code: suffix for code, suffix, _ in chosen}
        name = ":".join(shown(f.code) + suffixes.get(f.code, "") for f in subterm.factors)
        name = name or "Intercept"
        coefficient = constant
        for _, _, dummy in chosen:
            coefficient = coefficient * dummy
        columns.append(Column(name, coefficient, basis))
    return columns


def _dummies(
    factor: _Label, contrast: Any, statistics: Statistics
) -> list[tuple[str, str, Floats]]:
    """Return code, suffix and value per cell of a factor's columns."""
    matrix = np.asarray(contrast.matrix, dtype=np.float64)
    over_cells = matrix[statistics.factors[factor.column].codes]
    return [
        (factor.code, suffix, over_cells[:, place])
        for place, suffix in enumerate(contrast.column_suffixes)
    ]


def _written_contrast(code: str) -> Any:
    """Return the contrast inside ``C(column, contrast)``, None without."""
    import patsy

    if not is_factor_call(code) or "," not in code:
        return None
    known = {name: getattr(patsy, name) for name in ("Treatment", "Sum", "Helmert", "Poly", "Diff")}
    text = code.partition(",")[2].rsplit(")", 1)[0].strip()
    try:
        return eval(text, {"__builtins__": {}}, known)  # noqa: S307 - the caller's own formula
    except Exception as error:  # what the caller wrote may fail in any way
        raise ColumnError(
            f"The contrast in {code!r} must be one of {', '.join(known)}; {error}.",
            "Such as C(lab, Treatment('EleutherAI')) or C(lab, Sum).",
        ) from error


def _contrast_of(name: str, factor: Factor, stated: Any) -> Any:
    """Return a contrast as patsy takes it; treatment contrasts when none is stated."""
    from patsy import PatsyError, Treatment
    from patsy.contrasts import code_contrast_matrix

    if isinstance(stated, str | int | float | np.generic):
        if not (known := _levels_named(stated, factor)):
            raise ColumnError(
                f"The reference of {name!r} must be one of its levels; found {stated!r}.",
                f"Levels: {', '.join(factor.levels)}.",
            )
        return Treatment(reference=known[0])
    contrast = _name_level(stated, factor)
    try:
        hash(contrast)
        for full_rank in (True, False):
            code_contrast_matrix(full_rank, list(factor.levels), contrast, Treatment)
    except (PatsyError, AttributeError, IndexError, TypeError, ValueError) as error:
        raise ColumnError(
            f"The contrast of {name!r} must be a level or a contrast of patsy's that fits its "
            f"{len(factor.levels)} levels; found {stated!r} ({error}).",
            f"Such as patsy.Sum(), or one of the levels: {', '.join(factor.levels)}.",
        ) from error
    return contrast


def _name_level(stated: Any, factor: Factor) -> Any:
    """Return a contrast with its level by name; a number is a place where no level is called so."""
    from patsy import Sum, Treatment

    if isinstance(stated, Treatment) and (known := _levels_named(stated.reference, factor)):
        return Treatment(reference=known[0])
    if isinstance(stated, Sum) and (known := _levels_named(stated.omit, factor)):
        return Sum(omit=known[0])
    return stated


def _levels_named(value: object, factor: Factor) -> list[str]:
    """Return the level that a value names, none or one."""
    return [factor.levels[place] for place in level_places([value], factor.levels) if place >= 0]
