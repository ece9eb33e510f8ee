"""The report's first page: plain answers to plain questions, each read off one verdict.

No answer is written by hand. A question names the claim that would make its answer yes, and the
verdict on that claim is put into words, so that an answer changes when the verdict does.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from analysis import prose, replica
from analysis.claims import evidence
from analysis.errors import AnalysisError
from analysis.store import Store

#: What a reader is told when the claim that says yes has this verdict.
ANSWERS = {
    "reproduced": "Yes.",
    "reproduced under a condition": "Under some readings only.",
    "contradicted": "No.",
    "not computable": "It cannot be told.",
}


def answer(judged: pd.DataFrame, claim_id: int) -> str:
    """Return the answer to a question to which a claim says yes.

    Parameters
    ----------
    judged
        One row per claim: `claim_id`, `verdict`; see `analysis.claims.evaluate`.
    claim_id
        The claim.

    Raises
    ------
    AnalysisError
        If the claim has not been judged.
    """
    verdicts = judged.loc[judged["claim_id"] == claim_id, "verdict"]
    if verdicts.empty:
        raise AnalysisError(
            f"An answer must rest on a claim that has been judged; claim {claim_id} has not.",
            "Name one of the claims in reports/claims.csv.",
        )
    return ANSWERS[str(verdicts.iloc[0])]


def statements(judged: pd.DataFrame, verdict: str, claim_ids: Sequence[int] | None = None) -> str:
    """Return the statements with a verdict, each with its number, as one sentence part.

    ``judged`` has one row per claim: `claim_id`, `statement`, `verdict`. ``claim_ids`` narrows it.
    """
    chosen = judged[judged["verdict"] == verdict]
    if claim_ids is not None:
        chosen = chosen[chosen["claim_id"].isin(claim_ids)]
    named = [f"{row['statement']} ({row['claim_id']})" for row in chosen.to_dict("records")]
    return prose.listing(named) if named else "none"


def numbers(judged: pd.DataFrame, verdict: str) -> str:
    """Return the numbers of the claims with a verdict, "1, 4 and 7"."""
    chosen = judged.loc[judged["verdict"] == verdict, "claim_id"]
    return prose.listing([str(number) for number in chosen]) if len(chosen) else "none"


def words_of_labs(store: Store) -> dict[str, str]:
    """Return the counts that the first page quotes, as text.

    ``penultimate`` and ``inner``: how many models of the hunt have a gain below 1 in the last block
    but one, and on average over inner blocks. ``mixed``: of how many models the matrix called W_V
    mixes rows of Q, K and V.
    """
    hunted = evidence.published_gains(store, "gain_penultimate_block", [evidence.HUNT])
    inner = replica.inner_gains(store, evidence.HUNT)
    cut = replica.spectral_norms(store)["cut"]
    below = {"penultimate": hunted["gain_mean"] < 1, "inner": inner["gain_mean"] < 1}
    counted = {name: prose.share_of(int(flags.sum()), len(flags)) for name, flags in below.items()}
    return {**counted, "mixed": prose.share_of(int((cut != "W_V").sum()), len(cut))}
