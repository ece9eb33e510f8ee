"""The report's first page: plain answers to plain questions, each read off one verdict.

No answer is written by hand. A question names the claim that would make its answer yes, and the
verdict on that claim is put into words, so that an answer changes when the verdict does.
"""

from __future__ import annotations

import pandas as pd

from analysis.audit import VERDICTS, evidence, weight
from analysis.audit.pages import tables
from analysis.delia2026.record import replica_figures as replica
from analysis.store import Store
from analysis.tidy import prose
from analysis.tidy.errors import AnalysisError

#: What a reader is told when the claim that says yes has this verdict.
ANSWERS = {
    "reproduced": "Yes.",
    "depends on the reading": "It depends on the reading.",
    "contradicted": "No.",
    "undecided": "The data cannot tell.",
    "no data": "There are no data.",
}


def answer(judged: pd.DataFrame, claim_id: int, *, no: str = ANSWERS["contradicted"]) -> str:
    """Return the answer to a question to which a claim says yes.

    Parameters
    ----------
    judged
        One row per claim: `claim_id`, `verdict`; see `analysis.audit.evaluate`.
    claim_id
        The claim.
    no
        The words for a contradicted claim, where it says less than the question.

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
    return {**ANSWERS, "contradicted": no}[str(verdicts.iloc[0])]


def headline(judged: pd.DataFrame) -> str:
    """Return the verdicts on the central claims as Markdown, those that repeat another left out.

    ``judged`` has one row per claim: `claim_id`, `verdict`, `importance`, `repeats`.
    """
    central = judged[weight.is_central(judged)]
    groups = [
        f"{tables.counted(len(rows), verdict)} "
        f"({tables.linked(', '.join(map(str, rows['claim_id'])))})"
        for verdict in VERDICTS
        for rows in [central[central["verdict"] == verdict]]
        if len(rows)
    ]
    first, *others = [prose.listing(groups[at : at + 2]) for at in range(0, len(groups), 2)]
    opening = f"Of {prose.count(len(central))} central findings {first}"
    return ". ".join([opening, *others])


def words_of_labs(store: Store) -> dict[str, str]:
    """Return the counts that the first page quotes, as text.

    ``penultimate`` and ``inner``: how many models of the hunt have a gain below 1 in the
    penultimate block, and on average over inner blocks. ``mixed``: of how many models the matrix
    called W_V mixes rows of Q, K and V.
    """
    hunted = evidence.published_gains(store, "gain_penultimate_block", [evidence.HUNT])
    inner = replica.inner_gains(store, evidence.HUNT)
    cut = replica.spectral_norms(store)["cut"]
    below = {"penultimate": hunted["gain_mean"] < 1, "inner": inner["gain_mean"] < 1}
    counted = {name: prose.share_of(int(flags.sum()), len(flags)) for name, flags in below.items()}
    return {**counted, "mixed": prose.share_of(int((cut != "W_V").sum()), len(cut))}
