"""What the report shows of the tournament: who holds the size, who has power, and where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.delia2026.tournament import choice, criterion
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
LARGER = {
    "statement": "Statement",
    "world": "What rules",
    "design": "Models",
    "small": "Share 30 %",
    "half": "Share 50 %",
    "large": "Share 80 %",
}
#: The world in which each statement is true and one component alone rules.
RULING = {
    "lab over geometry": "lab",
    "recipe over geometry": "suite",
    "geometry over scale": "depth",
    "lab over suite": "lab",
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


def larger_rows(rate_rows: pd.DataFrame) -> pd.DataFrame:
    """Return the power of the chosen rules by layout and share, one component ruling alone."""
    rows = []
    by_rule = winners(rate_rows)
    for statement, world in RULING.items():
        cells_of_rule = _normal(rate_rows, statement, world, by_rule[statement])
        for (layout, n_models, n_suites), cells in cells_of_rule.groupby(
            ["layout", "n_models", "n_suites"], sort=False
        ):
            power = cells.set_index("share")["share_yes"]
            rows.append(
                {
                    "statement": statement,
                    "world": world,
                    "design": f"{layout}: {n_models} of {n_suites} suites",
                    "small": prose.number(power.get(0.3, float("nan"))),
                    "half": prose.number(power.get(0.5, float("nan"))),
                    "large": prose.number(power.get(0.8, float("nan"))),
                }
            )
    shown = pd.DataFrame(rows)
    return shown.assign(statement=prose.once(shown["statement"]), world=prose.once(shown["world"]))


def curves(rate_rows: pd.DataFrame, statement: str) -> pd.DataFrame:
    """Return the power of the rules that hold their size against the share that rules.

    Returns
    -------
    One row per rule and share on the present layout, normal: `rule`, `share` [1], `power` [1].
    """
    table = choice.choice(rate_rows)
    sized = table.loc[(table["statement"] == statement) & table["is_sized"], "rule"]
    cells = _normal(rate_rows[rate_rows["layout"] == "present"], statement, RULING[statement])
    cells = cells[cells["rule"].isin(sized)]
    return cells[["rule", "share", "share_yes"]].rename(columns={"share_yes": "power"})


def layouts(rate_rows: pd.DataFrame, statement: str) -> pd.DataFrame:
    """Return the power of the chosen rule against the share that rules, by balanced layout.

    Returns
    -------
    One row per layout and share, the present one first: `layout` (words), `n_models`, `n_suites`,
    `share` [1], `power` [1].
    """
    cells = _normal(rate_rows, statement, RULING[statement], winners(rate_rows)[statement])
    cells = cells[cells["layout"].isin(("present", "balanced"))]
    order = cells.assign(larger=cells["layout"] != "present")
    cells = order.sort_values(["larger", "n_models", "n_suites", "share"])
    named = [
        f"{row['n_models']} models of {row['n_suites']} suites" for row in cells.to_dict("records")
    ]
    cells = cells.assign(layout=named, power=cells["share_yes"])
    return cells[["layout", "n_models", "n_suites", "share", "power"]]


def power(rate_rows: pd.DataFrame, statement: str, world: str, share: float) -> float:
    """Return how often the chosen rule says yes in a world of the present layout, normal."""
    present = rate_rows[rate_rows["layout"] == "present"]
    cells = _normal(present, statement, world, winners(rate_rows)[statement])
    return float(cells.loc[(cells["share"] - share).abs() < 1e-9, "share_yes"].item())


def _normal(
    rate_rows: pd.DataFrame, statement: str, world: str, rule: str | None = None
) -> pd.DataFrame:
    """Return the rates of one statement in the normal form of one world, of one rule or of all."""
    cells = rate_rows[
        (rate_rows["form"] == "normal")
        & (rate_rows["statement"] == statement)
        & (rate_rows["world"] == world)
    ]
    return cells if rule is None else cells[cells["rule"] == rule]


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
