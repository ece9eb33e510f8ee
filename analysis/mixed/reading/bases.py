"""Columns whose constants come from the rows: ``scale(x)``, ``poly(x, 3)``, ``bs(x, 5)``, ``ns``.

Each is a polynomial in x, or one between each two knots. The constants are computed once, when
the rows are opened, and written into the formula as ``basis(name, x, breaks, coefficients)``: a
prediction for other rows uses the same. As R's scale, poly, splines::bs and splines::ns.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from analysis.mixed.reading.expression import translate
from analysis.mixed.reading.formula import MixedFormula, closing, parse
from analysis.mixed.reading.source import Source
from analysis.tidy.errors import ColumnError, DesignError
from analysis.tidy.frame import Floats

CALL = re.compile(r"(?<![\w.])(scale|poly|bs|ns)\s*\(")

CUBIC = 3

#: Coefficients of the powers about the left break, highest first, shape (degree + 1, pieces).
Piecewise = tuple[Floats, Floats]


def expand_bases(
    text: str, source: Source | None, known: Mapping[str, str] | None = None
) -> MixedFormula:
    """Return a formula's parts with such columns written out.

    The rows give the constants; those of columns written out before, by call, are used whatever the
    rows.
    """
    bases: dict[str, str] = {}
    left, tilde, right = text.partition("~")
    position = 0
    while call := CALL.search(right, position):
        end = closing(right, call.end() - 1, text)
        text_of_call = right[call.start() : end + 1]
        read = _read(text_of_call, call.group(1))
        written = (known or {}).get(read.name) or _write_out(text_of_call, read, source)
        bases[read.name] = written
        right = right[: call.start()] + written + right[end + 1 :]
        position = call.start() + len(written)
    return replace(parse(left + tilde + right), text=text, bases=bases)


class _Call(NamedTuple):
    """A call in a formula: what of which expression, its whole number, its name in tables."""

    function: str
    of: str
    number: int
    name: str


def _write_out(call: str, read: _Call, source: Source | None) -> str:
    function = read.function
    if source is None:
        raise DesignError(
            f"The constants of {read.name} come from the rows; these statistics hold none for it.",
            "Collect the statistics with this formula.",
        )
    expression = translate(read.of)
    source.require_numbers(expression.columns)
    x = f"CAST({expression.sql} AS DOUBLE)"
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # refused just below
        columns = FUNCTIONS[function](read, x, source, call)
    if not all(np.isfinite(numbers).all() for column in columns for numbers in column):
        raise ColumnError(
            f"{call!r} must be of finite numbers whose powers are finite; its constants are not.",
            "Bring the column to a unit in which it is about one.",
        )
    names = [f"{read.name}{k + 1}" for k in range(len(columns))]
    names = [read.name] if function == "scale" else names
    written = [
        f"basis({label!r}, {read.of}, {tuple(map(float, breaks))!r}, "
        f"{tuple(tuple(map(float, row)) for row in coefficients)!r})"
        for label, (breaks, coefficients) in zip(names, columns, strict=True)
    ]
    return f"({' + '.join(written)})" if len(written) > 1 else written[0]


def _read(call: str, function: str) -> _Call:
    try:
        tree = ast.parse(call.replace("^", "**").strip(), mode="eval").body
    except SyntaxError as error:
        raise ColumnError(
            f"The formula part {call!r} must be readable; {error.msg}.", "Such as poly(depth, 2)."
        ) from error
    argument = {"scale": None, "poly": "degree"}.get(function, "df")
    least = CUBIC if function == "bs" else 1
    if isinstance(tree, ast.Call) and tree.args:
        given = [*tree.args[1:], *(each.value for each in tree.keywords if each.arg == argument)]
        if len(given) == len(tree.args) + len(tree.keywords) - 1 == (argument is not None):
            of, numbers = ast.unparse(tree.args[0]), [getattr(each, "value", 0) for each in given]
            if all(isinstance(number, int) and number >= least for number in numbers):
                name = f"{function}({', '.join([of, *map(str, numbers)])})"
                return _Call(function, of, sum(numbers), name)
    usage = f"{function}({', '.join(['x', argument] if argument else ['x'])})"
    raise ColumnError(
        f"{call!r} must read {usage} with a whole number of at least {least}; it does not.",
        "Other arguments of R's are not known; give them by columns of your own.",
    )


def _scale(_: _Call, x: str, source: Source, call: str) -> list[Piecewise]:
    mean, deviation = _row(source, f"SELECT avg({x}), stddev_samp({x}) FROM observations")
    if not deviation > 0:
        raise ColumnError(f"{call!r} must be of numbers that vary; they do not.", "Drop it.")
    return [(np.array([mean, mean + 1]), np.array([[1 / deviation], [0.0]]))]


def _poly(read: _Call, x: str, source: Source, call: str) -> list[Piecewise]:
    """Return orthogonal polynomials over the rows, each of length one (Stieltjes)."""
    table = source.query(f"SELECT {x} AS v, count(*) AS n FROM observations GROUP BY v ORDER BY v")
    values, counts = (table.column(k).to_numpy().astype(np.float64) for k in range(2))
    _require_distinct(len(values), read.number + 1, call)
    middle = float(values @ counts / counts.sum())
    from numpy.polynomial import polynomial

    about = values - middle
    polynomials = [np.array([1.0])]
    lengths = [float(counts.sum())]
    for k in range(read.number):
        last = polynomial.polyval(about, polynomials[-1])
        alpha = float(counts @ (about * last**2)) / lengths[-1]
        following = polynomial.polysub(
            polynomial.polymulx(polynomials[-1]), alpha * polynomials[-1]
        )
        if k:
            following = polynomial.polysub(following, lengths[-1] / lengths[-2] * polynomials[-2])
        polynomials.append(following)
        lengths.append(float(counts @ polynomial.polyval(about, following) ** 2))
    breaks = np.array([middle, middle + 1])
    return [
        (breaks, (coefficients / np.sqrt(length))[::-1, None])
        for coefficients, length in zip(polynomials[1:], lengths[1:], strict=True)
    ]


def _bs(read: _Call, x: str, source: Source, call: str) -> list[Piecewise]:
    knots = _knots(source, x, read.number - CUBIC, call)
    splines = np.eye(len(knots) - CUBIC - 1)[1:]
    return [_pieces(knots, weights) for weights in splines]


def _ns(read: _Call, x: str, source: Source, call: str) -> list[Piecewise]:
    """Return cubic splines that are straight beyond the range, R's by Householder's rotation."""
    from scipy.interpolate import BSpline

    knots = _knots(source, x, read.number - 1, call)
    identity = np.eye(len(knots) - CUBIC - 1)
    bends = BSpline(knots, identity, CUBIC).derivative(2)([knots[0], knots[-1]])[:, 1:]
    rotation = np.linalg.qr(bends.T, mode="complete")[0][:, 2:]
    result = []
    for weights in rotation.T:
        breaks, coefficients = _pieces(knots, np.concatenate([[0.0], weights]))
        spline = BSpline(knots, np.concatenate([[0.0], weights]), CUBIC)
        ends = [knots[0] - 1, *breaks, breaks[-1] + 1]
        low, high = (
            np.array([[0], [0], [spline.derivative()(e)], [spline(e)]], dtype=float)
            for e in (breaks[0], breaks[-1])
        )
        low[3] -= low[2]  # about the break one below the range
        result.append((np.array(ends), np.hstack([low, coefficients, high])))
    return result


def _pieces(knots: Floats, weights: Floats) -> Piecewise:
    from scipy.interpolate import PPoly

    whole = PPoly.from_spline((knots, weights, CUBIC))
    used = np.flatnonzero(np.diff(whole.x) > 0)
    return np.append(whole.x[used], whole.x[-1]), whole.c[:, used]


def _knots(source: Source, x: str, n_inner: int, call: str) -> Floats:
    """Return quantiles as inner knots, and the range four times."""
    shares = [k / (n_inner + 1) for k in range(n_inner + 2)]
    quantiles = _row(
        source,
        "SELECT "
        + ", ".join(f"quantile_cont({x}, {each!r})" for each in shares)
        + " FROM observations",
    )
    distinct = {each for each in quantiles if np.isfinite(each)}
    _require_distinct(len(distinct), n_inner + 2, call)
    return np.array([quantiles[0]] * CUBIC + quantiles + [quantiles[-1]] * CUBIC)


def _row(source: Source, sql: str) -> list[float]:
    table = source.query(sql)
    values = [column[0].as_py() for column in table.columns]
    return [float("nan") if each is None else float(each) for each in values]


def _require_distinct(n_distinct: int, needed: int, call: str) -> None:
    if n_distinct < needed:
        raise ColumnError(
            f"{call!r} needs {needed} distinct values or quantiles; it has {n_distinct}.",
            "Ask for fewer columns.",
        )


FUNCTIONS: dict[str, Callable[[_Call, str, Source, str], list[Piecewise]]] = {
    "scale": _scale,
    "poly": _poly,
    "bs": _bs,
    "ns": _ns,
}
