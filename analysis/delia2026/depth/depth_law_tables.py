"""The frames behind the report's comparison of laws of depth."""

from __future__ import annotations

import pandas as pd

from analysis.audit import evidence
from analysis.delia2026.depth import depth_law
from analysis.store import Store
from analysis.tidy import prose
from analysis.tidy.columns import Column

#: Published definitions of gain, as the figure heads them: the one plotted, the one of the law.
DEFINITIONS = {
    "gain_penultimate_block": "penultimate block",
    "gain_maximum": "largest of any block",
}
#: Laws as Markdown.
LAWS = {
    "10^(1/L)": "$10^{1/L}$",
    "1": "$G = 1$",
    "constant": "a constant",
    "C^(1/L)": "$C^{1/L}$",
    "a L^b": "$a L^b$",
}


def laws(store: Store) -> pd.DataFrame:
    """Return how each law fits, and predicts suites left out, by definition of gain.

    Base models count, post-norm ones are left out.

    Returns
    -------
    One row per definition (`metric`) and law: `delta_aicc`, `weight`, `rmse` [log ratio],
    `estimate` (mean squared error for suites left out less that of a constant) with its interval.
    """
    parts = []
    for metric in DEFINITIONS:
        models = evidence.without_post_norm(evidence.base_gains(store, metric))
        fits = depth_law.compare(models)[["law", "delta_aicc", "weight"]]
        errors = depth_law.prediction_errors(models)
        parts.append(fits.merge(errors, on="law").assign(metric=metric))
    return pd.concat(parts, ignore_index=True)


def _difference(law: str, *values: float) -> str:
    """Return a difference to the error of a constant, in thousandths."""
    estimate, low, high = (1000 * value for value in values)
    text = f"{prose.number(estimate, 1)} {prose.interval(low, high, 1)}"
    return prose.MISSING if law == "constant" else text


#: The table of `laws`; laws are Markdown.
COLUMNS = {
    "definition": Column("Gain", "metric", DEFINITIONS, once=True),
    "law": Column("Law", "law", LAWS),
    "delta": Column("ΔAICc", "delta_aicc", lambda it: prose.number(it, 1)),
    "weight": Column("Weight", "weight", prose.floored),
    "suite": Column("Error, suite out", "rmse", lambda it: prose.number(it, 3)),
    "difference": Column(
        "MSE less constant's, ×1000", ["law", "estimate", "conf_low", "conf_high"], _difference
    ),
}


def better(table: pd.DataFrame, metric: str) -> str:
    """Return the laws that predict suites left out better than a constant does, as Markdown."""
    rows = table[(table["metric"] == metric) & (table["conf_high"] < 0)]
    return prose.listing(rows["law"].map(LAWS).tolist()) or "no law"
