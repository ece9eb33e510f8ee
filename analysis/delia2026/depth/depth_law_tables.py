"""The frames behind the report's comparison of laws of depth."""

from __future__ import annotations

import pandas as pd

from analysis.audit import evidence
from analysis.delia2026.depth import depth_law
from analysis.store import Store
from analysis.tidy import prose

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


def law_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `laws` as text; the difference to a constant is in thousandths."""
    rows = table.to_dict("records")
    differences = [
        f"{prose.number(1000 * row['estimate'], 1)} "
        f"{prose.interval(1000 * row['conf_low'], 1000 * row['conf_high'], 1)}"
        for row in rows
    ]
    return pd.DataFrame(
        {
            "definition": prose.once(table["metric"].map(DEFINITIONS)),
            "law": table["law"].map(LAWS),
            "delta": [prose.number(row["delta_aicc"], 1) for row in rows],
            "weight": [prose.floored(row["weight"]) for row in rows],
            "suite": [prose.number(row["rmse"], 3) for row in rows],
            "difference": [
                prose.MISSING if row["law"] == "constant" else text
                for row, text in zip(rows, differences, strict=True)
            ],
        }
    )


def better(table: pd.DataFrame, metric: str) -> str:
    """Return the laws that predict suites left out better than a constant does, as Markdown."""
    rows = table[(table["metric"] == metric) & (table["conf_high"] < 0)]
    return prose.listing(rows["law"].map(LAWS).tolist()) or "no law"
