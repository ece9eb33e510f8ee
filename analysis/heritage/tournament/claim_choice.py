"""What the criterion of `of_claims` says of single tests of claims 7, 16, 19 and 21."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.heritage.tournament import choice, criterion, of_claims
from analysis.tidy import prose

HEADERS = {
    "claim": "Claim",
    "test": "Test",
    "power": "Yes if true",
    "worst": "Worst false yes",
    "where": "Where",
    "verdict": "By the criterion",
}
#: Name of the row of the rule in force.
IN_FORCE = "rule in force"


def judged(tests: pd.DataFrame, verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return size and power of every test and of the rule in force, and which the criterion takes.

    Parameters
    ----------
    tests, verdicts
        Tables ``claim_test_rate`` and ``verdict_rate``.

    Returns
    -------
    One row per claim and test, the rule in force first: `claim_id`, `test`, `power` [1] with
    `power_error`, `worst` (largest share of yes where false) in `world`, `is_sized`, `is_same`
    (whether it asks the same statement) and `is_chosen`.
    """
    rows = []
    for claim_id, names in of_claims.TESTS.items():
        own = tests[tests["claim_id"] == claim_id]
        right = verdicts[
            (verdicts["claim_id"] == claim_id)
            & (verdicts["verdict"] == "reproduced")
            & ~verdicts["wrong_labels"].astype(bool)
        ].rename(columns={"probability": "share_yes"})
        found = [_of_test(claim_id, IN_FORCE, right)]
        found += [_of_test(claim_id, name, own[own["test"] == name]) for name in names]
        rows += _chosen(found)
    return pd.DataFrame(rows)


def _of_test(claim_id: int, name: str, rates: pd.DataFrame) -> dict[str, object]:
    is_true = rates["truth"].isin(of_claims.TRUE[claim_id])
    apart = rates["truth"].isin(of_claims.NEITHER.get(claim_id, ()))
    false = rates[~is_true & ~apart]
    first = false.sort_values("share_yes").iloc[-1]
    least = choice.least(false["share_yes"].to_numpy(), false["n_papers"].to_numpy())
    right = rates[is_true]
    share, n = right["share_yes"].to_numpy(), right["n_papers"].to_numpy()
    return {
        "claim_id": claim_id,
        "test": name,
        "power": float(share.mean()),
        "power_error": float(np.sqrt((share * (1 - share) / n).sum())) / len(right),
        "worst": float(first["share_yes"]),
        "world": str(first["truth"]),
        "is_sized": bool(least.max() <= criterion.LEVEL),
        "is_same": name == IN_FORCE or name in of_claims.SAME[claim_id],
    }


def _chosen(found: list[dict[str, object]]) -> list[dict[str, object]]:
    """Mark the test that judges: the most powerful, the simplest of equals, else that in force."""
    table = pd.DataFrame(found)
    today, able = table.iloc[0], table[table["is_sized"] & table["is_same"]].iloc[1:]
    if not today["is_sized"]:
        able = table[table["is_sized"] & table["is_same"]]
    chosen = IN_FORCE
    if len(able):
        best = able.sort_values("power", kind="stable").iloc[-1]
        apart = 2 * np.hypot(able["power_error"], best["power_error"])
        winner = able[able["power"] >= best["power"] - apart].iloc[0]
        lead = 2 * float(np.hypot(winner["power_error"], today["power_error"]))
        if winner["power"] > today["power"] + lead or not today["is_sized"]:
            chosen = str(winner["test"])
    return [{**row, "is_chosen": row["test"] == chosen} for row in found]


def rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `judged` as text for a table."""
    records = table.to_dict("records")
    return pd.DataFrame(
        {
            "claim": prose.once(table["claim_id"].astype(str)),
            "test": table["test"],
            "power": [prose.number(row["power"], 3) for row in records],
            "worst": [prose.number(row["worst"], 3) for row in records],
            "where": table["world"],
            "verdict": [
                "best"
                if row["is_chosen"]
                else "out: size"
                if not row["is_sized"]
                else "another statement"
                if not row["is_same"]
                else "less power"
                for row in records
            ],
        }
    )
