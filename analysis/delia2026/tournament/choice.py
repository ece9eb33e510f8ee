"""What the criterion says of rules and tests that compete, from their rates on simulated papers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import scipy

from analysis.delia2026.tournament import criterion
from analysis.tidy.frame import Floats, Integers


def chosen(table: pd.DataFrame, near: Sequence[str], in_force: str) -> str:
    """Return the first of the equal rules, or that in force where it is not clearly beaten.

    ``table`` has a row per rule, as `rule_rates`; ``near`` is what `equal` gives of those eligible.
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
    `rule`, `worst` (largest share of a false answer) in `worst_world`, `is_sized` (whether the
    criterion lets it be), `power` (mean share of yes where true) and `power_error`.
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


def least(share: Floats, n: Integers) -> Floats:
    """Return the lower ends of Wilson's one-sided intervals."""
    z = scipy.special.ndtri(criterion.SURE)
    middle = share + z**2 / (2 * n)
    half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return np.asarray((middle - half) / (1 + z**2 / n))
