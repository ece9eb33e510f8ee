"""What the report shows of suites as recipes: tables, and numbers in plain units."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis.heritage.suites import components, nested, siblings
from analysis.heritage.suites.models import DEPTH, SCALE, SHAPE, base_models
from analysis.inference.association import regression
from analysis.store import Store
from analysis.tidy import prose

#: How a table names a column of the models.
NAMES = {
    "n_layers": "depth",
    "rho": "head density",
    "d_head": "head width",
    "log_parameters": "size",
}


ORDERS = {
    "term": "Enters",
    "condition": "Beside",
    "rows": "Rows",
    "change": "Change of R²",
    "f": "F",
    "p": "p (F)",
    "p_permutation": "p (permuted)",
}
SHARES = {
    "condition": "Given",
    "groups": "Levels of",
    "group": "Share of",
    "share": "Share",
    "interval": "95 % interval",
    "p": "p (ratio)",
}
PREDICTIONS = {
    "question": "Left out",
    "predictors": "Predictors",
    "r_squared": "Predictive R²",
    "interval": "95 % interval",
    "signs": "Right signs",
    "null": "By the mean",
}


@dataclass(frozen=True, slots=True)
class Views:
    """The frames of `analysis.heritage.suites` for one set of models.

    Attributes
    ----------
    models
        `models.base_models`.
    orders
        `nested.orders_of_entry`.
    tests
        `components.variance_tests`.
    shares
        `components.variance_shares`.
    deviations
        `components.deviations`.
    predictions
        `siblings.predictions`.
    without
        `components.deviation_without_each_suite`.
    """

    models: pd.DataFrame
    orders: pd.DataFrame
    tests: pd.DataFrame
    shares: pd.DataFrame
    deviations: pd.DataFrame
    predictions: pd.DataFrame
    without: Mapping[str, float]


def views(store: Store) -> Views:
    """Return all frames of the published penultimate gains."""
    models = base_models(store)
    return Views(
        models=models,
        orders=nested.orders_of_entry(models),
        tests=components.variance_tests(models, n_resamples=19_999),
        shares=components.variance_shares(models),
        deviations=components.deviations(models),
        predictions=siblings.predictions(models),
        without=components.deviation_without_each_suite(models),
    )


def order_rows(orders: pd.DataFrame) -> pd.DataFrame:
    """Return one row per entry, formatted: what enters beside what, F and permutation."""
    rows = orders.to_dict("records")
    return pd.DataFrame(
        {
            "term": [_named(row["term"]) for row in rows],
            "condition": [_named(row["condition"]) for row in rows],
            "rows": ["means of suites" if row["unit"] == "suite" else "models" for row in rows],
            "change": [prose.number(row["estimate"], 3) for row in rows],
            "f": [_f(row) for row in rows],
            "p": [prose.bare(prose.p_value(row["p_value_f"])) for row in rows],
            "p_permutation": [prose.bare(prose.p_value(row["p_value"])) for row in rows],
        }
    )


def share_rows(shares: pd.DataFrame, tests: pd.DataFrame) -> pd.DataFrame:
    """Return one row per share, formatted, with p of the restricted likelihood ratio."""
    keys = ["condition", "groups", "group"]
    both = shares.merge(tests[[*keys, "p_value"]], on=keys, how="left")
    rows = both.to_dict("records")
    return pd.DataFrame(
        {
            "condition": [str(row["condition"]) for row in rows],
            "groups": [str(row["groups"]).replace(" + ", " and ") for row in rows],
            "group": [str(row["group"]).replace(" + ", " plus ") for row in rows],
            "share": [prose.percent(row["variance_share"]) for row in rows],
            "interval": [prose.percent_interval(row["conf_low"], row["conf_high"]) for row in rows],
            "p": [prose.bare(prose.p_value(row["p_value"])) for row in rows],
        }
    )


def prediction_rows(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return one row per question and set of predictors, formatted."""
    rows = predictions.to_dict("records")
    asked = {
        siblings.SIBLING: "the model, its suite present",
        siblings.NEW_SUITE: "its whole suite",
        siblings.NEW_LAB: "all of its lab",
    }
    return pd.DataFrame(
        {
            "question": [asked[str(row["condition"])] for row in rows],
            "predictors": [_named(row["term"]) for row in rows],
            "r_squared": [prose.number(row["r_squared"]) for row in rows],
            "interval": [prose.interval(row["conf_low"], row["conf_high"]) for row in rows],
            "signs": [prose.share_of(int(row["n_hits"]), int(row["n_obs"])) for row in rows],
            "null": [prose.share_of(int(row["n_hits_null"]), int(row["n_obs"])) for row in rows],
        }
    )


def words(frames: Views) -> dict[str, str]:
    """Return the numbers of the section's sentences, as text; effects are in per cent of gain."""
    by_entry = _by_entry(frames.orders)
    suites, labs = by_entry["suite", "depth"], by_entry["lab", "depth"]
    inside = by_entry["suite", "depth + lab"]
    suites_of_lab = frames.models.groupby("lab")["suite"].nunique()
    size = by_entry["size", "depth + head density + head width + suite"]
    known = frames.predictions.set_index(["condition", "term"]).to_dict("index")
    sibling = known[siblings.SIBLING, f"suite + {DEPTH}"]
    new_suite = known[siblings.NEW_SUITE, f"lab + {DEPTH}"]
    new_lab = known[siblings.NEW_LAB, DEPTH]
    shares = frames.shares.set_index(["condition", "groups", "group"]).to_dict("index")
    both = shares["shape, depth, scale", "lab + suite", "lab + suite"]
    beside = shares["shape, depth, scale", "lab + suite", "lab"]
    ratio = frames.tests.set_index(["condition", "groups", "group"])["p_value"].to_dict()
    return {
        "suites_change": prose.number(suites["estimate"]),
        "suites_f": _f(suites),
        "suites_p": prose.p_value(suites["p_value"]),
        "labs_p": prose.p_value(labs["p_value"]),
        "labs_change": prose.number(labs["estimate"]),
        "inside_f": _f(inside),
        "inside_p": prose.p_value(inside["p_value"]),
        "several": prose.listing(suites_of_lab.index[suites_of_lab > 1].tolist()),
        "size_change": prose.number(size["estimate"], 3),
        "sibling": prose.number(sibling["r_squared"]),
        "sibling_signs": prose.share_of(int(sibling["n_hits"]), int(sibling["n_obs"])),
        "sibling_null": prose.count(int(sibling["n_hits_null"])),
        "new_suite": prose.number(new_suite["r_squared"]),
        "new_lab": prose.number(new_lab["r_squared"]),
        "sum_share": prose.percent(both["variance_share"]),
        "sum_interval": prose.percent_interval(both["conf_low"], both["conf_high"]),
        "lab_interval": prose.percent_interval(beside["conf_low"], beside["conf_high"]),
        "suite_ratio_p": prose.p_value(ratio["shape, depth, scale", "suite", "suite"]),
        "lab_ratio_p": prose.p_value(ratio["shape, depth, scale", "lab + suite", "lab"]),
        **_plain(frames),
    }


def _plain(entries: Views) -> dict[str, str]:
    """Return the effects of suites, labs and size in per cent of the gain."""
    known = entries.deviations.set_index("group").to_dict("index")
    suite, lab = known["suite"], known["lab"]
    changes = dict(entries.without)
    driver = min(changes, key=lambda left: changes[left])
    half = changes[driver] < suite["estimate"] / 2
    fixed = " + ".join([*SHAPE, DEPTH, SCALE, "suite"])
    coefficients = regression.fit(entries.models, f"log_gain ~ {fixed}").tidy()
    size = coefficients[coefficients["term"] == SCALE].to_dict("records")[0]
    return {
        "suite_percent": _percent(suite["estimate"]),
        "suite_percent_interval": f"{_percent(suite['conf_low'])} to "
        f"{_percent(suite['conf_high'])}",
        "lab_percent_interval": f"{_percent(lab['conf_low'])} and {_percent(lab['conf_high'])}",
        "driver": driver,
        "mostly": "mostly" if half else "not mainly",
        "without_driver": _percent(changes[driver]),
        "size_percent_low": _signed(size["conf_low"]),
        "size_percent_high": _signed(size["conf_high"]),
    }


def _percent(log_ratio: float) -> str:
    """Return a difference of log gains as per cent of the gain."""
    return prose.percent(float(np.expm1(log_ratio)))


def _signed(log_ratio: float) -> str:
    return f"{'+' if log_ratio > 0 else ''}{_percent(log_ratio)}"


def _by_entry(orders: pd.DataFrame) -> dict[tuple[str, str], Mapping[Hashable, Any]]:
    rows = orders[orders["unit"] == "model"].to_dict("records")
    return {(_named(row["term"]), _named(row["condition"])): row for row in rows}


def _named(terms: object) -> str:
    return " + ".join(NAMES.get(term, term) for term in str(terms).split(" + "))


def _f(row: Mapping[Hashable, Any]) -> str:
    if not np.isfinite(row["statistic"]):
        return prose.MISSING
    degrees = f"{row['df_numerator']:.0f}, {row['df_residual']:.0f}"
    return f"{prose.number(row['statistic'])} ({degrees})"
