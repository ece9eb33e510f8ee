"""What the criterion of `of_claims` says of single tests of claims 7, 16, 19 and 21."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from analysis.heritage.tournament import choice, of_claims
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
    One row per claim and test, the rule in force first: `claim_id`, `rule`, `power` [1] with
    `power_error`, `worst` (largest share of yes where false) in `worst_world`, `is_sized`,
    `is_same` (whether it asks the same statement) and `is_chosen`.
    """
    parts = []
    for claim_id, names in of_claims.TESTS.items():
        tried = tests[tests["claim_id"] == claim_id]
        rules = [_of_test(claim_id, IN_FORCE, _in_force(verdicts, claim_id))]
        rules += [_of_test(claim_id, name, tried[tried["test"] == name]) for name in names]
        parts.append(_of_claim(claim_id, rules))
    return pd.concat(parts, ignore_index=True)


def _in_force(verdicts: pd.DataFrame, claim_id: int) -> pd.DataFrame:
    """Return the rates of the rule in force, as those of a test: `share_yes`, `yes_error`."""
    is_yes = (verdicts["verdict"] == "reproduced") & ~verdicts["wrong_labels"].astype(bool)
    rates = verdicts[(verdicts["claim_id"] == claim_id) & is_yes]
    share = rates["probability"]
    error = np.sqrt(share * (1 - share) / rates["n_papers"])
    return rates.assign(share_yes=share, yes_error=error)


def _of_test(claim_id: int, name: str, rates: pd.DataFrame) -> dict[str, object]:
    is_true = rates["truth"].isin(of_claims.TRUE[claim_id])
    apart = rates["truth"].isin(of_claims.NEITHER.get(claim_id, ()))
    wrong = rates[~is_true & ~apart].assign(world=rates["truth"], wrong=rates["share_yes"])
    is_same = name == IN_FORCE or name in of_claims.SAME[claim_id]
    return {**choice.of_rule(name, wrong, rates[is_true]), "is_same": is_same}


def _of_claim(claim_id: int, rules: Sequence[Mapping[str, object]]) -> pd.DataFrame:
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
