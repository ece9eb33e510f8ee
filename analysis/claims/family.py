"""Families of claims, and the p of their primary checks adjusted within each.

A family holds the claims about one law or section: tests of which any one would be reported as
evidence for it. Which claim belongs to which is declared in `family.csv` beside the statements,
before any p is looked at.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from analysis import multiplicity
from analysis.errors import StoreError
from analysis.glossary import checked
from analysis.store import Store

FILE, STATEMENTS = "family.csv", "claim.csv"

#: The family of every claim of a paper that declares none.
UNDECLARED = "all claims"

#: What tells two tests apart; claims that quote one test twice are one test.
ONE_TEST = ["family", "method", "estimate", "p_value", "n_obs", "n_models"]


def families(store: Store, judged: pd.DataFrame) -> pd.Series[str]:
    """Return the declared family of each claim, by the index of ``judged`` (column `claim_id`).

    Raises
    ------
    StoreError
        If `family.csv` lacks a column, names a claim twice or leaves one of these out.
    """
    beside = [source for source in store.sources if (source / STATEMENTS).is_file()]
    if not beside or not (beside[0] / FILE).is_file():
        return pd.Series(UNDECLARED, index=judged.index, dtype="str")
    path = beside[0] / FILE
    found = judged["claim_id"].map(_read(path))
    if found.isna().any():
        lacking = ", ".join(map(str, judged.loc[found.isna(), "claim_id"]))
        raise StoreError(
            f"{path} must give each claim a family; it leaves out {lacking}.",
            "Add a row with claim_id and family.",
        )
    return found


def adjusted(judged: pd.DataFrame) -> pd.DataFrame:
    """Return the claims whose primary check has a p, with that p adjusted within the family.

    The p are those of `analysis.claims.evaluate`, each with the null hypothesis its `method`
    names. Two claims that rest on the same test of the same rows count as one. Adjusting
    presumes that each p is right by itself, models as independent where the method says so.

    Parameters
    ----------
    judged
        One row per claim, as `evaluate` returns them: `claim_id`, `statement`, `family`,
        `estimate`, `p_value`, `n_obs`, `n_models`, `method`.

    Returns
    -------
    One row per claim with a p: `claim_id`, `family`, `n_tests` (distinct tests in the family),
    `p_value`, `p_holm`, `p_bh` (Holm; Benjamini and Hochberg), `statement`, `method`; by family.
    """
    with_p = judged[judged["p_value"].notna()]
    tests = with_p[ONE_TEST].drop_duplicates().reset_index(drop=True)
    holm = multiplicity.adjust(tests, family="family", method="holm")
    by_rate = multiplicity.adjust(tests, family="family", method="benjamini-hochberg")
    known = tests.assign(
        p_holm=holm["p_adjusted"], p_bh=by_rate["p_adjusted"], n_tests=holm["n_tests"]
    )
    joined = with_p.merge(known, on=ONE_TEST, how="left")
    columns = ["claim_id", "family", "n_tests", "p_value", "p_holm", "p_bh", "statement", "method"]
    checked(columns)
    return joined[columns].sort_values(["family", "p_value", "claim_id"], ignore_index=True)


def _read(path: Path) -> dict[int, str]:
    try:
        rows = pd.read_csv(path)
        if not rows["claim_id"].is_unique:
            raise ValueError("it names a claim twice")
        return {int(n): str(name) for n, name in rows[["claim_id", "family"]].to_numpy()}
    except (OSError, ValueError, KeyError) as error:
        raise StoreError(
            f"{path} must be a table of families, one row per claim; {error}.",
            "Its columns are claim_id and family.",
        ) from error
