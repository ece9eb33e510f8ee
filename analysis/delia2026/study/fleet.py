"""The fleet of stage A: its runs, the band of chance, shares of every response, and checks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy

from analysis.delia2026.study import horizons, labs, registered, shares
from analysis.store import Store
from analysis.tidy import glossary

STUDY = "packages"

#: Commit that holds the analysis before the first run of stage A.
REGISTRATION = "8c45d15"

#: Method of the intervals of shares that hold together.
JOINT = "F inversion, joint"

#: Responses whose shares are drawn side by side, the primary one first.
DRAWN = ("excess", "first_log_gain", "last_log_gain", "share_negative")


#: Share of runs that the band of chance holds, and the same in words.
BAND = 0.95

#: Joint coverage of the intervals of shares, as registered.
JOINT_LEVEL = 0.95
HELD = f"{100 * BAND:.0f} of 100"

#: Tables drawn where the joint intervals alone are read.
_FEW = 100


@dataclass(frozen=True, slots=True)
class Band:
    """Where `BAND` of runs would lie if only the seed mattered, around the mean of recipes.

    ``sd`` is the standard deviation between seeds of one cell, pooled over cells, with ``df``
    degrees of freedom; all in units of the response.
    """

    middle: float
    low: float
    high: float
    sd: float
    df: int


def recipe_runs(store: Store, *, horizon: str = "equal steps") -> pd.DataFrame:
    """Return one row per run on the first text with heads of the usual width.

    Returns
    -------
    As `horizons.responses`, with `recipe`, `lab`, `status` (documented or range) and `geometry`;
    recipes in ascending order of their mean excess.

    Raises
    ------
    DesignError
        If no run of stage A is complete.
    """
    runs = horizons.responses(store, STUDY, horizon=horizon)
    runs = runs[(runs["text"] == "kjv") & (runs["heads"] == "w16")]
    order = runs.groupby("recipe")["excess"].mean().sort_values()
    place = {str(name): i for i, name in enumerate(order.index)}
    return runs.assign(place=runs["recipe"].map(place)).sort_values(
        ["place", "n_layers", "d_model", "seed"], ignore_index=True
    )


def band_of_chance(runs: pd.DataFrame) -> Band:
    """Return the band in which runs would lie if only the seed moved them.

    Parameters
    ----------
    runs
        One row per run: `cell`, `recipe` and `excess`.

    Raises
    ------
    DesignError
        If no cell has two runs.
    """
    known = runs.dropna(subset=["excess"])
    variance, df = horizons.between_seeds(known, "excess")
    horizons.need_seeds(df)
    sd = variance**0.5
    middle = float(known.groupby("recipe")["excess"].mean().mean())
    half = float(scipy.stats.t.ppf((1 + BAND) / 2, df)) * sd
    return Band(middle, middle - half, middle + half, sd, df)


def response_shares(store: Store, *, rng: np.random.Generator) -> pd.DataFrame:
    """Return the shares of recipe, geometry, both together and seed in each drawn response.

    Returns
    -------
    One row per response, source and method, as `shares.variance_shares` with `response`; none
    where no two networks differ in the response.
    """
    runs = registered.documented(store, horizons.STEPS)
    tables = []
    for response in DRAWN:
        values, _ = shares.cell_table(runs, response, "recipe", "geometry", registered.SHAPES)
        if np.ptp(values) == 0:
            continue
        table = shares.variance_shares(values, "recipe", shares.GEOMETRY, rng=rng)
        tables.append(table.assign(response=response))
    return pd.concat(tables, ignore_index=True)


def scale_and_shape(store: Store, *, rng: np.random.Generator) -> pd.DataFrame:
    """Return the shares in the excess with size and shape apart.

    Size sets the largest networks against the smallest; shape sets deep and narrow ones against
    shallow and wide ones of nearly equal parameters.

    Returns
    -------
    As `shares.variance_shares`.
    """
    runs = registered.documented(store, "equal steps")
    values, _ = shares.cell_table(runs, "excess", "recipe", "geometry", registered.SHAPES)
    return shares.variance_shares(
        values, "recipe", shares.SCALE_AND_SHAPE, n_resamples=_FEW, rng=rng
    )


def lab_share(runs: pd.DataFrame) -> pd.Series:
    """Return how much of what sets documented recipes apart goes with their labs.

    Parameters
    ----------
    runs
        From `recipe_runs`, at either horizon; recipes that reach it are compared by their mean
        excess, twins exchanged together.

    Returns
    -------
    The first row of `labs.lab_share`.
    """
    documented = runs[runs["status"] == "documented"]
    means = documented.groupby(["recipe", "lab"])["excess"].mean().dropna().reset_index()
    return labs.lab_share(means, "excess", twins=labs.TWINS).iloc[0]


def sizes(store: Store) -> pd.Series:
    """Return how small the networks of stage A are, and how long they were trained.

    Returns
    -------
    `smallest` and `largest` (parameters), `n_steps` and `n_bytes` (most of any network).
    """
    return store.query(
        """
        SELECT min(n_parameters) AS smallest, max(n_parameters) AS largest,
               max(n_steps)      AS n_steps,
               max(n_steps * CAST(recipe ->> '$.schedule.batch_size' AS BIGINT)
                           * CAST(recipe ->> '$.geometry.context' AS BIGINT)) AS n_bytes
          FROM study_run
         WHERE study = $study
        """,
        study=STUDY,
    ).iloc[0]


def without_each_recipe(store: Store, response: str, horizon: str) -> pd.DataFrame:
    """Return the share of the recipe without each documented recipe in turn, the smallest first.

    An interval of a share speaks of other seeds, not of which recipes were chosen.

    Parameters
    ----------
    store
        With the study's tables.
    response
        Column of `horizons.responses`.
    horizon
        Where networks are compared.

    Returns
    -------
    `level` (the recipe left out), `estimate`, `conf_low`, `conf_high`, `conf_level`, `null_value`
    (the upper limit of the shape), `holds` (what S1 and S2 ask: a lower limit above one half and
    above that), `n_groups` (recipes that are left). A recipe that is not complete at the horizon
    changes nothing and has no row.
    """
    runs = registered.documented(store, horizon)
    _, complete = shares.cell_table(runs, response, "recipe", "geometry", registered.SHAPES)
    rows = [
        {"level": name, **_share_of_recipe(runs[runs["recipe"] != name], response)}
        for name in complete
    ]
    return glossary.table(pd.DataFrame(rows).sort_values("estimate", ignore_index=True))


def _share_of_recipe(runs: pd.DataFrame, response: str) -> dict[str, object]:
    values, names = shares.cell_table(runs, response, "recipe", "geometry", registered.SHAPES)
    result = shares.sources(values, "recipe", shares.GEOMETRY)
    place = {source.name: i for i, source in enumerate(result)}
    ends = shares.joint_intervals(result, values.size, JOINT_LEVEL)
    (low, high), bar = ends[place["recipe"]], ends[place["geometry"]][1]
    return {
        "estimate": shares.estimated_shares(result, values.size)[place["recipe"]],
        "conf_low": low,
        "conf_high": high,
        "conf_level": JOINT_LEVEL,
        "null_value": bar,
        "holds": low > registered.HALF and low > bar,
        "n_groups": len(names),
    }
