"""How much of the variance among a study's cells each source makes, and how much is chance.

The levels are those chosen, not a sample of labs or shapes: effects are fixed, and a share is
one of the finite population of cells. With N runs and independent normal errors of variance s^2,
a source of f degrees of freedom has the sum of squares N theta^2 + f s^2 on average, theta^2
being the mean over cells of its squared effects. Its share is theta^2 over the sum of all theta^2
and s^2.

The interval inverts the noncentral F of each source, N theta^2 / s^2 being its noncentrality, at a
level that Bonferroni makes joint; a share is then bounded by the ends of all. That is conservative.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.inference.effects.noncentral import noncentrality_f
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats

#: Contrasts of four shapes in the order (shallow, narrow), (deep, narrow), (shallow, wide),
#: (deep, wide). Scale sets the largest against the smallest, shape the deep and narrow against
#: the shallow and wide, which have nearly equal parameters.
SCALE_AND_SHAPE: Mapping[str, Floats] = {
    "scale": np.array([[-1.0, 0.0, 0.0, 1.0]]) / np.sqrt(2),
    "shape": np.array([[0.0, 1.0, -1.0, 0.0]]) / np.sqrt(2),
    "scale:shape": np.array([[1.0, -1.0, -1.0, 1.0]]) / 2,
}

#: The same three together.
GEOMETRY: Mapping[str, Floats] = {"geometry": np.concatenate(list(SCALE_AND_SHAPE.values()))}

CHANCE = "seed"


@dataclass(frozen=True, slots=True)
class Source:
    """A source of variance: its name, sum of squares, degrees of freedom and effects by cell."""

    name: str
    sum_of_squares: float
    df: int
    effects: Floats


def all_contrasts(name: str, n_levels: int) -> Mapping[str, Floats]:
    """Return all differences between levels as one source: an orthonormal basis of them."""
    centred = np.eye(n_levels) - 1 / n_levels
    return {name: np.linalg.svd(centred)[2][: n_levels - 1]}


def cell_table(
    runs: pd.DataFrame, response: str, row: str, column: str, columns: list[str]
) -> tuple[Floats, list[str]]:
    """Return the responses (row, column, seed), and the names of the rows.

    A row that lacks a run in some column, or whose response is missing there, is left out whole:
    the decomposition needs the same number of runs in every cell.

    Raises
    ------
    DesignError
        If fewer than two rows are complete, or a cell holds one run.
    """
    known = runs[runs[column].isin(columns)].dropna(subset=[response])
    counts = known.groupby([row, column]).size().unstack(fill_value=0).reindex(columns=columns)  # noqa: PD010
    n_seeds = int(counts.to_numpy(dtype=float, na_value=0).max()) if len(counts) else 0
    complete = [str(name) for name in counts.index[(counts == n_seeds).all(axis=1)]]
    if len(complete) < 2 or n_seeds < 2:
        raise DesignError(
            f"A decomposition must have two complete {row} levels and two seeds in every cell; "
            f"found {len(complete)} and {n_seeds}.",
            "Train the runs that are missing, or look at the cells one by one.",
        )
    table = np.empty((len(complete), len(columns), n_seeds))
    for i, name in enumerate(complete):
        for j, level in enumerate(columns):
            cell = known[(known[row] == name) & (known[column] == level)]
            table[i, j] = cell.sort_values("seed")[response].to_numpy()
    return table, complete


def sources(values: Floats, row: str, contrasts: Mapping[str, Floats]) -> list[Source]:
    """Return the sources of variance of a table (row, column, seed), chance last.

    Parameters
    ----------
    values
        Responses.
    row
        Name of the factor that the rows are.
    contrasts
        By source: orthonormal contrasts among the columns, (df, column). Each gives a source of its
        own and one with the rows; together they must span all differences between columns.
    """
    n_rows, _, n_seeds = values.shape
    means = values.mean(2)
    of_rows = means.mean(1, keepdims=True) - means.mean()
    spread = np.broadcast_to(of_rows, means.shape)
    items = [_source(row, spread, n_rows - 1, n_seeds)]
    for name, contrast in contrasts.items():
        within = means @ contrast.T @ contrast
        main = np.broadcast_to(within.mean(0), means.shape)
        items.append(_source(name, main, len(contrast), n_seeds))
        apart = within - main
        items.append(_source(f"{row}:{name}", apart, len(contrast) * (n_rows - 1), n_seeds))
    residual = values - means[:, :, None]
    df = means.size * (n_seeds - 1)
    return [*items, Source(CHANCE, float((residual**2).sum()), df, np.zeros_like(means))]


def _source(name: str, effects: Floats, df: int, n_seeds: int) -> Source:
    return Source(name, float(n_seeds * (effects**2).sum()), df, effects)


def variance_shares(
    values: Floats,
    row: str,
    contrasts: Mapping[str, Floats],
    *,
    conf_level: float = 0.95,
    n_resamples: int = 2000,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Return the share of each source in the variance among runs, twice with an interval.

    Parameters
    ----------
    values, row, contrasts
        As of `sources`.
    conf_level
        Joint coverage of the intervals of the F inversion; coverage of each of the bootstrap.
    n_resamples
        Tables drawn for the parametric bootstrap: cell means shrunk to the estimated variances,
        and normal errors.
    rng
        Draws them.

    Returns
    -------
    Two rows per source, by `method`: `term`, `estimate` (the share, not negative), `conf_low`,
    `conf_high`, `conf_level`, `sd` (root mean square of its effects over cells, of the errors for
    chance, in units of the response), `df`, `statistic` (F), `p_value`, `n_obs`.
    """
    outcome = sources(values, row, contrasts)
    rows = []
    drawn = _drawn_shares(values, row, contrasts, n_resamples, rng)
    alpha = (1 - conf_level) / 2
    low, high = np.quantile(drawn, [alpha, 1 - alpha], axis=0)
    for method, ends in (
        ("F inversion, joint", joint_intervals(outcome, values.size, conf_level)),
        ("parametric bootstrap", list(zip(low.tolist(), high.tolist(), strict=True))),
    ):
        for source, share, (conf_low, conf_high) in zip(
            outcome, estimated_shares(outcome, values.size), ends, strict=True
        ):
            rows.append(
                {
                    "term": source.name,
                    "estimate": share,
                    "conf_low": conf_low,
                    "conf_high": conf_high,
                    "conf_level": conf_level,
                    **_test(source, outcome[-1], values.size),
                    "method": method,
                }
            )
    return glossary.table(rows)


def _test(source: Source, chance: Source, n_obs: int) -> dict[str, float]:
    """Return spread of the effects, F and p of a source; of the errors for chance itself."""
    from scipy import stats

    error = chance.sum_of_squares / chance.df
    if source is chance:
        return {"sd": error**0.5, "df": source.df, "statistic": np.nan, "p_value": np.nan,
                "n_obs": n_obs}  # fmt: skip
    statistic = source.sum_of_squares / source.df / error
    variance = max(0.0, source.sum_of_squares - source.df * error) / n_obs
    return {
        "sd": variance**0.5,
        "df": source.df,
        "statistic": statistic,
        "p_value": float(stats.f.sf(statistic, source.df, chance.df)),
        "n_obs": n_obs,
    }


def estimated_shares(anova: list[Source], n_obs: int) -> list[float]:
    """Return the share of each source: theta^2 without bias, at least 0, over their sum."""
    error = anova[-1].sum_of_squares / anova[-1].df
    parts = [max(0.0, s.sum_of_squares - s.df * error) / n_obs for s in anova[:-1]]
    total = sum(parts) + error
    return [part / total for part in (*parts, error)]


def joint_intervals(
    anova: list[Source], n_obs: int, conf_level: float
) -> list[tuple[float, float]]:
    """Return intervals of the shares that hold together with the level, conservatively."""
    *effects, chance = anova
    error = chance.sum_of_squares / chance.df
    level = 1 - (1 - conf_level) / len(effects)
    ends = [
        noncentrality_f(s.sum_of_squares / s.df / error, s.df, chance.df, level) for s in effects
    ]
    all_low, all_high = (sum(end[side] for end in ends) for side in (0, 1))
    shares = [
        (_share(low, all_high - high + n_obs), _share(high, all_low - low + n_obs))
        for low, high in ends
    ]
    return [*shares, (n_obs / (all_high + n_obs), n_obs / (all_low + n_obs))]


def _share(part: float, others: float) -> float:
    return part / (part + others)


def _drawn_shares(
    values: Floats,
    row: str,
    contrasts: Mapping[str, Floats],
    n_resamples: int,
    rng: np.random.Generator,
) -> Floats:
    """Return shares of tables drawn from the fitted cells, (resample, source)."""
    result = sources(values, row, contrasts)
    error = result[-1].sum_of_squares / result[-1].df
    cells = np.full(values.shape[:2], values.mean())
    for source in result[:-1]:
        remaining = max(0.0, source.sum_of_squares - source.df * error)
        factor = np.sqrt(remaining / source.sum_of_squares) if source.sum_of_squares > 0 else 0.0
        cells = cells + factor * source.effects
    drawn = []
    for _ in range(n_resamples):
        table = cells[:, :, None] + rng.normal(0.0, error**0.5, values.shape)
        drawn.append(estimated_shares(sources(table, row, contrasts), values.size))
    return np.array(drawn)
