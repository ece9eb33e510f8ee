"""The verdict rule as a table: kind of statement by rule, with the claims of each kind."""

from __future__ import annotations

import pandas as pd

from analysis.claims.verdict import wording
from analysis.evidence import KINDS

HEADERS = {"kind": "Kind of statement", "rule": "What decides it", "claims": "Claims"}


def rules(judged: pd.DataFrame) -> pd.DataFrame:
    """Return one row per kind of statement: its rule, and the claims of that kind.

    ``judged`` has one row per claim: `claim_id`, `kind`; see `analysis.claims.evaluate`.
    """
    return pd.DataFrame(
        {
            "kind": list(KINDS),
            "rule": list(KINDS.values()),
            "claims": [
                wording.in_runs(judged.loc[judged["kind"] == kind, "claim_id"]) for kind in KINDS
            ],
        }
    )
