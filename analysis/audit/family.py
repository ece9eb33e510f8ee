"""Families of claims, and the p of their primary checks adjusted within each.

A family holds the claims about one law or section: tests of which any one would be reported as
evidence for it. Which claim belongs to which is declared (table ``claim_family``) before any p is
looked at.
"""

from __future__ import annotations

import pandas as pd

from analysis.inference.effects import multiplicity
from analysis.store import Store
from analysis.tidy.errors import StoreError
from analysis.tidy.glossary import checked

#: The family of every claim of a paper that declares none.
UNDECLARED = "all claims"

#: What tells two tests apart; claims that quote one test twice are one test.
ONE_TEST = ["family", "method", "estimate", "p_value", "n_obs", "n_models"]

#: What is said of each claim with a p.
COLUMNS = [
    *("claim_id", "family", "n_tests", "p_value", "p_holm", "p_bh"),
    *("verdict", "estimate", "statement", "method"),
]


def families(store: Store, judged: pd.DataFrame) -> pd.Series[str]:
    """Return the declared family of each claim, by the index of ``judged`` (column `claim_id`).

    Raises
    ------
    StoreError
        If some claims have a declared family and one of these has none.
    """
    declared = store.query("FROM claim_family").set_index("claim_id")["family"]
    if declared.empty:
        return pd.Series(UNDECLARED, index=judged.index, dtype="str")
    result = judged["claim_id"].map(declared)
    if result.isna().any():
        lacking = ", ".join(map(str, judged.loc[result.isna(), "claim_id"]))
        raise StoreError(
            f"Table claim_family must give each claim a family; it leaves out {lacking}.",
            "Name the family where the claim is declared, or in a row of the table.",
        )
    return result


def adjusted(judged: pd.DataFrame) -> pd.DataFrame:
    """Return the claims whose primary check has a p, with that p adjusted within the family.

    The p are those of `analysis.audit.evaluate`, each with the null hypothesis its `method`
    names. Two claims that rest on the same test of the same rows count as one. Adjusting
    presumes that each p is right by itself, models as independent where the method says so. It is
    the p of one reading, not adjusted for the other readings of its claim. A small p may speak
    against a claim: the verdict and the estimate say which way it points.

    Parameters
    ----------
    judged
        One row per claim, as `evaluate` returns them: `claim_id`, `statement`, `family`,
        `verdict`, `estimate`, `p_value`, `n_obs`, `n_models`, `method`.

    Returns
    -------
    One row per claim with a p: `claim_id`, `family`, `n_tests` (distinct tests in the family),
    `p_value`, `p_holm`, `p_bh` (Holm; Benjamini and Hochberg), `verdict`, `estimate`, `statement`,
    `method`; by family.
    """
    # What `evaluate` calls `p_holm` is adjusted over the readings of one claim.
    with_p = judged[judged["p_value"].notna()].drop(columns="p_holm", errors="ignore")
    tests = with_p[ONE_TEST].drop_duplicates().reset_index(drop=True)
    holm = multiplicity.adjust(tests, family="family", method="holm")
    by_rate = multiplicity.adjust(tests, family="family", method="benjamini-hochberg")
    known = tests.assign(
        p_holm=holm["p_adjusted"], p_bh=by_rate["p_adjusted"], n_tests=holm["n_tests"]
    )
    joined = with_p.merge(known, on=ONE_TEST, how="left")
    checked(COLUMNS)
    return joined[COLUMNS].sort_values(["family", "p_value", "claim_id"], ignore_index=True)
