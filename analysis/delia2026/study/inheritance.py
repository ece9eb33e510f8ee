"""Networks trained further under another recipe: what is left of how they were born."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.delia2026.study import horizons, registered
from analysis.delia2026.study.shares import variance_shares
from analysis.store import Store
from analysis.tidy.errors import DesignError

STUDY = "inheritance"

#: Training on that no lab does: it is shown, and no part of the registered shares.
OF_NO_LAB = "as_muon"

#: What of a parent stands beside what became of it.
RESPONSES = ("excess", "last_log_gain")


def networks(store: Store) -> pd.DataFrame:
    """Return one row per network that was trained on, beside what it was before.

    Returns
    -------
    As `horizons.responses` at equal steps, with `birth`, `upbringing`, `lab` (of the birth) and
    each response of `RESPONSES` with ``_born`` behind it: that of the parent at its own end.

    Raises
    ------
    DesignError
        If no network was trained on whose parent is there.
    """
    runs = horizons.responses(store, STUDY)
    parents = runs[runs["parent_id"].isna()].set_index("study_run_id")[list(RESPONSES)]
    children = runs[runs["parent_id"].isin(parents.index)]
    if children.empty:
        raise DesignError(
            "A network must be trained further to be compared with its start; none was.",
            "Carry it out with: thermoscope collect study.",
        )
    beside = parents.add_suffix("_born")
    return children.merge(beside, left_on="parent_id", right_index=True).sort_values(
        ["birth", "upbringing", "seed"], ignore_index=True
    )


def shares(store: Store, *, rng: np.random.Generator) -> pd.DataFrame:
    """Return the shares of birth and upbringing in each response of `RESPONSES`.

    Returns
    -------
    One row per response, source and method, as `shares.variance_shares` with `response`.
    """
    tables = [
        registered.inherited_shares(store, response, rng).assign(response=response)
        for response in RESPONSES
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
    means = ours.groupby(["birth", "seed"])[list(RESPONSES)].mean()
    n_births = children["birth"].nunique()
    tables = []
    for response in RESPONSES:
        values = means[response].to_numpy(dtype=float).reshape(n_births, 1, -1)
        table = variance_shares(values, "birth", {}, rng=rng)
        tables.append(table.assign(response=response))
    return pd.concat(tables, ignore_index=True)


def turned(children: pd.DataFrame) -> pd.DataFrame:
    """Return in how many ways of training on with another recipe's settings a sign changes.

    What no lab does is left out, as it is of the shares.

    Parameters
    ----------
    children
        From `networks`.

    Returns
    -------
    One row per response (the index): `n_turned` (in every seed) and `n_turned_once` (in one at
    least) of `n_cells`, where a cell is a birth with an upbringing.
    """
    is_other = children["upbringing"] != "as_" + children["birth"]
    others = children[is_other & (children["upbringing"] != OF_NO_LAB)]
    rows = {}
    for response in RESPONSES:
        is_turned = others[response] * others[f"{response}_born"] < 0
        cells = is_turned.groupby([others["birth"], others["upbringing"]]).agg(["all", "any"])
        counts = (cells["all"].sum(), cells["any"].sum(), len(cells))
        rows[response] = dict(zip(("n_turned", "n_turned_once", "n_cells"), counts, strict=True))
    return pd.DataFrame.from_dict(rows, orient="index")
