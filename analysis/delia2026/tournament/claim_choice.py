"""What the criterion of `of_claims` says of single tests of claims 7, 16, 19 and 21."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from analysis.delia2026.tournament import choice, of_claims
from analysis.tidy import prose

HEADERS = {
    "claim": "Claim",
    "test": "Test",
    "power": "Yes if true",
    "worst": "Worst false yes",
    "where": "Where",
    "verdict": "By the criterion",
}
#: The rule that was in force when the tests were tried: readings of which all must hold.
IN_FORCE = "many readings"


def judged(tests: pd.DataFrame) -> pd.DataFrame:
    """Return size and power of every test, and which the criterion takes.

    Parameters
    ----------
    tests
        Table ``claim_test_rate``.

    Returns
    -------
    One row per claim and test, many readings first: `claim_id`, `rule`, `power` [1] with
    `power_error`, `worst` (largest share of yes where false) in `worst_world`, `is_sized`,
    `is_same` (whether it asks the same statement) and `is_chosen`.
    """
    parts = []
    for claim_id, names in of_claims.TESTS.items():
        tried = tests[tests["claim_id"] == claim_id]
        rules = [
            _test_rates(claim_id, name, tried[tried["test"] == name]) for name in (IN_FORCE, *names)
        ]
        parts.append(_claim_rules(claim_id, rules))
    return pd.concat(parts, ignore_index=True)


def _test_rates(claim_id: int, name: str, rates: pd.DataFrame) -> dict[str, object]:
    is_true = rates["truth"].isin(of_claims.TRUE[claim_id])
    apart = rates["truth"].isin(of_claims.NEITHER.get(claim_id, ()))
    wrong = rates[~is_true & ~apart].assign(world=rates["truth"], wrong=rates["share_yes"])
    is_same = name == IN_FORCE or name in of_claims.SAME[claim_id]
    return {**choice.rule_rates(name, wrong, rates[is_true]), "is_same": is_same}


def _claim_rules(claim_id: int, rules: Sequence[Mapping[str, object]]) -> pd.DataFrame:
    """Return the rules of a claim, and which judges: the simplest of the most powerful."""
    table = pd.DataFrame(rules)
    others = table[table["is_sized"] & table["is_same"] & (table["rule"] != IN_FORCE)]
    judge = choice.chosen(table, choice.equal(others), IN_FORCE)
    return table.assign(claim_id=claim_id, is_chosen=table["rule"] == judge)


def rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `judged` as text for a table."""
    records = table.to_dict("records")
    return pd.DataFrame(
        {
            "claim": prose.once(table["claim_id"].astype(str)),
            "test": table["rule"],
            "power": [prose.number(row["power"], 3) for row in records],
            "worst": [prose.number(row["worst"], 3) for row in records],
            "where": table["worst_world"].where(table["worst"] > 0, ""),
            "verdict": [
                "chosen"
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
