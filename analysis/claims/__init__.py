"""The claims that can be judged, and the verdicts on them.

To add one: write a function from a store to checks in the module of its subject (or a new
one), and list a `Claim` there. The statement and its place are data (`claim.csv`). The claims of
another paper lie in a folder of their own, see `analysis.claims.verdict.paper`; every function here takes
its registry in place of `CLAIMS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import pandas as pd

from analysis.claims.depth import anisotropy, laws, layer_formula, transition, transition_error
from analysis.claims.depth import law as depth
from analysis.claims.print import captions, mappings, printed, scope
from analysis.claims.sign import benchmark, density, finetuning, gain, heritage, popular, size
from analysis.claims.verdict.claim import VERDICTS, Claim, verdict
from analysis.claims.verdict.examination import examined
from analysis.claims.verdict.family import adjusted, families
from analysis.claims.weights import between_labs as weights
from analysis.claims.weights import mechanism, spectral, structure, trace
from analysis.evidence.checks import Check, caveats_of
from analysis.store import Store
from analysis.tidy.errors import AnalysisError, StoreError
from analysis.tidy.glossary import checked

__all__ = [
    "CLAIMS",
    "VERDICTS",
    "Check",
    "Claim",
    "adjusted",
    "check_rows",
    "checks",
    "claim",
    "evaluate",
    "examine",
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
            *gain.CLAIMS,
            *popular.CLAIMS,
            *size.CLAIMS,
            *laws.CLAIMS,
            *transition.CLAIMS,
            *transition_error.CLAIMS,
            *weights.CLAIMS,
            *structure.CLAIMS,
            *mechanism.CLAIMS,
            *anisotropy.CLAIMS,
            *printed.CLAIMS,
            *captions.CLAIMS,
            *layer_formula.CLAIMS,
            *mappings.CLAIMS,
        ),
        key=lambda one: one.claim_id,
    )
}


def claim(claim_id: int, registry: Mapping[int, Claim] = CLAIMS) -> Claim:
    """Return one claim.

    Raises
    ------
    AnalysisError
        If no claim of that number can be judged yet.
    """
    if claim_id not in registry:
        raise AnalysisError(
            f"A claim must be one of those that can be judged; {claim_id} is not.",
            f"Choose from {_in_runs(registry)}.",
        )
    return registry[claim_id]


def _in_runs(numbers: Iterable[int]) -> str:
    """Return whole numbers for people, neighbours joined.

    >>> _in_runs([3, 1, 2, 7])
    '1 to 3, 7'
    """
    by_run = groupby(enumerate(sorted(numbers)), lambda placed: placed[1] - placed[0])
    runs = [[number for _, number in run] for _, run in by_run]
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def checks(store: Store, claim_id: int, registry: Mapping[int, Claim] = CLAIMS) -> pd.DataFrame:
    """Return one row per check of a claim: part, condition, whether it holds, and its numbers."""
    return check_rows(examined(claim(claim_id, registry), store))


def check_rows(made: Sequence[Check]) -> pd.DataFrame:
    """Return one row per check, as `checks` gives them."""
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


def examine(store: Store, registry: Mapping[int, Claim] = CLAIMS) -> dict[int, Sequence[Check]]:
    """Return the checks of every claim of a registry, by its number.

    Raises
    ------
    AnalysisError
        If the function of a claim fails.
    """
    return {claim_id: examined(one, store) for claim_id, one in registry.items()}


def evaluate(
    store: Store,
    registry: Mapping[int, Claim] = CLAIMS,
    *,
    made: Mapping[int, Sequence[Check]] | None = None,
) -> pd.DataFrame:
    """Return one row per claim: statement, family, verdict, estimand and primary numbers, rule.

    Verdicts follow the rule of `analysis.claims.verdict.claim.verdict`. The estimate, interval, p and
    counts are those of the first check that could be made, the primary reading. The note
    counts the checks and names those that fail and the parts that none could decide.

    Parameters
    ----------
    store, registry
        What the claims are judged on, and which.
    made
        What `examine` returned for them, where it is needed for more than this; else it is run.
    """
    made = examine(store, registry) if made is None else made
    judged = pd.DataFrame(
        [_row(one, made[number], _said(store, number)) for number, one in registry.items()]
    )
    judged.insert(list(judged.columns).index("verdict"), "family", families(store, judged))
    checked(judged.columns)
    return judged


def judge(store: Store, claim_id: int, registry: Mapping[int, Claim] = CLAIMS) -> dict[str, object]:
    """Return the row of one claim, as `evaluate` gives it.

    Raises
    ------
    AnalysisError
        If the claim is unknown, its function fails, or the store does not hold its statement.
    """
    one = claim(claim_id, registry)
    said = _said(store, claim_id)
    return _row(one, examined(one, store), said)


def _said(store: Store, claim_id: int) -> pd.Series[Any]:
    """Return the statement of a claim and its place."""
    said = store.query("FROM claim WHERE claim_id = $claim_id", claim_id=claim_id)
    if said.empty:
        raise StoreError(
            f"The store must hold the statement of claim {claim_id}; its table claim does not.",
            "Give claim.csv a row with this claim_id; for the paper audited here, open "
            "data/published as well: --data data/published.",
        )
    return said.iloc[0]


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
        "caveats": " ".join(caveats_of(name for check in found for name in check.caveats)),
        "note": _note(primary, found),
    }


def _note(primary: Check, found: Sequence[Check]) -> str:
    known = [check for check in found if check.holds is not None]
    failing = [f"{check.part} ({check.condition})" for check in known if not check.holds]
    counted = f"{len(known) - len(failing)} of {len(known)} checks hold."
    fails = f"Fails: {'; '.join(failing)}." if failing else ""
    parts = (primary.note, counted, fails, _undecided(primary, found))
    return " ".join(part for part in parts if part)


def _undecided(primary: Check, found: Sequence[Check]) -> str:
    """Return the parts that no check could decide, each with the reason of its first check."""
    decided = {check.part for check in found if check.holds is not None}
    first: dict[str, Check] = {}
    for check in found:
        if check.part not in decided:
            first.setdefault(check.part, check)
    reasons = [
        part if check is primary or not check.note else f"{part} ({check.note.removesuffix('.')})"
        for part, check in first.items()
    ]
    return f"Undecided: {'; '.join(reasons)}." if reasons else ""
