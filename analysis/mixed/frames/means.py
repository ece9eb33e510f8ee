"""Estimated marginal means of factors, and trends of numbers, with their differences.

As R's emmeans (Searle, Speed and Milliken 1980, American Statistician 34, 216): every combination
of the other factors' levels counts the same, columns of numbers are at their means over rows, and
the offset is at theirs.

Adjustments keep the chance of any false rejection among the contrasts at the level asked for.
Tukey's is for all pairs of means (Kramer's, where their variances differ); the multivariate t is
for any contrasts and uses their correlations (Hothorn, Bretz and Westfall 2008, Biometrical
Journal 50, 346); Dunnett's is that of comparisons with one level. `scipy.stats.dunnett` and
statsmodels' `pairwise_tukeyhsd` take independent samples, not a fit; the studentised range is
scipy's.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
import pandas as pd
from scipy import special

from analysis.mixed.algebra.design import is_factor
from analysis.mixed.frames.grid import Grid, average
from analysis.mixed.inference.fitted import Tested
from analysis.mixed.inference.fixed_effects import NAMES, ContrastTests, t_quantile
from analysis.mixed.reading.expression import shown
from analysis.mixed.reading.formula import terms
from analysis.mixed.reading.plan import factor_column
from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError, ColumnError, DesignError
from analysis.tidy.frame import Floats, nearest, require_conf_level, require_flags, require_option

ADJUSTMENTS = ("none", "holm", "bonferroni", "tukey", "dunnett", "mvt")

#: Directions over which the multivariate t is averaged; its tail along each is exact.
DIRECTIONS = 2**15

#: Cells of size in which directions stand for each other by their mean.
CELLS = 2**11

#: Eigenvalues of a correlation matrix below this are zero.
NULL = 1e-10


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is asked of means or slopes; of `pairs`, `control` and `weights` at most one.

    Attributes
    ----------
    pairs
        All differences.
    control
        The level that all others are compared with.
    weights
        Contrasts by name: a weight by level, the others being zero.
    by
        Factors within whose levels means are compared, each a family of its own.
    adjust
        How p-values and intervals of a family are adjusted, one of `ADJUSTMENTS`.
    """

    pairs: bool = False
    control: str | None = None
    weights: Mapping[str, Mapping[str, float]] | None = None
    by: tuple[str, ...] = ()
    adjust: str = "none"

    def __post_init__(self) -> None:
        require_flags(pairs=self.pairs)
        require_option("adjust", self.adjust, ADJUSTMENTS)
        if self.pairs + (self.control is not None) + (self.weights is not None) > 1:
            raise AnalysisError(
                "At most one of `pairs`, `control` and `contrasts` may be asked for.",
                "Ask once for each.",
            )
        if self.adjust == "dunnett" and self.control is None:
            raise DesignError(
                "Dunnett's adjustment takes comparisons with one level; none is named.",
                "Name it: control='...'; or ask for adjust='mvt'.",
            )


def marginal(
    model: Tested,
    grid: Grid,
    factors: str | Sequence[str],
    asked: Comparison,
    *,
    df: str | None,
    conf_level: float,
) -> pd.DataFrame:
    """Return the mean or the slope of a grid at every combination of levels, or their contrasts.

    Parameters are those of `Answers.means`, with the grid and what is asked of it.
    """
    require_conf_level(conf_level)
    method, instead = model.df_method(df)
    factors = (factors,) if isinstance(factors, str) else tuple(factors)
    rows, levels = average(grid, (*asked.by, *factors))
    families: dict[str, list[int]] = {}
    for place, level in enumerate(levels):
        families.setdefault(":".join(level[: len(asked.by)]), []).append(place)
    notes = [instead, *_interaction_notes(model, (*factors, *asked.by)), grid.note]
    frames = []
    for family, places in families.items():
        labels = [":".join(levels[place][len(asked.by) :]) for place in places]
        names, weights = _weights(grid, labels, asked)
        frame = family_tests(
            model,
            weights @ rows[places],
            names,
            method,
            adjust=asked.adjust,
            conf_level=conf_level,
            offset=weights.sum(axis=1) * grid.offset,
            n_means=len(places) if asked.pairs else None,
            notes=notes,
        )
        if asked.by:
            frame.insert(0, "level", family)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True).assign(
        method=f"Marginal {grid.what}; {NAMES[method]}"
    )


def _weights(grid: Grid, labels: list[str], asked: Comparison) -> tuple[list[str], Floats]:
    """Return names and weights of what is asked of some means, shape (contrasts, means)."""
    identity = np.eye(len(labels))
    if asked.pairs or asked.control is not None:
        if len(labels) < 2:
            raise DesignError(
                f"Differences must be between at least two; there is one {grid.what}, over all "
                "factors.",
                f"Name a factor: the fixed part has {list(grid.names)}.",
            )
        chosen = list(itertools.combinations(range(len(labels)), 2))
        if asked.control is not None:
            _require_levels([asked.control], labels)
            control = labels.index(asked.control)
            chosen = [(place, control) for place in range(len(labels)) if place != control]
        names = [f"{labels[i]} - {labels[j]}" for i, j in chosen]
        return names, np.array([identity[i] - identity[j] for i, j in chosen])
    if asked.weights is None:
        return labels, identity
    return list(asked.weights), weight_rows(asked.weights, labels)


def _require_levels(names: Iterable[str], labels: Sequence[str]) -> None:
    for name in names:
        if name not in labels:
            raise ColumnError(
                f"{name!r} must be one of those compared; the nearest is "
                f"{nearest(name, labels)!r}.",
                f"There are: {', '.join(labels)}.",
            )


def weight_rows(weights: Mapping[str, Mapping[str, float]], labels: Sequence[str]) -> Floats:
    """Return named contrasts as rows of weights, shape (contrasts, labels).

    Raises
    ------
    ColumnError
        If a name is no label, a weight no finite number, or a contrast has none.
    """
    rows = np.zeros((len(weights), len(labels)))
    for row, (name, each) in zip(rows, weights.items(), strict=True):
        _require_levels(each, labels)
        for label, weight in each.items():
            given: object = weight
            if isinstance(given, bool) or not isinstance(given, Real) or not np.isfinite(weight):
                raise ColumnError(
                    f"A weight must be a finite number; contrast {name!r} gives {label!r} "
                    f"{weight!r}.",
                    "Such as 1, or -0.5.",
                )
            row[labels.index(label)] = weight
        if not row.any():
            raise ColumnError(
                f"A contrast must have a weight other than 0; {name!r} has none.",
                f"There are: {', '.join(labels)}.",
            )
    if not len(rows):
        raise ColumnError(
            "At least one contrast must be asked for; there is none.",
            "Such as {'first - second': {'first': 1, 'second': -1}}.",
        )
    return rows


def family_tests(
    model: Tested,
    rows: Floats,
    labels: list[str],
    method: str,
    *,
    adjust: str,
    conf_level: float,
    offset: Floats | float = 0.0,
    n_means: int | None = None,
    notes: Sequence[str] = (),
) -> pd.DataFrame:
    """Return the tests of a family of linear contrasts of the fixed effects, shape (m, p)."""
    plain = model.fixed_tests.tests(rows, method)
    tests = ContrastTests(plain.estimates + offset, plain.std_errors, plain.df)
    covariance = rows @ model.fixed_tests.covariance(method) @ rows.T
    low, high, added, note = _together(tests, adjust, conf_level, n_means, covariance)
    return glossary.table(
        {
            "contrast": labels,
            **tests.columns,
            **added,
            "conf_low": low,
            "conf_high": high,
            "conf_level": conf_level,
            "n_obs": model.statistics.n_obs,
            "method": f"Linear contrast; {NAMES[method]}",
            "note": " ".join(each for each in (*notes, note) if each),
        }
    )


def _together(
    tests: ContrastTests, adjust: str, conf_level: float, n_means: int | None, covariance: Floats
) -> tuple[Floats, Floats, dict[str, object], str]:
    """Return ends of intervals, the columns of an adjustment, and what it is."""
    if adjust == "none":
        alone = "p-values are not adjusted for their number." if len(tests.estimates) > 1 else ""
        return *tests.interval(conf_level), {}, alone
    scale = np.sqrt(np.diag(covariance))
    correlation = np.asarray(covariance / np.outer(scale, scale), dtype=np.float64)
    p_values, half = adjusted(tests, adjust, conf_level, n_means=n_means, correlation=correlation)
    added = {"p_adjusted": p_values, "n_tests": len(p_values), "adjustment": adjust}
    kind = " by Bonferroni's inequality" if adjust == "holm" else ""
    return tests.estimates - half, tests.estimates + half, added, f"Intervals hold together{kind}."


def _interaction_notes(model: Tested, factors: Sequence[str]) -> list[str]:
    """Return a note for what interacts with the factors asked for and is averaged over."""
    averaged_over: dict[str, None] = {}
    for term in terms(model.formula.fixed):
        codes = [factor.code for factor in term.factors]
        names = {c: factor_column(c) if is_factor(c, model.statistics) else shown(c) for c in codes}
        if set(names.values()) & set(factors):
            averaged_over |= dict.fromkeys(name for name in names.values() if name not in factors)
    if not averaged_over:
        return []
    return [
        f"{' and '.join(factors)} interacts with {' and '.join(averaged_over)}: no one number "
        "holds for all of their values."
    ]


def adjusted(
    tests: ContrastTests,
    method: str,
    conf_level: float,
    *,
    n_means: int | None,
    correlation: Floats,
) -> tuple[Floats, Floats]:
    """Return p-values of a family, adjusted for their number, and half widths of its intervals.

    The intervals cover together. `n_means` counts the means of which the contrasts are all pairs,
    None when they are something else; the correlation of the contrasts has shape (m, m).
    """
    require_option("adjust", method, ADJUSTMENTS)
    size, df = np.abs(tests.statistics), tests.df
    if method in {"holm", "bonferroni"}:
        from analysis.inference.effects.multiplicity import adjusted_values

        number = len(size)
        p_values = (
            adjusted_values(tests.p_values)
            if method == "holm"
            else np.minimum(number * tests.p_values, 1.0)
        )
        return p_values, t_quantile(1 - (1 - conf_level) / (2 * number), df) * tests.std_errors
    tail = _tukey(n_means) if method == "tukey" else _largest_t(correlation)
    p_values = np.array([tail(t, each) for t, each in zip(size, df, strict=True)])
    reach = _critical(tail, df, conf_level)
    return p_values, reach * tests.std_errors


Tail = Callable[[float, float], float]


def _tukey(n_means: int | None) -> Tail:
    """Return the chance that the largest of all pairs' |t| reaches a value."""
    if n_means is None:
        raise DesignError(
            "Tukey's adjustment takes all pairs of means; these are not.",
            "Ask for pairs=True, or for adjust='mvt'.",
        )
    from scipy.stats import studentized_range

    def tail(t: float, df: float) -> float:
        return float(studentized_range.sf(t * np.sqrt(2), n_means, df))

    return tail


def _largest_t(correlation: Floats) -> Tail:
    """Return the chance that the largest |t| of correlated contrasts reaches a value.

    A normal vector is a direction times an independent length: along a direction the largest
    contrast is a multiple of the length, whose tail over an independent chi is F's. The average
    over quasi-random directions, always the same, leaves about five digits. The tail hardly bends
    within a cell of sizes, so the mean of those in it stands for all.
    """
    from scipy.stats import qmc

    values, vectors = np.linalg.eigh(correlation)
    usable = values > NULL * values.max()
    root = vectors[:, usable] * np.sqrt(values[usable])
    rank = root.shape[1]
    uniform = qmc.Sobol(rank, rng=np.random.default_rng(0)).random(DIRECTIONS)
    normal = special.ndtri(np.clip(uniform, 1e-12, 1 - 1e-12))
    directions = normal / np.linalg.norm(normal, axis=1, keepdims=True)
    sizes = np.abs(directions @ root.T).max(axis=1)
    cell = (sizes * CELLS).astype(int)
    count, total = np.bincount(cell), np.bincount(cell, sizes)
    weights, largest = count[count > 0] / DIRECTIONS, total[count > 0] / count[count > 0]

    def tail(t: float, df: float) -> float:
        squares = (t / largest) ** 2
        if np.isinf(df):
            return float(weights @ special.chdtrc(rank, squares))
        return float(weights @ special.fdtrc(rank, df, squares / rank))

    return tail


def _critical(tail: Tail, df: Floats, conf_level: float) -> Floats:
    """Return the value that the largest |t| exceeds with the chance left, for every df."""
    from scipy.optimize import brentq

    def excess(t: float, df: float) -> float:
        return tail(t, df) - (1 - conf_level)

    # The fewer df, the larger the value: that of more df lies beneath it, or as high but for
    # rounding, and mostly close.
    distinct, place = np.unique(-np.round(df, 6), return_inverse=True)
    values: list[float] = []
    for each_df in -distinct:
        low, high = (0.99 * values[-1], 1.02 * values[-1]) if values else (1e-6, 4.0)
        while excess(high, each_df) > 0:
            low, high = high, 2 * high
        values.append(brentq(excess, low, high, (each_df,), xtol=1e-8))
    return np.array(values)[place]
