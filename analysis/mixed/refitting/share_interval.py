"""Profile intervals of the shares of variance that groups hold, one by one and added up.

With every random effect an intercept, a row's variance is the sum of the groups' variances and
the residual's, and a share is one of them over the sum. Held at a value, the restricted
likelihood is maximised over how the held share divides among its groups and the rest among the
others; the interval is where twice its logarithm falls short of the maximum by less than a
quantile of chi-squared on one degree of freedom. An end at 0 or 1 is where it never falls so far.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pandas as pd

from analysis.mixed.algebra.crossproducts import CrossProducts
from analysis.mixed.algebra.deviance import profile
from analysis.mixed.algebra.optimise import optimise
from analysis.mixed.inference.fitted import Fitted
from analysis.mixed.inference.fixed_effects import chi_squared_quantile
from analysis.mixed.refitting.variance_test import intercept_block
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, require_conf_level
from analysis.tidy.progress import progress

#: The residual keeps at least this share: without one the likelihood has no value.
LEAST_RESIDUAL = 1e-7

#: Where a search over how a share divides starts, as fractions of what is left to divide.
STARTS = (0.02, 0.5, 0.98)

#: Between groups, how they are joined in the name of a sum.
PLUS = " + "


def share_intervals(
    model: Fitted,
    groups: Sequence[Sequence[str]],
    *,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Return the share of variance of groups, alone or together, with profile intervals.

    Parameters
    ----------
    model
        A fit whose random effects are intercepts. Its restricted likelihood is used, whatever
        it was fitted by.
    groups
        Each entry names the groups whose shares are added: ``[["lab"], ["lab", "suite"]]``.
    conf_level
        Nominal coverage.

    Returns
    -------
    One row per entry: `group` (names joined by +), `variance_share` with `conf_low`, `conf_high`,
    `conf_level`, `n_obs`, `method`, `note`.

    Raises
    ------
    DesignError
        If an entry is empty or repeats a group, the model lacks it, or a random effect is not an
        intercept.

    Examples
    --------
    >>> from statsmodels.datasets import grunfeld
    >>> from analysis import mixed
    >>> rows = grunfeld.load_pandas().data
    >>> fitted = mixed.fit("invest ~ value + (1 | firm)", rows)
    >>> table = mixed.share_intervals(fitted, [["firm"]])
    >>> table[["conf_low", "conf_high"]].round(2).values.tolist()
    [[0.27, 0.76]]
    """
    require_conf_level(conf_level)
    cross = model.cross
    theta = model.solution.theta if model.reml else optimise(cross, reml=True).theta
    relative = np.append(theta**2, 1.0)
    estimated = relative / relative.sum()
    names = [block.group for block in model.design.blocks]
    rise = chi_squared_quantile(conf_level, 1)
    least = profile(cross, theta, reml=True).criterion
    rows = []
    for entry in progress(groups, "shares"):
        if not entry or len(set(entry)) < len(entry):
            raise DesignError(
                f"A sum of shares must name groups, each once; found {list(entry)}.",
                "Give a list such as ['lab', 'suite'].",
            )
        held = tuple(names.index(intercept_block(model, group).group) for group in entry)
        estimate = float(estimated[list(held)].sum())
        ends = _ends(cross, held, estimate, least + rise)
        rows.append((PLUS.join(entry), estimate, *ends))
    return glossary.table(
        rows,
        columns=["group", "variance_share", "conf_low", "conf_high"],
        conf_level=conf_level,
        n_obs=cross.n_obs,
        method="Profile of the restricted likelihood",
        note="",
    )


def _ends(
    cross: CrossProducts, held: tuple[int, ...], estimate: float, reached: float
) -> tuple[float, float]:
    """Return the joint shares below and above the estimate where the deviance reaches a value."""
    from scipy.optimize import brentq

    def excess(share: float) -> float:
        return _least_deviance(cross, held, share) - reached

    def end(bound: float) -> float:
        if abs(estimate - bound) < LEAST_RESIDUAL or excess(bound) <= 0:
            return float(round(bound))
        return float(brentq(excess, bound, estimate, xtol=1e-9))

    return end(0.0), end(1 - LEAST_RESIDUAL)


def _least_deviance(cross: CrossProducts, held: tuple[int, ...], share: float) -> float:
    """Return the least restricted deviance with the joint share of some groups at a value."""
    within = len(held) - 1
    beside = [place for place in range(len(cross.blocks)) if place not in held]

    def deviance(fractions: Floats) -> float:
        """Return it where the share and what is left divide by fractions (sticks)."""
        parts = np.empty(len(cross.blocks))
        parts[list(held)] = share * _sticks(fractions[:within])
        left = _sticks(fractions[within:]) * (1 - share)
        parts[beside] = left[:-1]
        residual = max(float(left[-1]), LEAST_RESIDUAL)
        return profile(cross, np.sqrt(parts / residual), reml=True).criterion

    if within + len(beside) == 0:
        return deviance(np.empty(0))
    starts = product(STARTS, repeat=within + len(beside))
    return min(_descend(deviance, start) for start in starts)


def _sticks(fractions: Floats) -> Floats:
    """Return parts that sum to one: each fraction takes its part of what is left."""
    left = np.cumprod(np.append(1.0, 1 - fractions))
    return np.append(fractions, 1.0) * left


def _descend(objective: Callable[[Floats], float], start: Sequence[float]) -> float:
    from scipy.optimize import minimize

    result = minimize(
        objective,
        np.array(start),
        method="L-BFGS-B",
        bounds=[(0.0, 1.0)] * len(start),
        options={"ftol": 1e-13, "gtol": 1e-7},
    )
    return float(result.fun)
