"""The frames behind the figures and tables on L*, each named for its row."""

from __future__ import annotations

import pandas as pd

from analysis.delia2026.transition import constants
from analysis.delia2026.transition import published as published_l_star
from analysis.delia2026.transition.published import CHANGES, FIGURE, FITTED, HEADS
from analysis.store import Store
from analysis.tidy import prose
from analysis.tidy.columns import Column

#: Names of the published sets of L* in a legend.
SOURCES = {
    FIGURE: "Fig. 5, read off",
    FITTED: "script 20, head 0",
    HEADS: "script 20, all heads",
    CHANGES: "notebook 17",
}
PREDICTIONS = {
    "formula": "formula",
    "half_depth": "L / 2",
    "constant_share": "share of other suites",
}

#: The table of `published.errors`.
ERRORS = {
    "source": Column("L* from", "condition", SOURCES),
    "prediction": Column("Prediction", "prediction", PREDICTIONS),
    "models": Column("Models", "n_models", prose.count),
    "over_depth": Column("Mean error over L", "error_over_depth", lambda it: prose.percent(it, 1)),
    "over_layer": Column("Mean error over L*", "error_over_layer", lambda it: prose.percent(it, 1)),
}
#: The table of the sets that give the printed constants.
CONSTANTS = {
    "models": Column("Models", "models"),
    "constant": Column("Constant", "constant", lambda it: prose.number(it, 3)),
    "by_depth": Column("Of L", "by_depth", lambda it: prose.number(it, 4)),
    "by_heads": Column("Of 1/H", "by_heads", prose.number),
}


def shares(store: Store) -> pd.DataFrame:
    """Return one row per model and published L*: `model`, `source`, `share`, `formula` [of L]."""
    sets = published_l_star.readings(store)
    rows = pd.concat(
        [models.assign(source=SOURCES[name]) for name, models in sets.items()], ignore_index=True
    )
    return pd.DataFrame(
        {
            "model": prose.short_name(rows["model_id"]),
            "n_layers": rows["n_layers"],
            "source": rows["source"],
            "share": rows["estimate"] / rows["n_layers"],
            "formula": rows["formula"] / rows["n_layers"],
        }
    ).sort_values(["n_layers", "model", "source"], ignore_index=True)


def sets_of_constants(store: Store) -> pd.DataFrame:
    """Return one row per set of published values that gives the printed constants."""
    result = constants.every_set(constants.published_values(store))
    return result[result["prints"]] if len(result) else pd.DataFrame(columns=list(CONSTANTS))
