"""The verdict rule as a table: kind of statement by rule, with the claims of each kind."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.audit import VERDICTS, wording
from analysis.audit.evidence import KINDS
from analysis.audit.pages import tables
from analysis.tidy import prose
from analysis.tidy.columns import Column

#: Of the papers of `tests/proofs/verdict_rates.py`: the share of the variance that belongs to what
#: rules, and how far a model falls short of the claimed law, as a share of its logarithm.
RULING, SHORT = 0.8, 0.1
#: At most this share of papers in which nothing rules may be called reproduced, and the papers of
#: each truth in the pilots after which that bound was set.
MOST_REPRODUCED, PILOTS = 0.05, (40, 60)
HEADERS = {"kind": "Kind of statement", "rule": "What decides it", "claims": "Claims"}
#: The columns here that are Markdown.
MARKUP = ("claims", "claim")
#: The table of what the verdict of each claim could have been.
TESTABLE = {
    "claim": Column("Claim", "claim_id", lambda it: tables.linked(str(it))),
    "verdict": Column("Verdict", "verdict"),
    "reproduced_if_true": Column("If true: reproduced", "reproduced_if_true", prose.number),
    "contradicted_if_true": Column("If true: contradicted", "contradicted_if_true", prose.number),
    "reproduced_if_false": Column("If false: reproduced", "reproduced_if_false", prose.number),
    "contradicted_if_false": Column(
        "If false: contradicted", "contradicted_if_false", prose.number
    ),
    "basis": Column("By", "power_basis"),
    "testable": Column("Testable", "testable"),
}
#: The table of `verdict_rates`.
RATES: dict[str, Column] = {
    "claim": Column("Claim", "claim_id", lambda it: tables.linked(str(it))),
    "truth": Column("What explains the gains", "truth"),
    "labels": Column("Labels", "wrong_labels", {True: "wrong", False: "right"}),
    **{name: Column(name.capitalize(), name, lambda it: prose.number(it, 3)) for name in VERDICTS},
}


def rules(judged: pd.DataFrame) -> pd.DataFrame:
    """Return one row per kind of statement: its rule, and the claims of that kind.

    ``judged`` has one row per claim: `claim_id`, `kind`; see `analysis.audit.evaluate`.
    """
    return pd.DataFrame(
        {
            "kind": list(KINDS),
            "rule": list(KINDS.values()),
            "claims": [
                tables.linked(wording.join_runs(judged.loc[judged["kind"] == kind, "claim_id"]))
                for kind in KINDS
            ],
        }
    )


def rate(rates: pd.DataFrame, claim_id: int, truth: str, verdict: str) -> str:
    """Return the share of papers with right labels that have a verdict under a truth, in words."""
    chosen = rates[
        (rates["claim_id"] == claim_id)
        & (rates["truth"] == truth)
        & (rates["verdict"] == verdict)
        & ~rates["wrong_labels"].astype(bool)
    ]
    return prose.percent(float(chosen["probability"].item()))


def most_reproduced(rates: pd.DataFrame) -> str:
    """Return the largest share of papers in which nothing rules that a claim is reproduced in.

    Beside `MOST_REPRODUCED`, where it is larger: by how many standard errors of the simulation.
    """
    wrong = rates[(rates["truth"] == "nothing") & (rates["verdict"] == VERDICTS[0])]
    most = wrong.sort_values("probability").iloc[-1]
    share, n_papers = float(most["probability"]), int(most["n_papers"])
    told = f"{prose.percent(share, 1)}, for claim {most['claim_id']}"
    if share <= MOST_REPRODUCED:
        return told
    error = np.sqrt(share * (1 - share) / n_papers)
    beyond = prose.number((share - MOST_REPRODUCED) / error, 1)
    return f"{told}: above the limit by {beyond} standard errors of the simulation"


def verdict_rates(rates: pd.DataFrame) -> pd.DataFrame:
    """Return one row per claim, truth and kind of labels: share of papers with each verdict.

    ``rates`` has the rows of table ``verdict_rate``.
    """
    by = ["claim_id", "truth", "wrong_labels"]
    return rates.pivot_table(index=by, columns="verdict", values="probability").reset_index()
