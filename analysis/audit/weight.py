"""How much a paper rests on each claim, which claims state one finding, and how sure the rule is.

Criteria, written after the first verdicts were known: *central* states a law of the paper, its
explanation or its ranking; *supporting* is another result, which would speak for a central claim;
*side* counts, captions, provenance and wording. A claim that repeats the finding of
another counts once.
"""

from __future__ import annotations

import pandas as pd

from analysis.store import Store
from analysis.tidy import prose

WEIGHTS = ("central", "supporting", "side")
#: What a claim may state, see `analysis.audit.claim.Claim`, and who states what is counted.
CATEGORIES = ("law", "printed number", "record")
AUTHOR = "author"


def weights(store: Store, judged: pd.DataFrame) -> pd.DataFrame:
    """Return `weight` and `repeats` of each claim, by the index of ``judged`` (column `claim_id`).

    A paper that declares none has central claims only, and none that repeats another.
    """
    declared = store.query("FROM claim_weight").set_index("claim_id")
    result = declared.reindex(judged["claim_id"]).set_index(judged.index)
    return pd.DataFrame(
        {
            "importance": result["weight"].astype("object").fillna(WEIGHTS[0]),
            "repeats": result["repeats"].astype("Float64").astype("float64"),
        }
    )


def rates(store: Store, claim_id: int) -> pd.DataFrame:
    """Return how often the rule gives each verdict of a claim under planted truths.

    The rows of table ``verdict_rate``, empty for a claim that was not simulated: `truth`,
    `wrong_labels`, `verdict`, `probability`, `n_papers`.
    """
    return store.query(
        """
        SELECT truth, wrong_labels, verdict, probability, n_papers
          FROM verdict_rate
         WHERE claim_id = $claim_id
         ORDER BY truth, wrong_labels, verdict
        """,
        claim_id=claim_id,
    )


def author_claims(judged: pd.DataFrame) -> pd.DataFrame:
    """Return the claims that the author states in a document: those that are counted.

    ``judged`` has one row per claim: `stated_by`; see `analysis.audit.evaluate`.
    """
    return judged[judged["stated_by"] == AUTHOR].reset_index(drop=True)


def apart(judged: pd.DataFrame) -> pd.DataFrame:
    """Return the statements that stand in no document of the author, judged and not counted."""
    return judged[judged["stated_by"] != AUTHOR].reset_index(drop=True)


#: Who states a claim that its author states in no document, and what is said of several such.
OTHERS = {
    "file": ("stands", "stand", "in his result files alone"),
    "audit": ("is", "are", "our own"),
}


def apart_in_words(judged: pd.DataFrame) -> str:
    """Return how many statements stand in no document of the author, and where they come from.

    ``judged`` has one row per claim: `stated_by`. Empty if there are none.
    """
    counted = apart(judged)["stated_by"].value_counts()
    return prose.listing(
        [
            f"{prose.count(counted[name])} {prose.form(int(counted[name]), one, several)} {where}"
            for name, (one, several, where) in OTHERS.items()
            if name in counted
        ]
    )


def count_categories(judged: pd.DataFrame) -> pd.DataFrame:
    """Return how many of the author's claims of each category have each verdict.

    Returns
    -------
    One row per category that some claim has, in the order of `CATEGORIES`: `category`, and a column
    for each verdict in ``judged``.
    """
    counted = author_claims(judged)
    table = pd.crosstab(counted["category"], counted["verdict"])
    return table.reindex([it for it in CATEGORIES if it in table.index]).reset_index()


def sort_importance(judged: pd.DataFrame) -> pd.DataFrame:
    """Return the claims with the most important first, those alike in the order of their numbers.

    ``judged`` has one row per claim: `claim_id`, `importance`.
    """
    rank = judged["importance"].map({name: place for place, name in enumerate(WEIGHTS)})
    order = judged.assign(rank=rank).sort_values(["rank", "claim_id"])
    return order.drop(columns="rank").reset_index(drop=True)


def is_central(judged: pd.DataFrame) -> pd.Series[bool]:
    """Return which claims are central findings, those that repeat another left out.

    ``judged`` has one row per claim: `importance`, `repeats`.
    """
    return (judged["importance"] == WEIGHTS[0]) & judged["repeats"].isna()
