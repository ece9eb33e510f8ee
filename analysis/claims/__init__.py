"""The claims that can be judged, and the verdicts on them.

To add one: write a function from a store to checks in the module of its subject (or a new
one), list a `Claim` there and the module in `register`. The statement and its place are data
(`claim.csv`). The claims of another paper lie in a folder of their own, see
`analysis.claims.verdict.paper`; every function here takes its registry in place of `CLAIMS`.
"""

from analysis import evidence
from analysis.claims.evaluation import (
    check_records,
    check_rows,
    checks,
    claim,
    evaluate,
    examine,
    judge,
)
from analysis.claims.property import properties
from analysis.claims.register import CLAIMS
from analysis.claims.verdict.claim import VERDICTS, Claim, verdict
from analysis.claims.verdict.examination import examined
from analysis.claims.verdict.family import adjusted
from analysis.evidence import Check

__all__ = [
    "CLAIMS",
    "VERDICTS",
    "Check",
    "Claim",
    "adjusted",
    "check_records",
    "check_rows",
    "checks",
    "claim",
    "evaluate",
    "evidence",
    "examine",
    "examined",
    "judge",
    "properties",
    "verdict",
]
