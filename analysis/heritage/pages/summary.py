"""The report's first page: plain answers to plain questions, each read off one verdict.

No answer is written by hand. A question names the claim that would make its answer yes, and the
verdict on that claim is put into words, so that an answer changes when the verdict does.
"""

from __future__ import annotations

import pandas as pd

from analysis.audit import VERDICTS, evidence
from analysis.audit.pages import tables
from analysis.audit.weight import WEIGHTS
from analysis.heritage.record import replica_figures as replica
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

#: The claims that a busy reader should know of: what each says, and the section that judges it.
KEY = {
    1: ("gains of at least 23 models", "sec-benchmark"),
    17: ("a 100-measurement benchmark", "sec-benchmark"),
    36: ("the mean traces of GPT-2 and OPT-125m", "sec-trace"),
    47: ("tuning changes a gain by up to 50 %", "sec-finetuning"),
    48: ("Gemma goes from 2.32 to 1.15", "sec-finetuning"),
    8: ("80 % of EleutherAI's models dampen", "sec-heritage"),
    9: ("all models of Meta and OpenAI expand", "sec-heritage"),
    11: ("norms of the value matrix differ tenfold between labs", "sec-spectral"),
    12: ("GPT-2's trace is 26 times OPT's", "sec-trace"),
    6: ("the total gain stays within 10", "sec-depth"),
    46: ("a critical head density separates the signs", "sec-density"),
    18: ("the order of the four models of the benchmark", "sec-benchmark"),
    7: (f"heritage decides the sign with p{prose.NO_BREAK}<{prose.NO_BREAK}0.001", "sec-heritage"),
    5: ("the largest block gain is 10 to the power 1/L", "sec-depth"),
    10: ("the ratio of norms predicts the sign", "sec-spectral"),
    13: ("the trace discriminates", "sec-trace"),
    37: ("the formula for the layer of the transition", "sec-transition"),
    50: ("without the final norm a rule is right in 100 %", "sec-density"),
    57: ("each layer makes the signal a bit quieter", "sec-popular"),
    20: ("heritage over geometry over scale", "sec-partition"),
    49: ("tuning cannot invert the sign", "sec-finetuning"),
    16: ("head density explains the exceptions within Pythia", "sec-trace"),
    51: ("five phases of anisotropy", "sec-transition"),
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
    central = judged[(judged["importance"] == WEIGHTS[0]) & judged["repeats"].isna()]
    groups = [
        f"{tables.counted(len(rows), verdict)} "
        f"({tables.linked(', '.join(map(str, rows['claim_id'])))})"
        for verdict in VERDICTS
        for rows in [central[central["verdict"] == verdict]]
        if len(rows)
    ]
    return f"of {prose.count(len(central))} central findings {prose.listing(groups)}"


def named(judged: pd.DataFrame, verdict: str) -> str:
    """Return what the key claims with a verdict say, each a link to its section and its card.

    Central claims come first; one that repeats another's finding is left out. ``judged`` has one
    row per claim: `claim_id`, `verdict`, `importance`, `repeats`.
    """
    having = judged[(judged["verdict"] == verdict) & judged["repeats"].isna()]
    weights = dict(zip(having["claim_id"], having["importance"], strict=True))
    chosen = sorted(
        (claim_id for claim_id in KEY if claim_id in weights),
        key=lambda claim_id: WEIGHTS.index(weights[claim_id]),
    )
    links = [
        f"[{prose.bound(title)}](#{section}) ([{claim_id}](claims.html#claim-{claim_id}))"
        for claim_id in chosen
        for title, section in [KEY[claim_id]]
    ]
    return "; ".join(links) if links else "none of the main claims"


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
