"""What the report shows of the tournament: who holds the size, who has power, and where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.heritage.tournament import choice, criterion
from analysis.store import Store
from analysis.tidy import prose

#: The commit of the criterion, before any rule met the published gains.
CRITERION = "3ba73c916881bfe57b7b0de11ebd30e50c0c1bf2"
SIZES = {
    "statement": "Statement",
    "rule": "Rule",
    "how": "How it judges",
    "worst": "Worst size",
    "where": "In the world",
    "power": "Power",
    "error": "± s.e.",
    "verdict": "By the criterion",
}


def rates(store: Store) -> pd.DataFrame:
    """Return table ``rule_rate`` in its own order."""
    return store.query("FROM rule_rate")


def winners(rate_rows: pd.DataFrame) -> dict[str, str]:
    """Return the rule that the criterion chooses for each statement."""
    table = choice.choice(rate_rows)
    chosen = table[table["is_chosen"]]
    return dict(zip(chosen["statement"], chosen["rule"], strict=True))


def size_rows(rate_rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per statement and rule on the present layout, formatted for print."""
    table = choice.choice(rate_rows)
    rows = table.to_dict("records")
    return pd.DataFrame(
        {
            "statement": prose.once(table["statement"]),
            "rule": table["rule"],
            "how": table["rule"].map(criterion.RULES),
            "worst": [prose.number(row["worst"], 3) for row in rows],
            "where": table["worst_world"],
            "power": [prose.number(row["power"], 3) for row in rows],
            "error": [prose.number(row["power_error"], 3) for row in rows],
            "verdict": [_verdict(row) for row in rows],
        }
    )


def _verdict(row: Mapping[Any, Any]) -> str:
    if row["is_chosen"]:
        return "chosen"
    if not row["is_sized"]:
        return "out: size"
    return "as powerful" if row["is_best"] else "less power"


def power(rate_rows: pd.DataFrame, statement: str, world: str, share: float) -> float:
    """Return how often the chosen rule says yes in a world of the present layout, normal."""
    asked = {"layout": "present", "form": "normal", "statement": statement, "world": world}
    asked["rule"] = winners(rate_rows)[statement]
    is_asked = (rate_rows[list(asked)] == pd.Series(asked)).all(axis=1)
    is_share = (rate_rows["share"] - share).abs() < 1e-9
    return float(rate_rows.loc[is_asked & is_share, "share_yes"].item())


def words(rate_rows: pd.DataFrame) -> dict[str, str]:
    """Return what the page says of the tournament."""
    table = choice.choice(rate_rows)
    present = rate_rows[rate_rows["layout"] == "present"]
    sized = [
        f"{prose.share_of(int(group['is_sized'].sum()), len(group))} rules for {statement}"
        for statement, group in table.groupby("statement", sort=False)
    ]
    chosen = table[table["is_chosen"]]
    today = table[(table["rule"] == choice.TODAY) & (table["statement"] == "recipe over geometry")]
    named = {
        statement: power(rate_rows, statement, "named lab", criterion.CLAIMED)
        for statement in ("lab over geometry", "recipe over geometry")
    }
    return {
        "n_models": prose.count(int(present["n_models"].iloc[0])),
        "commit": CRITERION[:8],
        "level": prose.percent(criterion.LEVEL),
        "claimed": prose.percent(criterion.CLAIMED),
        "papers": prose.count(int(present["n_papers"].iloc[0])),
        "sized": f"The level is held by {prose.listing(sized)}.",
        "today_worst": prose.percent(float(today["worst"].item())),
        "chosen": "; ".join(
            f"{row['statement']}: {row['rule']}" for row in chosen.to_dict("records")
        )
        + ".",
        "geometry": prose.percent(
            power(rate_rows, "geometry over scale", "depth", criterion.CLAIMED)
        ),
        "lab": f"{100 * named['lab over geometry']:.0f}",
        "recipe": f"{100 * named['recipe over geometry']:.0f}",
    }
