"""What the criterion says of the rules that competed, from table ``rule_rate``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from analysis.heritage.tournament import criterion
from analysis.tidy.frame import Floats, Integers

#: The rule of claim 20 until one was chosen.
TODAY = "bootstrap of suites"


def choice(rates: pd.DataFrame, layout: str = "present") -> pd.DataFrame:
    """Return what the criterion says of every rule and statement on a layout.

    Returns
    -------
    One row per statement and rule: `worst` (largest share of a false answer) in `worst_world`,
    `is_sized` (whether the criterion lets it be), `power` (mean share of yes where true) with
    `power_error`, `is_best`, and `is_chosen`.
    """
    judged = rates[rates["layout"] == layout]
    parts = []
    for statement, rows in judged.groupby("statement", sort=False):
        table = pd.DataFrame([_of_rule(str(rule), group) for rule, group in rows.groupby("rule")])
        order = table["rule"].map(list(criterion.RULES).index)
        table = table.assign(statement=statement, order=order).sort_values("order")
        sized = table[table["is_sized"]]
        best = sized.sort_values("power", kind="stable").iloc[-1] if len(sized) else None
        near = [] if best is None else _equal(sized, best)
        chosen = _chosen(table, near)
        parts.append(
            table.assign(is_best=table["rule"].isin(near), is_chosen=table["rule"] == chosen).drop(
                columns="order"
            )
        )
    return pd.concat(parts, ignore_index=True)


def _chosen(table: pd.DataFrame, near: list[str]) -> str:
    """Return the first of the equal rules, or today's where that is not clearly beaten."""
    if not near:
        return TODAY
    rows = table.set_index("rule")
    if TODAY not in rows.index:
        return near[0]
    today, winner = rows.loc[TODAY], rows.loc[near[0]]
    apart = 2 * float(np.hypot(winner["power_error"], today["power_error"]))
    is_beaten = winner["power"] > today["power"] + apart or not today["is_sized"]
    return near[0] if is_beaten else TODAY


def _equal(sized: pd.DataFrame, best: pd.Series[Any]) -> list[str]:
    apart = 2 * np.hypot(sized["power_error"], float(best["power_error"]))
    return list(sized.loc[sized["power"] >= float(best["power"]) - apart, "rule"])


def _of_rule(rule: str, rows: pd.DataFrame) -> dict[str, object]:
    """Return size and power of one rule for one statement."""
    about = ["world", "share", "form", "n_papers"]
    wrong = pd.concat(
        [
            rows.loc[rows["truth"] != truth, [*about, f"share_{truth}"]].rename(
                columns={f"share_{truth}": "wrong"}
            )
            for truth in ("yes", "no")
        ]
    )
    first = wrong.sort_values("wrong", ascending=False).iloc[0]
    right = rows[rows["truth"] == "yes"]
    lower = least(wrong["wrong"].to_numpy(), wrong["n_papers"].to_numpy())
    return {
        "rule": rule,
        "worst": float(first["wrong"]),
        "worst_world": f"{first['world']} {first['share']:g}, {first['form']}",
        "is_sized": bool(lower.max() <= criterion.LEVEL),
        "power": float(right["share_yes"].mean()),
        "power_error": float(np.sqrt((right["yes_error"] ** 2).sum())) / len(right),
    }


def least(share: Floats, n: Integers) -> Floats:
    """Return the lower ends of Wilson's one-sided intervals."""
    z = stats.norm.ppf(criterion.SURE)
    middle = share + z**2 / (2 * n)
    half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return np.asarray((middle - half) / (1 + z**2 / n))
