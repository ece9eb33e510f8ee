"""The frames behind the figures and tables on L*, each named for its row."""

from __future__ import annotations

import pandas as pd

from analysis.delia2026.transition import constants
from analysis.delia2026.transition import published as published_l_star
from analysis.delia2026.transition.published import CHANGES, FIGURE, FITTED, HEADS
from analysis.store import Store
from analysis.tidy import prose

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

HEADERS = {
    "source": "L* from",
    "prediction": "Prediction",
    "models": "Models",
    "over_depth": "Mean error over L",
    "over_layer": "Mean error over L*",
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


def error_rows(store: Store) -> pd.DataFrame:
    """Return one row per set of L* and prediction, formatted for print."""
    errors = published_l_star.errors(store)
    return pd.DataFrame(
        {
            "source": errors["condition"].map(SOURCES),
            "prediction": errors["prediction"].map(PREDICTIONS),
            "models": errors["n_models"].map(prose.count),
            "over_depth": errors["error_over_depth"].map(lambda share: prose.percent(share, 1)),
            "over_layer": errors["error_over_layer"].map(lambda share: prose.percent(share, 1)),
        }
    )


#: Headings of the sets that give the printed constants.
CONSTANTS = {
    "models": "Models",
    "constant": "Constant",
    "by_depth": "Of L",
    "by_heads": "Of 1/H",
}


def constant_rows(store: Store) -> pd.DataFrame:
    """Return one row per set of published values that gives the printed constants, for print."""
    result = constants.every_set(constants.published_values(store))
    hits = result[result["prints"]] if len(result) else pd.DataFrame(columns=list(CONSTANTS))
    return pd.DataFrame(
        {
            "models": hits["models"],
            "constant": [prose.number(value, 3) for value in hits["constant"]],
            "by_depth": [prose.number(value, 4) for value in hits["by_depth"]],
            "by_heads": [prose.number(value, 2) for value in hits["by_heads"]],
        }
    )
