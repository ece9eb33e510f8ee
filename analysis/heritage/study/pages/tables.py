"""Tables of the controlled study; every word follows from a number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.heritage.study.fleet import JOINT
from analysis.heritage.study.pages.names import RECIPES, RESPONSES, SOURCES
from analysis.heritage.study.verdict import UNTOLD
from analysis.tidy import prose

LENGTHS = {
    "steps": "Steps",
    "beat": "Beat the trigram",
    "shift": "Moved by the first spread",
    "seeds": "Seeds differ by",
    "enough": "Long enough",
}
OUTCOMES = {
    "no": "No.",
    "statement": "Registered statement",
    "rule": "Rule",
    "foreseen": "Foreseen",
    "steps": "At equal steps",
    "loss": "At equal loss",
    "runs": "Runs",
    "found": "Found; against",
}
THREATS = {
    "recipe": "Recipe",
    "plain": "As it is",
    "other_order": "Another order",
    "subwords": "Subwords",
    "long": "Three times as long",
}
SHARES = {
    "response": "Response",
    "source": "Source",
    "share": "Share",
    "interval": "Joint interval",
    "sd": "Spread",
}


def length_rows(lengths: pd.DataFrame) -> pd.DataFrame:
    """Return the ladder as words; ``lengths`` as `ladder.lengths` has them."""
    return pd.DataFrame(
        {
            "steps": [prose.count(_steps(term)) for term in lengths["term"]],
            "beat": lengths["share"].map(prose.percent),
            "shift": [f"{prose.number(value)} nat" for value in lengths["estimate"]],
            "seeds": [f"{prose.number(value, 3)} nat" for value in lengths["sd"]],
            "enough": ["yes" if holds else "no" for holds in lengths["holds"]],
        }
    )


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
                "runs": runs_words(first),
                "found": found_words(first),
            }
        )
    return pd.DataFrame(rows)


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


def threat_rows(threats: pd.DataFrame) -> pd.DataFrame:
    """Return the growth of each recipe under each check [nat]; from `fleet.threats`."""
    wide = threats.pivot_table(index="recipe", columns="check", values="estimate")
    checks = [name for name in THREATS if name != "recipe"]
    rows = wide.reindex(columns=checks).map(prose.number).reset_index()
    return rows.assign(recipe=rows["recipe"].map(RECIPES))


def runs_words(row: Mapping[Any, Any] | pd.Series[Any]) -> str:
    """Return how many runs a statement rests on, of how many planned."""
    if pd.isna(row["n_planned"]):
        return "not begun"
    return f"{prose.count(row['n_obs'])} of {prose.count(row['n_planned'])}"


def found_words(row: Mapping[Any, Any] | pd.Series[Any]) -> str:
    """Return what was found, with its interval, and what the rule compares it with.

    Counts are printed as such.
    """
    if row["verdict"] == UNTOLD:
        return str(row["note"])
    interval = ""
    if pd.notna(row["conf_low"]):
        interval = f" {prose.interval(float(row['conf_low']), float(row['conf_high']))}"
    result, needed = float(row["estimate"]), float(row["null_value"])
    digits = 0 if not interval and result.is_integer() and needed.is_integer() else 2
    return f"{prose.number(result, digits)}{interval}; against {prose.number(needed, digits)}"


def _steps(term: str) -> int:
    return int(term.rpartition("_")[2])
