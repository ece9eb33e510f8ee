"""The verdict rule as a table: kind of statement by rule, with the claims of each kind."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.audit import VERDICTS, testable, wording
from analysis.audit.evidence import KINDS
from analysis.audit.pages import tables
from analysis.tidy import prose

#: Of the papers of `tests/proofs/verdict_rates.py`: the share of the variance that belongs to what
#: rules, and how far a model falls short of the claimed law, as a share of its logarithm.
RULING, SHORT = 0.8, 0.1
#: At most this share of papers in which nothing rules may be called reproduced, and the papers of
#: each truth in the pilots after which that bound was set.
MOST_REPRODUCED, PILOTS = 0.05, (40, 60)
HEADERS = {"kind": "Kind of statement", "rule": "What decides it", "claims": "Claims"}
#: The columns here that are Markdown.
MARKUP = ("claims", "claim")
RATES = {"claim": "Claim", "truth": "What explains the gains", "labels": "Labels"} | {
    name: name.capitalize() for name in VERDICTS
}


TESTABLE = {
    "claim": "Claim",
    "verdict": "Verdict",
    "reproduced_if_true": "If true: reproduced",
    "contradicted_if_true": "If true: contradicted",
    "reproduced_if_false": "If false: reproduced",
    "contradicted_if_false": "If false: contradicted",
    "basis": "By",
    "testable": "Testable",
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


def testable_rows(judged: pd.DataFrame) -> pd.DataFrame:
    """Return one row per claim: what its verdict could have been, formatted for print."""
    shares = {
        name: [prose.MISSING if np.isnan(value) else prose.number(value) for value in judged[name]]
        for name in testable.SHARES
    }
    return pd.DataFrame(
        {
            "claim": [tables.linked(str(claim_id)) for claim_id in judged["claim_id"]],
            "verdict": judged["verdict"],
            **shares,
            "basis": judged["power_basis"],
            "testable": judged["testable"],
        }
    )


def rate_rows(rates: pd.DataFrame) -> pd.DataFrame:
    """Return one row per claim, truth and kind of labels: share of papers with each verdict.

    ``rates`` has the rows of table ``verdict_rate``.
    """
    by = ["claim_id", "truth", "wrong_labels"]
    wide = rates.pivot_table(index=by, columns="verdict", values="probability").reset_index()
    columns: dict[str, object] = {
        "claim": [tables.linked(str(claim_id)) for claim_id in wide["claim_id"]],
        "truth": wide["truth"],
        "labels": wide["wrong_labels"].map({True: "wrong", False: "right"}),
    }
    shares = {name: [prose.number(value, 3) for value in wide[name]] for name in VERDICTS}
    return pd.DataFrame(columns | shares)
