"""What the central numbers owe to single suites: each again, with every suite left out in turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import pandas as pd

from analysis import mixed
from analysis.heritage.sign.exchange import NAMED_LAB
from analysis.heritage.suites import components, siblings
from analysis.heritage.suites.models import DEPTH, SCALE, SHAPE
from analysis.inference.resampling.freedman_lane import freedman_lane
from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError

#: What is left out in the row of the whole.
NOTHING = "none"

SEED, PERMUTATIONS, DRAWS = 20261122, 999, 4999

Number = Mapping[str, float]


def without_each_suite(models: pd.DataFrame) -> pd.DataFrame:
    """Return the central numbers from all models, and without each suite.

    Parameters
    ----------
    models
        As `models.base_models` returns them.

    Returns
    -------
    One row per number and suite left out, ``none`` first: `term` (the number), `left_out`,
    `estimate`, `conf_low`, `conf_high` and `p_value` where the number has them, `change` (against
    all models), `n_obs`, `n_suites`, `note`. What cannot be computed is missing, with the reason.
    """
    rows = []
    for left in (NOTHING, *sorted(models["suite"].unique())):
        remaining = models[models["suite"] != left].reset_index(drop=True)
        for name, number in NUMBERS.items():
            row: dict[str, object] = {"term": name, "left_out": left, "note": ""}
            try:
                row |= number(remaining)
            except AnalysisError as error:
                row["note"] = error.problem
            rows.append(row | {"n_obs": len(remaining), "n_suites": remaining["suite"].nunique()})
    table = pd.DataFrame(rows)
    columns = ["term", "left_out", "estimate", "conf_low", "conf_high", "p_value"]
    result = table[[*columns, "n_obs", "n_suites", "note"]]
    whole = result[result["left_out"] == NOTHING].set_index("term")["estimate"]
    result = result.assign(change=result["estimate"] - result["term"].map(whole))
    glossary.checked(result.columns)
    return result


def _given_depth(models: pd.DataFrame, *, group: str) -> Number:
    """Return the change of R squared by a group beside depth; p by permutation."""
    row = freedman_lane(
        models,
        f"log_gain ~ {DEPTH}",
        f"log_gain ~ {DEPTH} + {group}",
        rng=np.random.default_rng(SEED),
        n_permutations=PERMUTATIONS,
    ).iloc[0]
    return {"estimate": float(row["estimate"]), "p_value": float(row["p_value"])}


def _suite_share(models: pd.DataFrame) -> Number:
    """Return the share of suites given shape, depth and scale; p by the exact ratio."""
    model = components.fitted(models, (*SHAPE, DEPTH, SCALE), (components.SUITE,))
    share = mixed.share_intervals(model, [[components.SUITE]]).iloc[0]
    tested = mixed.variance_test(
        model, components.SUITE, rng=np.random.default_rng(SEED), n_resamples=DRAWS
    ).iloc[0]
    return {
        "estimate": float(share["variance_share"]),
        "conf_low": float(share["conf_low"]),
        "conf_high": float(share["conf_high"]),
        "p_value": float(tested["p_value"]),
    }


def _deviation(models: pd.DataFrame) -> Number:
    """Return the standard deviation among suites; its share has the interval."""
    model = components.fitted(models, (DEPTH,), (components.SUITE,))
    pars = model.tidy(["ran_pars"]).set_index("group")
    return {"estimate": float(pars["estimate"].to_dict()[components.SUITE])}


def _sibling(models: pd.DataFrame) -> Number:
    """Return the predictive R squared of suite with depth for a sibling."""
    row = siblings.answer(models, siblings.SIBLING, (components.SUITE, DEPTH))
    return {
        "estimate": float(row["r_squared"]),
        "conf_low": float(row["conf_low"]),
        "conf_high": float(row["conf_high"]),
    }


def _depth_within(models: pd.DataFrame) -> Number:
    """Return the slope of log gain on depth within suites, per ten blocks."""
    tens = models.assign(tens=models[DEPTH] / 10)
    fitted = mixed.fit("log_gain ~ tens + (1 | suite)", tens).tidy(["fixed"])
    row = fitted[fitted["term"] == "tens"].iloc[0]
    return {name: float(row[name]) for name in ("estimate", "conf_low", "conf_high", "p_value")}


def _named_lab(models: pd.DataFrame) -> Number:
    """Return the difference of the named lab from the others beside depth, suites random."""
    marked = models.assign(named=(models["lab"] == NAMED_LAB).astype(float))
    fitted = mixed.fit(f"log_gain ~ named + {DEPTH} + (1 | suite)", marked).tidy(["fixed"])
    row = fitted[fitted["term"] == "named"].iloc[0]
    return {name: float(row[name]) for name in ("estimate", "conf_low", "conf_high", "p_value")}


#: The central numbers, by name.
NUMBERS: dict[str, Callable[[pd.DataFrame], Number]] = {
    "suites given depth, change of R²": partial(_given_depth, group=components.SUITE),
    "labs given depth, change of R²": partial(_given_depth, group=components.LAB),
    "share of suites given shape, depth, scale": _suite_share,
    "deviation among suites given depth [nat]": _deviation,
    "predictive R² of a sibling": _sibling,
    "depth within suites [nat per 10 blocks]": _depth_within,
    "EleutherAI less others at equal depth [nat]": _named_lab,
}
