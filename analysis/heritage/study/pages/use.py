"""Does growth of the stream go with something that people use? The held-out loss of the fleet."""

from __future__ import annotations

import pandas as pd

from analysis.heritage.study.fleet import recipe_runs
from analysis.inference.association.correlation import correlate
from analysis.store import Store
from analysis.tidy.errors import DesignError

#: The shape in which every recipe of the fleet is trained.
SHAPE = "l3d64"

#: Growth, as three definitions of it.
GROWTH = ("excess", "last_log_gain", "penultimate_log_gain")

_FEWEST = 5


def loss_and_growth(store: Store) -> pd.DataFrame:
    """Return how growth and held-out loss rank recipes of one shape, text and number of steps.

    Recipes are the units: runs that differ in the seed alone are averaged first.

    Returns
    -------
    One row per definition of growth, as `correlate` by Spearman, `term` being the definition.

    Raises
    ------
    DesignError
        If fewer than five recipes are trained in that shape.
    """
    runs = recipe_runs(store)
    means = runs[runs["geometry"] == SHAPE].groupby("recipe")[["loss", *GROWTH]].mean()
    if len(means) < _FEWEST:
        raise DesignError(
            f"Ranks must be those of {_FEWEST} recipes or more; {len(means)} are trained.",
            "Train the runs that are missing.",
        )
    items = [
        correlate(means.reset_index(), x=name, y="loss", method="spearman").assign(term=name)
        for name in GROWTH
    ]
    return pd.concat(items, ignore_index=True)
