"""Tables of the controlled study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.delia2026.study.fleet import JOINT
from analysis.delia2026.study.pages.names import INGREDIENTS, RESPONSES, SOURCES
from analysis.delia2026.study.verdict import UNTOLD
from analysis.tidy import prose
from analysis.tidy.columns import Column

OUTCOMES = {
    "no": "No.",
    "statement": "Registered statement",
    "rule": "Rule",
    "predicted": "Predicted",
    "steps": "At equal steps",
    "loss": "At equal loss",
    "number": "Estimate; against",
}
#: The table of the effects of `screening.main_effects`.
EFFECTS = {
    "ingredient": Column(
        "What the high level does", "term", lambda it: INGREDIENTS.get(it.removesuffix("_level"))
    ),
    "effect": Column("Change of growth", "estimate", prose.change),
    "interval": Column("95 % interval", ["conf_low", "conf_high"], prose.change_interval),
}
#: The table of shares.
SHARES = {
    "response": Column("Response", "response", RESPONSES, once=True),
    "source": Column("Source", "term", SOURCES),
    "share": Column("Share", "estimate", prose.percent),
    "interval": Column("Joint interval", ["conf_low", "conf_high"], prose.percent_interval),
    "sd": Column("Spread", "sd", prose.number),
}


def outcome_rows(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return one row per registered statement, with its verdict at both horizons."""
    rows = []
    for claim_id, both in outcomes.groupby("claim_id", sort=False):
        first, second = (
            both[both["condition"] == horizon].iloc[0] for horizon in ("equal steps", "equal loss")
        )
        rows.append(
            {
                "no": claim_id,
                "statement": first["statement"],
                "rule": first["rule"],
                "predicted": "yes" if first["predicted"] else "no",
                "steps": first["verdict"],
                "loss": second["verdict"],
                "number": number_words(first),
            }
        )
    return pd.DataFrame(rows)


def order_effects(effects: pd.DataFrame) -> pd.DataFrame:
    """Return the effects of ingredients on growth, the largest first."""
    return effects.sort_values("estimate", key=abs, ascending=False, kind="stable")


def joint_shares(shares: pd.DataFrame) -> pd.DataFrame:
    """Return the shares whose intervals hold together."""
    return shares[shares["method"] == JOINT]


def number_words(row: Mapping[Any, Any] | pd.Series[Any]) -> str:
    """Return the estimate, with its interval, and what the rule compares it with.

    Counts have no decimals.
    """
    if row["verdict"] == UNTOLD:
        return str(row["note"])
    interval = ""
    if pd.notna(row["conf_low"]):
        interval = f" {prose.interval(float(row['conf_low']), float(row['conf_high']))}"
    result, needed = float(row["estimate"]), float(row["null_value"])
    digits = 0 if not interval and result.is_integer() and needed.is_integer() else 2
    return f"{prose.number(result, digits)}{interval}; against {prose.number(needed, digits)}"
