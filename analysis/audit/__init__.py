"""The claims that can be judged, and the verdicts on them.

To add one: write a function from a store to checks in the module of its subject (or a new
one), list a `Claim` there and the module in `register`. The statement and its place are data
(`claim.csv`). The claims of another paper lie in a folder of their own, see
`analysis.audit.paper`; every function here takes its registry in place of `CLAIMS`.
"""

from analysis.audit import evidence, testable
from analysis.audit.claim import VERDICTS, Claim, verdict
from analysis.audit.evaluation import (
    check_records,
    check_rows,
    checks,
    claim,
    evaluate,
    examine,
    judge,
)
from analysis.audit.evidence import Check
from analysis.audit.examination import examined, statement
from analysis.audit.family import adjusted
from analysis.audit.property import properties

__all__ = [
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
    "statement",
    "testable",
    "verdict",
]
