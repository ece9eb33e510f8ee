"""The claims that can be judged, and the verdicts on them.

To add one to the home paper: write its words into ``claims.toml`` of the room of its subject and
a function from a store to checks into a module there (a new one is listed in `register`); the
tables, such as `claim.csv`, are made from them. The claims of another paper lie in a folder of
their own, see `analysis.audit.paper`; every function here takes its registry in place of `CLAIMS`.
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
