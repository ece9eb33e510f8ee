"""What the criterion says of the rules that competed, from table ``rule_rate``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import scipy

from analysis.delia2026.tournament import criterion
from analysis.tidy.frame import Floats, Integers

#: The rule of claim 20 until one was chosen.
TODAY = "bootstrap of suites"


def choice(rates: pd.DataFrame) -> pd.DataFrame:
    """Return what the criterion says of every rule and statement on the present layout.

    Returns
    -------
    One row per statement and rule: `worst` (largest share of a false answer) in `worst_world`,
    `is_sized` (whether the criterion lets it be), `power` (mean share of yes where true) with
    `power_error`, `is_best`, and `is_chosen`.
    """
    judged = rates[rates["layout"] == "present"]
    parts = []
    for statement, rows in judged.groupby("statement", sort=False):
        table = pd.DataFrame([_row(str(rule), group) for rule, group in rows.groupby("rule")])
        order = table["rule"].map(list(criterion.RULES).index)
        table = table.assign(statement=statement, order=order).sort_values("order")
        near = equal(table[table["is_sized"]])
        judge = chosen(table, near, TODAY)
        parts.append(
            table.assign(is_best=table["rule"].isin(near), is_chosen=table["rule"] == judge).drop(
                columns="order"
            )
        )
    return pd.concat(parts, ignore_index=True)


def chosen(table: pd.DataFrame, near: Sequence[str], in_force: str) -> str:
    """Return the first of the equal rules, or that in force where it is not clearly beaten.

    ``table`` has a row per rule, as `choice`; ``near`` is what `equal` gives of those eligible.
    """
    rows = table.set_index("rule")
    if not near:
        return in_force
    if in_force not in rows.index:
        return near[0]
    today, winner = rows.loc[in_force], rows.loc[near[0]]
    apart = 2 * float(np.hypot(winner["power_error"], today["power_error"]))
    is_beaten = winner["power"] > today["power"] + apart or not today["is_sized"]
    return near[0] if is_beaten else in_force


def equal(rules: pd.DataFrame) -> list[str]:
    """Return the rules that no other is clearly more powerful than, in the order of the rows."""
    if rules.empty:
        return []
    best = rules.sort_values("power", kind="stable").iloc[-1]
    apart = 2 * np.hypot(rules["power_error"], float(best["power_error"]))
    return list(rules.loc[rules["power"] >= float(best["power"]) - apart, "rule"])


def rule_rates(rule: str, wrong: pd.DataFrame, right: pd.DataFrame) -> dict[str, object]:
    """Return size and power of a rule.

    Parameters
    ----------
    rule
        Its name.
    wrong
        One row per world in which an answer is false: `world`, `wrong` (share of papers that get
        it) and `n_papers`.
    right
        One row per world in which yes is true: `share_yes` with `yes_error`.

    Returns
    -------
    `rule`, `worst` in `worst_world`, `is_sized`, `power` and `power_error`, as in `choice`.
    """
    first = wrong.sort_values("wrong", ascending=False).iloc[0]
    lower = least(wrong["wrong"].to_numpy(), wrong["n_papers"].to_numpy())
    return {
        "rule": rule,
        "worst": float(first["wrong"]),
        "worst_world": str(first["world"]),
        "is_sized": bool(lower.max() <= criterion.LEVEL),
        "power": float(right["share_yes"].mean()),
        "power_error": float(np.sqrt((right["yes_error"] ** 2).sum())) / len(right),
    }


def _row(rule: str, rows: pd.DataFrame) -> dict[str, object]:
    """Return size and power of one rule for one statement."""
    worlds = [f"{row['world']} {row['share']:g}, {row['form']}" for row in rows.to_dict("records")]
    shown = rows.assign(world=worlds)
    wrong = [
        shown[shown["truth"] != truth].assign(wrong=shown[f"share_{truth}"])
        for truth in ("yes", "no")
    ]
    return rule_rates(rule, pd.concat(wrong), rows[rows["truth"] == "yes"])


def least(share: Floats, n: Integers) -> Floats:
    """Return the lower ends of Wilson's one-sided intervals."""
    z = scipy.special.ndtri(criterion.SURE)
    middle = share + z**2 / (2 * n)
    half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return np.asarray((middle - half) / (1 + z**2 / n))
