"""What the criterion of `of_claims` says of single tests of claims 7, 16, 19 and 21."""

from __future__ import annotations

import pandas as pd

from analysis.delia2026.tournament import choice, of_claims
from analysis.tidy import prose
from analysis.tidy.columns import Column


def _verdict(is_chosen: bool, is_sized: bool, is_same: bool) -> str:
    if is_chosen:
        return "chosen"
    return "out: size" if not is_sized else "less power" if is_same else "another statement"


#: The table of `judged`.
COLUMNS = {
    "claim": Column("Claim", "claim_id", str, once=True),
    "test": Column("Test", "rule"),
    "power": Column("Yes if true", "power", lambda it: prose.number(it, 3)),
    "worst": Column("Worst false yes", "worst", lambda it: prose.number(it, 3)),
    "where": Column("Where", ["worst", "worst_world"], lambda it, world: world if it > 0 else ""),
    "verdict": Column("By the criterion", ["is_chosen", "is_sized", "is_same"], _verdict),
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
        # The simplest of the most powerful judges.
        table = pd.DataFrame(rules)
        others = table[table["is_sized"] & table["is_same"] & (table["rule"] != IN_FORCE)]
        judge = choice.chosen(table, choice.equal(others), IN_FORCE)
        parts.append(table.assign(claim_id=claim_id, is_chosen=table["rule"] == judge))
    return pd.concat(parts, ignore_index=True)


def _test_rates(claim_id: int, name: str, rates: pd.DataFrame) -> dict[str, object]:
    is_true = rates["truth"].isin(of_claims.TRUE[claim_id])
    apart = rates["truth"].isin(of_claims.NEITHER.get(claim_id, ()))
    wrong = rates[~is_true & ~apart].assign(world=rates["truth"], wrong=rates["share_yes"])
    is_same = name == IN_FORCE or name in of_claims.SAME[claim_id]
    return {**choice.rule_rates(name, wrong, rates[is_true]), "is_same": is_same}
