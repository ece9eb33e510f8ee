"""Tables of the controlled study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.delia2026.study.fleet import JOINT
from analysis.delia2026.study.pages.names import INGREDIENTS, RESPONSES, SOURCES
from analysis.delia2026.study.verdict import UNTOLD
from analysis.tidy import prose

OUTCOMES = {
    "no": "No.",
    "statement": "Registered statement",
    "rule": "Rule",
    "foreseen": "Foreseen",
    "steps": "At equal steps",
    "loss": "At equal loss",
    "number": "Estimate; against",
}
EFFECTS = {
    "ingredient": "What the high level does",
    "effect": "Change of growth",
    "interval": "95 % interval",
}
SHARES = {
    "response": "Response",
    "source": "Source",
    "share": "Share",
    "interval": "Joint interval",
    "sd": "Spread",
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
                "foreseen": "yes" if first["foreseen"] else "no",
                "steps": first["verdict"],
                "loss": second["verdict"],
                "number": number_words(first),
            }
        )
    return pd.DataFrame(rows)


def effect_rows(effects: pd.DataFrame) -> pd.DataFrame:
    """Return the effect of each ingredient on growth, the largest first, as percent.

    ``effects`` are those of `screening.main_effects`.
    """
    rows = effects.sort_values("estimate", key=abs, ascending=False, kind="stable")
    return pd.DataFrame(
        {
            "ingredient": rows["term"].str.removesuffix("_level").map(INGREDIENTS),
            "effect": rows["estimate"].map(prose.change),
            "interval": [
                prose.change_interval(low, high)
                for low, high in zip(rows["conf_low"], rows["conf_high"], strict=True)
            ],
        }
    )


def share_rows(shares: pd.DataFrame) -> pd.DataFrame:
    """Return every share with its joint interval, as words."""
    joint = shares[shares["method"] == JOINT]
    return pd.DataFrame(
        {
            "response": prose.once(joint["response"].map(RESPONSES)),
            "source": joint["term"].map(SOURCES),
            "share": joint["estimate"].map(prose.percent),
            "interval": [
                prose.percent_interval(low, high)
                for low, high in zip(joint["conf_low"], joint["conf_high"], strict=True)
            ],
            "sd": joint["sd"].map(prose.number),
        }
    )


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
