"""What a formula needs of the rows: factors to group by, numbers to sum products of."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from analysis.mixed.reading.expression import Expression, translate
from analysis.mixed.reading.formula import MixedFormula, is_factor_call, terms
from analysis.mixed.reading.source import LABEL_TYPES, Source
from analysis.tidy.errors import ColumnError


@dataclass(frozen=True, slots=True)
class Plan:
    """What must be collected for a formula."""

    factors: tuple[str, ...]  #: Columns whose combinations are the cells, in order of appearance.
    numbers: dict[str, Expression]  #: Numeric expressions of the formula by their text.
    #: Sets of expressions multiplied in some term, each sorted; ``()`` is the intercept.
    products: tuple[tuple[str, ...], ...]
    response: Expression  #: What is explained, less the offset.
    offset: str  #: Text of the offset, empty without one.
    weights: Expression | None  #: Precision of every row, None when all count the same.
    #: Calls of ``scale``, ``poly``, ``bs`` and ``ns``, written out with their constants.
    bases: Mapping[str, str]


def plan(
    formula: MixedFormula,
    source: Source,
    *,
    weights: str | None = None,
    units: tuple[str, ...] = (),
) -> Plan:
    """Return what a formula needs of the rows."""
    factors: dict[str, None] = {}
    numbers: dict[str, Expression] = {}
    products: dict[tuple[str, ...], None] = {(): None}
    for side in (formula.fixed, *(term.left for term in formula.random)):
        for term in terms(side):
            codes = [factor.code for factor in term.factors]
            # Tell whether a piece of a formula is a factor: a column of labels, or C(column).
            numeric = [
                code
                for code in codes
                if not (
                    is_factor_call(code) or source.types.get(column_name(code) or "") in LABEL_TYPES
                )
            ]
            numbers |= {code: _number(code, source) for code in numeric if code not in numbers}
            factors |= {factor_column(code): None for code in codes if code not in numeric}
            products[tuple(sorted(numeric))] = None
    factors |= dict.fromkeys(name for term in formula.random for name in term.group)
    factors |= dict.fromkeys(units)
    precision = None if weights is None else translate(weights)
    for expression in (formula.response, precision):
        if expression is not None and not expression.columns:
            raise ColumnError(
                f"A response, and weights, must read a column; {expression.text!r} reads none.",
                f"The rows have: {', '.join(source.types)}.",
            )
    others = [each for each in (formula.response, formula.offset, precision) if each is not None]
    needed = Plan(
        factors=tuple(factors),
        numbers=numbers,
        products=tuple(products),
        response=_less_offset(formula.response, formula.offset),
        offset=formula.offset_text,
        weights=precision,
        bases=formula.bases,
    )
    source.require(factors)
    source.require_numbers(name for each in (*numbers.values(), *others) for name in each.columns)
    return needed


def column_name(code: str) -> str | None:
    """Return the column that a piece of a formula is, None when it is an expression."""
    match ast.parse(code, mode="eval").body:
        case ast.Name(id=name):
            return name
        case ast.Call(func=ast.Name(id="Q"), args=[ast.Constant(value=str() as name)]):
            return name
    return None


def factor_column(code: str) -> str:
    """Return the column of a factor: ``layer`` of ``C(layer, Sum)``."""
    name = column_name(code)
    match ast.parse(code, mode="eval").body:
        case ast.Call(args=[first, *_]) if is_factor_call(code):
            name = column_name(ast.unparse(first))
    if name is None:
        raise ColumnError(
            f"A factor must be made of one column; {code!r} is not.",
            "Such as C(layer), or C(lab, Treatment('EleutherAI')).",
        )
    return name


def _number(code: str, source: Source) -> Expression:
    expression = translate(code)
    if not expression.columns:
        raise ColumnError(
            f"A predictor must read a column; {code!r} reads none.",
            f"Write 1 for the intercept. The rows have: {', '.join(source.types)}.",
        )
    return expression


def _less_offset(response: Expression, offset: Expression | None) -> Expression:
    if offset is None:
        return response
    columns = tuple(dict.fromkeys(itertools.chain(response.columns, offset.columns)))
    return Expression(response.text, f"({response.sql} - {offset.sql})", columns)
