"""Turn an arithmetic expression of a formula, such as ``log10(parameters)``, into SQL.

A predictor is then computed where its rows lie: no row has to leave the database.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from analysis.tidy.errors import ColumnError
from analysis.tidy.frame import Integers

#: Functions of a formula and their names in SQL; ``np.log(x)`` reads like ``log(x)``.
FUNCTIONS = {
    "I": "",
    "abs": "abs",
    "cos": "cos",
    "exp": "exp",
    "log": "ln",
    "log10": "log10",
    "log2": "log2",
    "sin": "sin",
    "sqrt": "sqrt",
}

OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
}

#: A comparison is 1 where it holds and 0 where it does not, as in R's I(x > 0).
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Eq: "=",
    ast.NotEq: "<>",
}


@dataclass(frozen=True, slots=True)
class Expression:
    """An arithmetic expression over columns."""

    text: str  #: As the formula has it.
    sql: str  #: The same in SQL, of type DOUBLE.
    columns: tuple[str, ...]  #: Columns it reads.


def quoted(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


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
        [position.get(level_label(each), position.get(_other_number(each), -1)) for each in values],
        dtype=np.intp,
    )


def _other_number(value: object) -> str:
    """Return a whole number as its other type is written, floats as integers."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(float(value)) if isinstance(value, int | np.integer) else ""


def translate(text: str) -> Expression:
    """Return an arithmetic expression as SQL.

    It has columns (``Q("a name")`` for one that is not a word), numbers, ``+ - * / **`` (``^`` is
    read as ``**``), one comparison, brackets, and the functions of `FUNCTIONS`.

    >>> translate("log(rho) / 2").sql
    '(ln(CAST("rho" AS DOUBLE)) / 2.0)'
    """
    try:
        tree = ast.parse(text.strip().replace("^", "**"), mode="eval")
    except SyntaxError as error:
        raise ColumnError(
            f"The expression {text!r} must be readable; {error.msg}.",
            keyword_hint(text, "Check its brackets and operators."),
        ) from error
    columns: list[str] = []
    sql = _sql(tree.body, text, columns.append)
    return Expression(text.strip(), sql, tuple(dict.fromkeys(columns)))


def _sql(node: ast.expr, text: str, note: Callable[[str], None]) -> str:
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            return repr(float(value))
        case ast.Name(id=name):
            return _column(name, note)
        case ast.Call(func=ast.Name(id="Q"), args=[ast.Constant(value=str() as name)]):
            return _column(name, note)
        case ast.Call(func=function, args=[argument], keywords=[]):
            return f"{_function(function, text)}({_sql(argument, text, note)})"
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return f"(-{_sql(operand, text, note)})"
    return _operation(node, text, note)


def _operation(node: ast.expr, text: str, note: Callable[[str], None]) -> str:
    match node:
        case ast.Call(func=ast.Name(id="basis"), args=[ast.Constant(), of, breaks, coefficients]):
            x = _sql(of, text, note)
            return _piecewise(x, ast.literal_eval(breaks), ast.literal_eval(coefficients))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return f"pow({_sql(left, text, note)}, {_sql(right, text, note)})"
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in OPERATORS:
            symbol = OPERATORS[type(operator)]
            return f"({_sql(left, text, note)} {symbol} {_sql(right, text, note)})"
        case ast.Compare(left=left, ops=[sign], comparators=[right]) if type(sign) in COMPARISONS:
            sides = _sql(left, text, note), _sql(right, text, note)
            return _comparison(COMPARISONS[type(sign)], *sides)
    piece = ast.unparse(node)
    known = f"Use + - * / ** > < and {', '.join(FUNCTIONS)}; make anything else a column first."
    raise ColumnError(
        f"The expression {text!r} must be arithmetic over columns; {piece!r} is not understood.",
        keyword_hint(piece, known) if keyword.iskeyword(piece) else known,
    )


def keyword_hint(text: str, otherwise: str) -> str:
    """Return what to do about a text that cannot be read because Python keeps a word of it.

    >>> keyword_hint("log(class)", "Check its brackets.")
    "'class' is a word of Python's: a column called so must be written Q('class')."
    """
    outside = re.sub(r"'[^']*'|\"[^\"]*\"", "", text)
    word = next(filter(keyword.iskeyword, re.findall(r"[^\W\d]\w*", outside)), None)
    if word is None:
        return otherwise
    return f"{word!r} is a word of Python's: a column called so must be written Q({word!r})."


def shown(code: str) -> str:
    """Return a piece of a formula as tables name it: ``poly(x, 2)1`` for its long form."""
    if not code.startswith("basis("):
        return code
    match ast.parse(code, mode="eval").body:
        case ast.Call(args=[ast.Constant(value=str() as name), *_]):
            return name
    return code


def whole(code: str) -> str:
    """Return what all columns of a basis are called together: ``poly(x, 2)``; else the code."""
    name = shown(code)
    return code if name == code else name.rstrip("0123456789")


def _piecewise(
    x: str, breaks: tuple[float, ...], coefficients: tuple[tuple[float, ...], ...]
) -> str:
    """Return polynomials between breaks, each in powers about its left break, highest first."""
    pieces = []
    for left, *powers in zip(breaks, *coefficients, strict=False):
        horner = repr(powers[0])
        for power in powers[1:]:
            horner = f"({horner} * ({x} - ({left!r})) + ({power!r}))"
        pieces.append(horner)
    if len(pieces) == 1:
        return pieces[0]
    cases = " ".join(
        f"WHEN {x} < ({right!r}) THEN {piece}"
        for piece, right in zip(pieces, breaks[1:], strict=False)
    )
    return f"(CASE {cases} ELSE {pieces[-1]} END)"


def _comparison(sign: str, left: str, right: str) -> str:
    """Return 1 or 0, and nothing where a side is no finite number (SQL sorts NaN last)."""
    finite = f"isfinite({left}) AND isfinite({right})"
    return f"(CASE WHEN {finite} THEN CAST({left} {sign} {right} AS DOUBLE) END)"


def _column(name: str, note: Callable[[str], None]) -> str:
    note(name)
    return f"CAST({quoted(name)} AS DOUBLE)"


def _function(function: ast.expr, text: str) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="np" | "numpy"), attr=name):
            if name in FUNCTIONS:
                return FUNCTIONS[name]
    raise ColumnError(
        f"The expression {text!r} must use known functions; {ast.unparse(function)!r} is not one.",
        f"Known are {', '.join(FUNCTIONS)}; make anything else a column first.",
    )
