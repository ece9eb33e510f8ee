"""What the report shows of suites as recipes: tables, and numbers in plain units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.delia2026.suites import components
from analysis.delia2026.suites.models import DEPTH, SCALE, SHAPE, base_models
from analysis.inference.association import regression
from analysis.store import Store
from analysis.tidy import prose
from analysis.tidy.columns import Column

#: The table of `shares_with_p`.
SHARES = {
    "condition": Column("Given", "condition"),
    "groups": Column("Levels of", "groups", lambda it: it.replace(" + ", " and ")),
    "group": Column("Component of", "group", lambda it: it.replace(" + ", " plus ")),
    "share": Column("Of the variance", "variance_share", prose.percent),
    "interval": Column("95 % interval", ["conf_low", "conf_high"], prose.percent_interval),
    "p": Column("p (ratio)", "p_value", prose.bare_p),
}


@dataclass(frozen=True, slots=True)
class Views:
    """The frames of `analysis.delia2026.suites` for one set of models."""

    models: pd.DataFrame  #: `models.base_models`.
    tests: pd.DataFrame  #: `components.variance_tests`.
    shares: pd.DataFrame  #: `components.variance_shares`.
    deviations: pd.DataFrame  #: `components.deviations`.
    without: Mapping[str, float]  #: `components.deviation_without_each_suite`.


def views(store: Store) -> Views:
    """Return all frames of the published penultimate gains."""
    models = base_models(store)
    return Views(
        models=models,
        tests=components.variance_tests(models),
        shares=components.variance_shares(models),
        deviations=components.deviations(models),
        without=components.deviation_without_each_suite(models),
    )


def shares_with_p(shares: pd.DataFrame, tests: pd.DataFrame) -> pd.DataFrame:
    """Return the shares, with p of the restricted likelihood ratio."""
    keys = ["condition", "groups", "group"]
    return shares.merge(tests[[*keys, "p_value"]], on=keys, how="left")


def words(frames: Views) -> dict[str, str]:
    """Return the numbers of the section's sentences, as text; effects are in per cent of gain."""
    shares = frames.shares.set_index(["condition", "groups", "group"]).to_dict("index")
    both = shares["shape, depth, scale", "lab + suite", "lab + suite"]
    beside = shares["shape, depth, scale", "lab + suite", "lab"]
    suite = shares["shape, depth, scale", "suite", "suite"]
    lab = shares["shape, depth, scale", "lab", "lab"]
    ratio = frames.tests.set_index(["condition", "groups", "group"])["p_value"].to_dict()
    return {
        "sum_share": prose.percent(both["variance_share"]),
        "sum_interval": prose.percent_interval(both["conf_low"], both["conf_high"]),
        "lab_interval": prose.percent_interval(beside["conf_low"], beside["conf_high"]),
        "lab_beside_share": prose.percent(beside["variance_share"]),
        "lab_alone_share": prose.percent(lab["variance_share"]),
        "lab_alone_p": prose.p_value(ratio["shape, depth, scale", "lab", "lab"]),
        "lab_depth_share": prose.percent(shares["depth", "lab", "lab"]["variance_share"]),
        "lab_depth_p": prose.p_value(ratio["depth", "lab", "lab"]),
        "suite_alone_share": prose.percent(suite["variance_share"]),
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
        "size_percent_low": prose.change(size["conf_low"]),
        "size_percent_high": prose.change(size["conf_high"]),
    }


def _percent(log_ratio: float) -> str:
    """Return a difference of log gains as per cent of the gain."""
    return prose.percent(float(np.expm1(log_ratio)))
