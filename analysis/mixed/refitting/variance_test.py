"""Restricted likelihood ratio test of a variance of zero.

A variance of zero lies at the edge of what it can be, and few levels leave the usual mixture of
chi-squareds far off. Where the group is the only one, the distribution of the ratio is known for
any number of levels (Crainiceanu and Ruppert 2004, Journal of the Royal Statistical Society B 66,
165): with mu the eigenvalues of Z' (I - X (X'X)^-1 X') Z and w independent standard normal,

    RLRT = sup over lambda of
           (n - p) log(1 + N / D) - sum_s log(1 + lambda mu_s),
    N = sum_s lambda mu_s w_s^2 / (1 + lambda mu_s),
    D = sum_s w_s^2 / (1 + lambda mu_s) + sum_(s > K) w_s^2.

Beside other groups the same distribution is used, as if the others' effects were known (Greven,
Crainiceanu, Kuechenhoff and Peters 2008, Journal of Computational and Graphical Statistics 17,
870): an approximation, whose size must be simulated at the design at hand.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.mixed.algebra.crossproducts import CrossProducts, assemble
from analysis.mixed.algebra.design import Block
from analysis.mixed.algebra.deviance import profile
from analysis.mixed.algebra.optimise import optimise
from analysis.mixed.inference.fitted import Fitted
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, generator, require_count, seed_of

#: Relative variances at which the ratio is looked for, over the inverse of the mean eigenvalue.
GRID = np.exp(np.linspace(np.log(1e-4), np.log(1e5), 220))

#: Eigenvalues below this share of the largest are zero.
NULL = 1e-10

#: Draws evaluated at a time: bounds the memory.
BATCH = 2000

#: Rises of the likelihood below this are rounding.
ROUNDING = 1e-8


def variance_test(
    model: Fitted, group: str, *, rng: np.random.Generator | None = None, n_resamples: int = 9999
) -> pd.DataFrame:
    """Return the restricted likelihood ratio test that the variance of a group is zero.

    Parameters
    ----------
    model
        A fit whose random effects are intercepts. Its restricted likelihood is used, whatever
        it was fitted by.
    group
        Grouping factor tested.
    rng
        Source of the draws.
    n_resamples
        Draws from the distribution of the ratio under the null hypothesis.

    Returns
    -------
    One row: `group`, `statistic` (rise of twice the restricted log-likelihood), `p_value`
    ((b + 1) / (B + 1)), `smallest_p`, `n_resamples`, `seed`, `n_groups` (levels), `n_obs`, `method`
    (which says whether the distribution is exact or approximate), `note`.

    Raises
    ------
    DesignError
        If the model has no such group, or its random effects are not intercepts.

    Examples
    --------
    >>> import numpy as np
    >>> from statsmodels.datasets import grunfeld
    >>> from analysis import mixed
    >>> rows = grunfeld.load_pandas().data
    >>> fitted = mixed.fit("invest ~ value + (1 | firm)", rows)
    >>> rng = np.random.default_rng(1)
    >>> mixed.variance_test(fitted, "firm", rng=rng, n_resamples=99)["p_value"].item()
    0.01
    """
    require_count("n_resamples", n_resamples)
    rng = generator(rng, "the ratio is drawn")
    tested = intercept_block(model, group)
    statistic = likelihood_ratio(model, group)
    alone = assemble(model.statistics, replace(model.design, blocks=(tested,)))
    drawn = null_ratios(eigenvalues(alone), alone.n_obs - alone.n_fixed, rng, n_resamples)
    others = [block.group for block in model.design.blocks if block is not tested]
    kind = f"approximate beside {', '.join(others)}" if others else "exact"
    return glossary.table(
        {
            "group": [group],
            "statistic": [statistic],
            "p_value": [(float((drawn >= statistic - ROUNDING).sum()) + 1) / (n_resamples + 1)],
            "smallest_p": [1 / (n_resamples + 1)],
            "n_resamples": [n_resamples],
            "seed": [seed_of(rng)],
            "n_groups": [len(tested.levels)],
            "n_obs": [alone.n_obs],
            "method": [f"Restricted likelihood ratio, {kind}"],
            "note": ["The variance is estimated as zero." if statistic == 0 else ""],
        }
    )


def intercept_block(model: Fitted, group: str) -> Block:
    """Return the block of a group, all blocks being intercepts."""
    blocks = {block.group: block for block in model.design.blocks}
    sloped = [name for name, block in blocks.items() if block.width > 1 or block.columns[0].basis]
    if sloped:
        raise DesignError(
            f"Every random effect must be an intercept; those of {', '.join(sloped)} are not.",
            "Fit the model with (1 | group) alone.",
        )
    if group not in blocks:
        raise DesignError(
            f"The group must be one of the model's; found {group!r}, it has {', '.join(blocks)}.",
            "Name one of these.",
        )
    return blocks[group]


def likelihood_ratio(model: Fitted, group: str) -> float:
    """Return by how much a group raises twice the restricted log-likelihood, at least 0."""
    theta = model.solution.theta if model.reml else optimise(model.cross, reml=True).theta
    whole = profile(model.cross, theta, reml=True).criterion
    others = tuple(block for block in model.design.blocks if block.group != group)
    if not others:
        without = profile(model.cross, np.zeros(1), reml=True).criterion
    else:
        cross = assemble(model.statistics, replace(model.design, blocks=others))
        without = profile(cross, optimise(cross, reml=True).theta, reml=True).criterion
    rise = without - whole
    return rise if rise > ROUNDING else 0.0


def eigenvalues(alone: CrossProducts) -> Floats:
    """Return the eigenvalues above zero of Z' (I - X (X'X)^-1 X') Z for a model of one group."""
    levels = len(alone.diagonal)
    with_fixed = alone.cross[:, 0, : alone.n_fixed]
    fixed = alone.rest[: alone.n_fixed, : alone.n_fixed]
    inner = np.zeros((levels, levels))
    np.fill_diagonal(inner, alone.diagonal[:, 0, 0])
    values = np.linalg.eigvalsh(inner - with_fixed @ np.linalg.solve(fixed, with_fixed.T))
    return np.asarray(values[values > NULL * values.max()], dtype=np.float64)


def null_ratios(values: Floats, df: int, rng: np.random.Generator, n_resamples: int) -> Floats:
    """Return draws of the ratio under a variance of zero, shape (B,); see the module.

    The eigenvalues mu have shape (K,), and df is n - p.
    """
    grid = GRID / values.mean()
    shrunk = 1 / (1 + np.outer(values, grid))
    penalty = np.log1p(np.outer(values, grid)).sum(axis=0)
    ratio = np.empty(n_resamples)
    for start in range(0, n_resamples, BATCH):
        size = min(BATCH, n_resamples - start)
        squares = rng.standard_normal((size, len(values))) ** 2
        left = rng.chisquare(df - len(values), size) if df > len(values) else np.zeros(size)
        below = squares @ shrunk + left[:, None]
        above = squares @ (1 - shrunk)
        ratios = df * np.log1p(above / below) - penalty
        ratio[start : start + size] = _peaks(ratios)
    return ratio


def _peaks(ratios: Floats) -> Floats:
    """Return the top of the parabola through the best point of each row and its neighbours."""
    best = np.clip(ratios.argmax(axis=1), 1, ratios.shape[1] - 2)
    rows = np.arange(len(ratios))
    low, mid, high = (ratios[rows, best + step] for step in (-1, 0, 1))
    bend = low - 2 * mid + high
    is_peak = (bend < 0) & (mid >= low) & (mid >= high)
    lifted = mid - (high - low) ** 2 / (8 * np.where(is_peak, bend, -1.0))
    tops: Floats = np.where(is_peak, lifted, np.maximum(np.maximum(low, mid), high))
    return np.maximum(tops, 0.0)
