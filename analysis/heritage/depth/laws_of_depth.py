"""Laws of depth: the gain of a model as a function of its number of blocks L, and their fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from analysis.tidy.frame import Floats

#: Smallest gain a law may predict on the way to its fit: its logarithm must exist.
FLOOR = 1e-12

#: Tolerance of the search for the minimum, relative: as fine as double precision allows.
CONVERGED = 1e-15


@dataclass(frozen=True, slots=True)
class Law:
    """A law of depth.

    Attributes
    ----------
    coefficients
        Names of what is estimated, none for a law that says all.
    mean
        Gain from depths and coefficients, shape (n,).
    gradient
        Its derivatives, shape (n, coefficients).
    start
        Coefficients to start from, given depths and gains.
    """

    coefficients: tuple[str, ...]
    mean: Callable[[Floats, Floats], Floats]
    gradient: Callable[[Floats, Floats], Floats]
    start: Callable[[Floats, Floats], Floats]


@dataclass(frozen=True, slots=True)
class Fitted:
    """A law fitted to n models.

    Attributes
    ----------
    coefficients
        Shape (p,).
    design
        Derivatives of the fitted values on the scale of the fit, shape (n, p).
    residuals
        On the scale of the fit, shape (n,).
    """

    coefficients: Floats
    design: Floats
    residuals: Floats


def _line(of: Callable[[Floats], Floats]) -> Law:
    """Return the law a + b f(L)."""

    def columns(depth: Floats, _: Floats) -> Floats:
        return np.column_stack([np.ones_like(depth), of(depth)])

    return Law(
        ("a", "b"),
        lambda depth, known: known[0] + known[1] * of(depth),
        columns,
        lambda depth, gain: np.asarray(
            np.linalg.lstsq(columns(depth, gain), gain)[0], dtype=np.float64
        ),
    )


def _fixed(of: Callable[[Floats], Floats]) -> Law:
    """Return a law without anything to estimate."""
    return Law(
        (),
        lambda depth, _: of(depth),
        lambda depth, _: np.empty((len(depth), 0)),
        lambda _, __: np.empty(0),
    )


def _power_start(depth: Floats, gain: Floats) -> Floats:
    columns = np.column_stack([np.ones_like(depth), np.log(depth)])
    return np.asarray(np.linalg.lstsq(columns, np.log(gain))[0], dtype=np.float64)


def _root(of: Callable[[Floats], Floats]) -> Law:
    """Return the law C^f(L)."""
    return Law(
        ("ln C",),
        lambda depth, known: np.exp(known[0] * of(depth)),
        lambda depth, known: np.asarray((np.exp(known[0] * of(depth)) * of(depth))[:, None]),
        lambda depth, gain: np.array([of(depth) @ np.log(gain) / (of(depth) @ of(depth))]),
    )


def _power_gradient(depth: Floats, known: Floats) -> Floats:
    value = np.exp(known[0] + known[1] * np.log(depth))
    return np.column_stack([value, value * np.log(depth)])


#: The laws compared, simplest first.
LAWS: Mapping[str, Law] = {
    "10^(1/L)": _fixed(lambda depth: 10.0 ** (1 / depth)),
    "1": _fixed(np.ones_like),
    "constant": Law(
        ("c",),
        lambda depth, known: np.full(len(depth), known[0]),
        lambda depth, _: np.ones((len(depth), 1)),
        lambda _, gain: np.array([gain.mean()]),
    ),
    "C^(1/L)": _root(lambda depth: 1 / depth),
    "a + b/L": _line(lambda depth: 1 / depth),
    "a L^b": Law(
        ("ln a", "b"),
        lambda depth, known: np.exp(known[0] + known[1] * np.log(depth)),
        _power_gradient,
        _power_start,
    ),
    "a + b ln L": _line(np.log),
}

#: Gains that a law can say something of: the paper's two, and the growth over blocks 1 to L - 2.
PENULTIMATE, LARGEST, GROWTH = (
    "penultimate block",
    "largest of any block",
    "growth over blocks 1 to L − 2",
)

#: The name of the law |x_l|^2 = (l + 1) w^2, which says each gain without anything to estimate.
EQUAL_WRITES = "equal writes"

#: The laws of each gain. Block l grows by ((l + 1) / l)^(1/2) under equal writes: most in block 1,
#: and (L - 1)^(1/2) over blocks 1 to L - 2. A root law, which speaks of one block, holds in each.
LAWS_OF: Mapping[str, Mapping[str, Law]] = {
    PENULTIMATE: {**LAWS, EQUAL_WRITES: _fixed(lambda depth: np.sqrt((depth - 1) / (depth - 2)))},
    LARGEST: {**LAWS, EQUAL_WRITES: _fixed(lambda depth: np.full(len(depth), np.sqrt(2.0)))},
    GROWTH: {
        **LAWS,
        "10^(1/L)": _fixed(lambda depth: 10.0 ** ((depth - 2) / depth)),
        "C^(1/L)": _root(lambda depth: (depth - 2) / depth),
        EQUAL_WRITES: _fixed(lambda depth: np.sqrt(depth - 1)),
    },
}


def on_scale(values: Floats, scale: str) -> Floats:
    """Return gains on the scale of a fit: their logarithm, or as they are."""
    return np.log(np.maximum(values, FLOOR)) if scale == "log" else values


def fit(law: Law, depths: Floats, gains: Floats, scale: str) -> Fitted:
    """Return the least-squares fit of one law (Levenberg-Marquardt, analytic derivatives).

    Parameters
    ----------
    law
        One of `LAWS`.
    depths, gains
        Positive numbers, shape (n,).
    scale
        ``log`` or ``raw``: where errors are additive.
    """

    def residuals(known: Floats) -> Floats:
        return on_scale(law.mean(depths, known), scale) - on_scale(gains, scale)

    def derivatives(known: Floats) -> Floats:
        gradient = law.gradient(depths, known)
        if scale == "raw":
            return gradient
        return gradient / np.maximum(law.mean(depths, known), FLOOR)[:, None]

    result = law.start(depths, gains)
    if law.coefficients:
        solved = least_squares(
            residuals,
            result,
            jac=derivatives,
            method="lm",
            xtol=CONVERGED,
            ftol=CONVERGED,
            gtol=CONVERGED,
        )
        result = np.asarray(solved.x, dtype=np.float64)
    return Fitted(result, derivatives(result), -residuals(result))
