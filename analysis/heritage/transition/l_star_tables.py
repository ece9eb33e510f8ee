"""The frames behind the figures and tables on L*, each named for its row."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.heritage.transition import constants
from analysis.heritage.transition import noise as l_star_noise
from analysis.heritage.transition import published as published_l_star
from analysis.heritage.transition.published import CHANGES, FIGURE, FITTED, HEADS
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
BIN = 0.02  # width of a bar of the histogram [share of depth]
DEPTH = 12  # depth at which the estimators are shown on noise [blocks]

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


def chance_bins(store: Store) -> pd.DataFrame:
    """Return one row per bin of the formula's error on noise: `low`, `high`, `probability`."""
    draws = published_l_star.chance(store)
    errors = draws.loc[draws["prediction"] == "formula", "error_over_depth"].to_numpy(dtype=float)
    edges = np.arange(0, errors.max() + BIN, BIN)
    counts, _ = np.histogram(errors, bins=edges)
    return pd.DataFrame({"low": edges[:-1], "high": edges[1:], "probability": counts / len(errors)})


def observed(store: Store) -> pd.DataFrame:
    """Return one row per prediction: `prediction` and its error in Fig. 5, `error` [of L]."""
    errors = published_l_star.errors(store)
    rows = errors[errors["condition"] == FIGURE]
    return pd.DataFrame(
        {"prediction": rows["prediction"].map(PREDICTIONS), "error": rows["error_over_depth"]}
    )


def noise_layers() -> pd.DataFrame:
    """Return one row per estimator and layer: how often it names the layer of pure noise."""
    rng = np.random.default_rng(published_l_star.SEED)
    chances = l_star_noise.layers_by_chance(DEPTH, rng=rng)
    return chances.assign(estimator=chances["method"].str.replace("_", " "))


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
