"""What the report shows of the tournament: who holds the size, who has power, and where."""

from __future__ import annotations

import pandas as pd

from analysis.delia2026.tournament import choice
from analysis.store import Store
from analysis.tidy import prose

LARGER = {
    "statement": "Statement",
    "world": "What explains the gains",
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
