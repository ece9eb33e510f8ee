"""Networks trained further under another recipe: what is left of how they were born."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.heritage.study import horizons, registered
from analysis.heritage.study.shares import variance_shares
from analysis.store import Store
from analysis.tidy.errors import DesignError

STUDY = "inheritance"

#: Training on that no lab does: it is shown, and no part of the registered shares.
OF_NO_LAB = "as_muon"

#: What of a parent stands beside what became of it.
KEPT = ("excess", "last_log_gain")


def networks(store: Store) -> pd.DataFrame:
    """Return one row per network that was trained on, beside what it was before.

    Returns
    -------
    As `horizons.responses` at equal steps, with `birth`, `upbringing`, `lab` (of the birth) and
    each response of `KEPT` with ``_born`` behind it: that of the parent at its own end.

    Raises
    ------
    DesignError
        If no network was trained on whose parent is there.
    """
    runs = horizons.responses(store, STUDY)
    parents = runs[runs["parent_id"].isna()].set_index("study_run_id")[list(KEPT)]
    children = runs[runs["parent_id"].isin(parents.index)]
    if children.empty:
        raise DesignError(
            "A network must have been trained on to be compared with its birth; none was.",
            "Carry it out with: thermoscope collect study.",
        )
    beside = parents.add_suffix("_born")
    return children.merge(beside, left_on="parent_id", right_index=True).sort_values(
        ["birth", "upbringing", "seed"], ignore_index=True
    )


def shares(store: Store, *, rng: np.random.Generator) -> pd.DataFrame:
    """Return the shares of birth and upbringing in each response of `KEPT`.

    Returns
    -------
    One row per response, source and method, as `shares.variance_shares` with `response`.
    """
    tables = [
        registered.inherited_shares(store, response, rng).assign(response=response)
        for response in KEPT
    ]
    return pd.concat(tables, ignore_index=True)


def between_parents(children: pd.DataFrame, *, rng: np.random.Generator) -> pd.DataFrame:
    """Return the share of birth among parents, each with the mean of what became of it.

    Networks that were trained on from one parent share what the seed made of it, and the shares of
    `shares` count them as independent, as registered. Here the parents are the units.

    Parameters
    ----------
    children
        From `networks`.
    rng
        Draws the bootstrap.

    Returns
    -------
    One row per response, source and method, as `shares`.
    """
    ours = children[children["upbringing"] != OF_NO_LAB]
    means = ours.groupby(["birth", "seed"])[list(KEPT)].mean()
    n_births = children["birth"].nunique()
    tables = []
    for response in KEPT:
        values = means[response].to_numpy(dtype=float).reshape(n_births, 1, -1)
        table = variance_shares(values, "birth", {}, rng=rng)
        tables.append(table.assign(response=response))
    return pd.concat(tables, ignore_index=True)


def turned(children: pd.DataFrame, responses: Sequence[str] = KEPT) -> pd.DataFrame:
    """Return in how many ways of training on a response changes its sign.

    What no lab does is left out, as it is of the shares.

    Parameters
    ----------
    children
        From `networks`.
    responses
        Columns of it.

    Returns
    -------
    One row per response and kind: `response`, `is_own` (under its own recipe again), `n_turned`
    (in every seed) and `n_turned_once` (in one at least) of `n_cells`, where a cell is a birth with
    an upbringing.
    """
    ours = children[children["upbringing"] != OF_NO_LAB]
    rows = []
    for response in responses:
        cells = ours.assign(
            response=response,
            is_turned=ours[response] * ours[f"{response}_born"] < 0,
            is_own=ours["upbringing"] == "as_" + ours["birth"],
        ).groupby(["response", "is_own", "birth", "upbringing"])["is_turned"]
        kinds = cells.agg(["all", "any"]).groupby(["response", "is_own"])
        counts = {
            "n_turned": kinds["all"].sum(),
            "n_turned_once": kinds["any"].sum(),
            "n_cells": kinds.size(),
        }
        rows.append(pd.DataFrame(counts).reset_index())
    return pd.concat(rows, ignore_index=True)
