"""The claims that can be judged so far, and the verdicts on them.

To add one: write a function from a store to checks in the module of its subject (or a new
one), and list a `Claim` there. The statement and its place are data (`claim.csv`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from analysis.claims import (
    benchmark,
    density,
    depth,
    finetuning,
    heritage,
    scope,
    spectral,
    trace,
)
from analysis.claims.claim import VERDICTS, Check, Claim, verdict
from analysis.errors import AnalysisError, StoreError
from analysis.glossary import checked
from analysis.store import Store

__all__ = [
    "CLAIMS",
    "VERDICTS",
    "Check",
    "Claim",
    "checks",
    "claim",
    "evaluate",
    "judge",
    "verdict",
]

CLAIMS: dict[int, Claim] = {
    one.claim_id: one
    for one in sorted(
        (
            *scope.CLAIMS,
            *depth.CLAIMS,
            *heritage.CLAIMS,
            *benchmark.CLAIMS,
            *spectral.CLAIMS,
            *trace.CLAIMS,
            *density.CLAIMS,
            *finetuning.CLAIMS,
        ),
        key=lambda one: one.claim_id,
    )
}


def claim(claim_id: int) -> Claim:
    """Return one claim.

    Raises
    ------
    AnalysisError
        If no claim of that number can be judged yet.
    """
    if claim_id not in CLAIMS:
        raise AnalysisError(
            f"A claim must be one of those that can be judged; {claim_id} is not.",
            f"Choose from {', '.join(map(str, CLAIMS))}.",
        )
    return CLAIMS[claim_id]


def checks(store: Store, claim_id: int) -> pd.DataFrame:
    """Return one row per check of a claim: part, condition, whether it holds, and its numbers."""
    made = claim(claim_id).examine(store)
    rows = [
        {
            "term": check.part,
            "condition": check.condition,
            "holds": check.holds,
            "estimate": check.estimate,
            "conf_low": check.conf_low,
            "conf_high": check.conf_high,
            "p_value": check.p_value,
            "n_obs": check.n_obs,
            "n_models": check.n_models,
            "n_suites": check.n_suites,
            "method": check.method,
            "evidence": " ".join(check.evidence),
            "caveats": " ".join(check.caveats),
            "note": check.note,
        }
        for check in made
    ]
    found = pd.DataFrame(rows)
    checked(found.columns)
    return found


def evaluate(store: Store) -> pd.DataFrame:
    """Return one row per claim: statement, estimand, rule, verdict and the primary check's numbers.

    Verdicts follow the rule of `analysis.claims.claim.verdict`. The estimate, interval, p and
    counts are those of the first check that could be made, the primary reading. The note
    counts the checks and names those that fail.
    """
    judged = pd.DataFrame([judge(store, claim_id) for claim_id in CLAIMS])
    checked(judged.columns)
    return judged


def judge(store: Store, claim_id: int) -> dict[str, object]:
    """Return the row of one claim, as `evaluate` gives it.

    Raises
    ------
    AnalysisError
        If the claim is unknown, or the store does not hold its statement.
    """
    one = claim(claim_id)
    said = store.query("FROM claim WHERE claim_id = $claim_id", claim_id=claim_id)
    if said.empty:
        raise StoreError(
            f"The store must hold the statement of claim {claim_id}; its table claim does not.",
            "Open data/published as well: --data data/published.",
        )
    return _row(one, one.examine(store), said.iloc[0])


def _row(one: Claim, found: Sequence[Check], said: pd.Series[Any]) -> dict[str, object]:
    primary = next((check for check in found if check.holds is not None), found[0])
    return {
        "claim_id": one.claim_id,
        "statement": said["statement"],
        "place": said["place"],
        "verdict": verdict(found),
        "estimand": one.estimand,
        "estimate": primary.estimate,
        "conf_low": primary.conf_low,
        "conf_high": primary.conf_high,
        "conf_level": 0.95 if primary.conf_low == primary.conf_low else float("nan"),
        "p_value": primary.p_value,
        "n_obs": primary.n_obs,
        "n_models": primary.n_models,
        "n_suites": primary.n_suites,
        "method": primary.method,
        "rule": one.rule,
        "evidence": " ".join(sorted({file for check in found for file in check.evidence})),
        "caveats": " ".join(_caveats(found)),
        "note": _note(primary, found),
    }


def _caveats(found: Sequence[Check]) -> list[str]:
    named = {name for check in found for name in check.caveats}
    return sorted(named, key=lambda name: int(name[1:]))


def _note(primary: Check, found: Sequence[Check]) -> str:
    known = [check for check in found if check.holds is not None]
    failing = [f"{check.part} ({check.condition})" for check in known if not check.holds]
    counted = f"{len(known) - len(failing)} of {len(known)} checks hold."
    fails = f"Fails: {'; '.join(failing)}." if failing else ""
    return " ".join(part for part in (primary.note, counted, fails) if part)
