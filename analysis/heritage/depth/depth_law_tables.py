"""The frames and words behind the report's comparison of laws of depth."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from analysis.audit import evidence
from analysis.heritage.depth import depth_bound, depth_law, equal_writes
from analysis.heritage.depth.laws_of_depth import (
    EQUAL_WRITES,
    GROWTH,
    LARGEST,
    LAWS_OF,
    PENULTIMATE,
)
from analysis.store import Store
from analysis.tidy import prose

#: Published definitions of gain for which laws are compared, as the figure heads them.
DEFINITIONS = {"gain_penultimate_block": PENULTIMATE, "gain_maximum": LARGEST}
SEED = 20260108
RESAMPLES = 499


def gains(store: Store) -> pd.DataFrame:
    """Return one row per base model and definition of gain; post-norm models are left out.

    Beside the published definitions there is the growth over blocks 1 to L - 2, without interval.
    """
    grown = equal_writes.totals(equal_writes.published_blocks(store))
    growth = grown.assign(definition=GROWTH, gain_mean=np.exp(grown["later_log_gain"]))
    parts = [
        evidence.without_post_norm(evidence.base_gains(store, metric)).assign(definition=words)
        for metric, words in DEFINITIONS.items()
    ]
    known = evidence.with_interval(pd.concat(parts, ignore_index=True))
    return pd.concat([known, growth[[name for name in growth if name in known]]], ignore_index=True)


def law_curves(models: pd.DataFrame) -> pd.DataFrame:
    """Return one row per definition, law and depth: the fitted gain."""
    parts = [
        depth_law.curves(rows, laws=LAWS_OF[str(words)]).assign(definition=words)
        for words, rows in models.groupby("definition", sort=False)
    ]
    return pd.concat(parts, ignore_index=True)


def law_rows(models: pd.DataFrame, definition: str) -> pd.DataFrame:
    """Return one row per law, formatted: fit, and error of predicting suites left out."""
    rows = models[models["definition"] == definition]
    laws = LAWS_OF[definition]
    fits = depth_law.compare(rows, laws=laws)
    errors, singly = (
        depth_law.prediction_errors(rows, group=group, laws=laws).set_index("law").to_dict("index")
        for group in ("suite", None)
    )
    return pd.DataFrame(
        {
            "law": [_printed(law) for law in fits["law"]],
            "delta": [prose.number(value, 1) for value in fits["delta_aicc"]],
            "weight": [prose.floored(value) for value in fits["weight"]],
            "model": [prose.number(singly[law]["rmse"], 3) for law in fits["law"]],
            "suite": [prose.number(errors[law]["rmse"], 3) for law in fits["law"]],
            "difference": [
                _versus_constant(errors[law]) if law != "constant" else prose.MISSING
                for law in fits["law"]
            ],
        }
    )


def law_words(models: pd.DataFrame, definition: str) -> dict[str, str]:
    """Return what can be said of the laws for one definition of gain, as text."""
    rows = models[models["definition"] == definition]
    laws = LAWS_OF[definition]
    fits = depth_law.compare(rows, laws=laws).set_index("law")
    deltas = fits["delta_aicc"].to_dict()
    predicted = depth_law.prediction_errors(rows, group="suite", laws=laws)
    errors = predicted.set_index("law").to_dict("index")
    better = [str(law) for law, error in errors.items() if error["conf_high"] < 0]
    worse = [str(law) for law, error in errors.items() if error["conf_low"] > 0]
    known = depth_law.coefficients(rows, cluster="suite", laws=laws)
    root = known[known["law"] == "C^(1/L)"].iloc[0]
    exponent = known[(known["law"] == "a L^b") & (known["term"] == "b")].iloc[0]
    return {
        "best": _printed(str(fits["aicc"].idxmin())),
        "claimed_delta": prose.number(deltas["10^(1/L)"], 1),
        "equal_place": _placed(deltas[EQUAL_WRITES]),
        "equal_rmse": prose.number(errors[EQUAL_WRITES]["rmse"], 3),
        "claimed_rmse": prose.number(errors["10^(1/L)"]["rmse"], 3),
        "constant_rmse": prose.number(errors["constant"]["rmse"], 3),
        "better": prose.listing([_printed(law) for law in better]) or "no law",
        "worse": prose.listing([_printed(law) for law in worse]) or "no law",
        "root": prose.number(root["estimate"]),
        "root_interval": prose.interval(root["conf_low"], root["conf_high"]),
        "root_df": prose.number(root["df"], 1),
        "exponent": prose.number(exponent["estimate"]),
        "exponent_interval": prose.interval(exponent["conf_low"], exponent["conf_high"]),
        "claimed_root": prose.number(float(np.log(10))),
        "models": prose.plural(len(rows), "model"),
        "suites": prose.plural(rows["suite"].nunique(), "suite"),
    }


def bound_rows(models: pd.DataFrame) -> pd.DataFrame:
    """Return one row per definition and way of counting, formatted: who exceeds 10^(1/L)."""
    parts = []
    of_one_block = models[models["definition"].isin(DEFINITIONS.values())]
    for words, rows in of_one_block.groupby("definition", sort=False):
        counted = depth_bound.violations(
            rows,
            rng=np.random.default_rng(SEED),
            lower="conf_low" if rows["conf_low"].notna().all() else None,
            n_resamples=RESAMPLES,
        )
        parts += [{"definition": words} | _counted(row) for row in counted.to_dict("records")]
    return pd.DataFrame(parts)


def _counted(row: Mapping[Hashable, Any]) -> dict[str, str]:
    return {
        "term": row["term"],
        "count": prose.share_of(row["n_violations"], row["n_obs"]),
        "interval": prose.percent_interval(row["conf_low"], row["conf_high"]),
        "method": row["method"].partition(" interval")[0],
    }


def _placed(delta: float) -> str:
    """Return how far a law lies above the best, or that it is the best.

    >>> _placed(0.0), _placed(3.72)
    ('are the best', 'lie 3.7 above the best')
    """
    return f"lie {prose.number(delta, 1)} above the best" if delta > 0 else "are the best"


def _versus_constant(row: Mapping[Hashable, Any]) -> str:
    """Return the difference of mean squared errors to the constant, in thousandths."""
    low, high = 1000 * row["conf_low"], 1000 * row["conf_high"]
    digits = 0 if max(-low, high) >= 1000 else 1
    return f"{prose.number(1000 * row['estimate'], digits)} {prose.interval(low, high, digits)}"


def _printed(law: str) -> str:
    """Return a law as Markdown: mathematics, or words, which break where a column is narrow.

    >>> _printed("a + b/L"), _printed("1"), _printed("constant")
    ('$a + b/L$', '$G = 1$', 'a constant')
    """
    if law in (EQUAL_WRITES, "constant"):
        return "a constant" if law == "constant" else law
    shown = {
        "10^(1/L)": "10^{1/L}",
        "C^(1/L)": "C^{1/L}",
        "1": "G = 1",
        "a L^b": "a L^b",
        "a + b ln L": r"a + b\,\ln L",
    }
    return f"${shown.get(law, law)}$"
