"""Random mixed models, many of them singular, and the best of many starts beside a fit.

Of 2,000 such fits none ended above another start or lme4 (`tests/proofs/README.md`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from analysis.mixed.algebra.crossproducts import CrossProducts
from analysis.mixed.algebra.deviance import profile
from analysis.mixed.algebra.optimise import natural_scale
from analysis.tidy.frame import Floats

FORMULAS = (
    *("y ~ x + (1 | g) + (1 | h)", "y ~ x + (1 + x | g)", "y ~ x + (1 + x | g) + (1 | h)"),
    *("y ~ x + z + (1 + x + z | g)", "y ~ x + (1 + x || g) + (1 | h)"),
    "y ~ x + (1 + x | g) + (1 + x | h)",
)

#: A fit this much above a reference is worse.
WORSE = 1e-6


@dataclass(frozen=True)
class Drawn:
    """A random design: its formula, its rows and whether it is fitted by REML."""

    formula: str
    rows: pd.DataFrame
    reml: bool


def drawn(seed: int, place: int) -> Drawn:
    """Return the design at a place of a seed's sequence; the six formulas take turns."""
    rng = np.random.default_rng([seed, place])
    formula = FORMULAS[place % len(FORMULAS)]
    n_g, n_h = rng.integers(4, 17), rng.integers(4, 10)
    n = int(rng.integers(max(5 * n_g, 20), 16 * n_g))
    g, h = rng.integers(0, n_g, n), rng.integers(0, n_h, n)
    g[: 2 * n_g] = np.tile(np.arange(n_g), 2)
    h[:n_h] = np.arange(n_h)
    x, z = rng.normal(size=n), rng.normal(size=n)
    y = 1 + 0.5 * x + rng.normal(size=n)
    for codes, n_levels in ((g, n_g), (h, n_h)):
        effects = rng.normal(size=(n_levels, 3)) @ _root(rng)
        y = y + effects[codes, 0] + effects[codes, 1] * x + effects[codes, 2] * z
    unit = 10.0 ** rng.integers(-2, 3) if rng.random() < 0.3 else 1.0
    rows = pd.DataFrame(
        {"y": y, "x": x * unit, "z": z, "g": [f"g{c:02d}" for c in g], "h": [f"h{c}" for c in h]}
    )
    return Drawn(formula, rows, bool(rng.random() < 0.5))


def _root(rng: np.random.Generator) -> Floats:
    """Return a root of a covariance of three effects: of any rank, none included."""
    rank = int(rng.integers(0, 5))
    size = rng.choice([0.3, 1.0, 2.0])
    root = np.zeros((3, 3))
    root[: min(rank, 3)] = size * rng.normal(size=(min(rank, 3), 3))
    remaining: Floats = root * (rng.random(3) < 0.8)
    return remaining


def least_of_many_starts(
    cross: CrossProducts, reml: bool, rng: np.random.Generator, n_starts: int
) -> float:
    """Return the least deviance that scipy finds over factors without bounds."""
    scale = natural_scale(cross)

    def function(at: Floats) -> tuple[float, Floats]:
        result = profile(cross, at / scale, reml=reml)
        return result.criterion, result.gradient / scale

    identity = [float(row == column) for block in cross.blocks for row, column in block.positions]
    starts = [np.array(identity)]
    for _ in range(n_starts):
        size = (
            10.0 ** rng.uniform(-2, 1, len(scale))
            if rng.random() < 0.5
            else rng.choice([0.05, 0.3, 1.0, 3.0])
        )
        starts.append(size * rng.normal(size=len(scale)))
    ends = []
    for start in starts:
        result = minimize(
            function,
            start,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 400, "ftol": 1e-12, "gtol": 1e-6},
        )
        ends.append((float(result.fun), result.x))
    value, at = min(ends, key=lambda end: end[0])
    options = {"maxiter": 1000, "ftol": 0.0, "gtol": 1e-10}
    polished = minimize(function, at, jac=True, method="L-BFGS-B", options=options)
    return min(value, float(polished.fun))
