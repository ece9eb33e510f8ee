"""Claims judged on a store: the checks of each, and one row a claim with its verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.audit import testable, wording
from analysis.audit.claim import Claim, counted, reading, verdict
from analysis.audit.claim import adjusted as adjusted_over_readings
from analysis.audit.evidence.checks import Check, caveats_of, null_of
from analysis.audit.evidence.decision import Kind
from analysis.audit.examination import examined, statement
from analysis.audit.family import families
from analysis.audit.property import add_property, claim_property
from analysis.audit.weight import weights
from analysis.store import Store
from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError


def claim(claim_id: int, registry: Mapping[int, Claim]) -> Claim:
    """Return one claim.

    Raises
    ------
    AnalysisError
        If no claim of that number can be judged yet.
    """
    if claim_id not in registry:
        raise AnalysisError(
            f"A claim must be one of those that can be judged; {claim_id} is not.",
            f"Choose from {wording.join_runs(registry)}.",
        )
    return registry[claim_id]


def checks(store: Store, claim_id: int, registry: Mapping[int, Claim]) -> pd.DataFrame:
    """Return one row per check of a claim: part, condition, whether it holds, and its numbers."""
    one = claim(claim_id, registry)
    return check_rows(examined(one, store), one.kind)


def check_rows(made: Sequence[Check], kind: Kind) -> pd.DataFrame:
    """Return one row per check, as `checks` gives them; ``kind`` is that of their claim.

    `holds` is what a check counts for beside the others, see `verdict.claim.counted`; where that
    is not its own answer the note says so.
    """
    return glossary.table(check_records(made, kind))


def check_records(made: Sequence[Check], kind: Kind) -> list[dict[str, Any]]:
    """Return the rows of `check_rows`, each by itself."""
    return [
        {
            "check_id": check.id,
            "term": str(check.part),
            "condition": str(check.condition),
            "kind": check.kind or kind,
            "holds": answer,
            "decides": check.decides,
            "beside": check.beside,
            "null": null_of(check),
            "has_data": check.has_data,
            "estimate": check.estimate,
            "conf_low": check.conf_low,
            "conf_high": check.conf_high,
            "p_value": check.p_value,
            "p_holm": p_holm,
            "n_obs": check.n_obs,
            "n_models": check.n_models,
            "n_suites": check.n_suites,
            "method": check.method,
            "measure": check.measure,
            "is_percent": check.is_percent,
            "evidence": " ".join(check.evidence),
            "caveats": " ".join(check.caveats),
            "note": f"{check.note} {_note_adjusted(check, answer)}".strip(),
        }
        for check, p_holm, answer in zip(
            made, adjusted_over_readings(made), counted(made, kind), strict=True
        )
    ]


def _note_adjusted(check: Check, answer: bool | None) -> str:
    """Return why a check counts for another answer than its own; empty where it does not."""
    if answer is check.holds:
        return ""
    alone = "holds" if check.holds else "fails"
    return f"Alone it {alone}; one of many readings, it decides nothing at its adjusted p."


def examine(store: Store, registry: Mapping[int, Claim]) -> dict[int, Sequence[Check]]:
    """Return the checks of every claim of a registry, by its number.

    Raises
    ------
    AnalysisError
        If the function of a claim fails.
    StoreError
        If the store does not hold the statement of a claim.
    """
    for claim_id in registry:
        statement(store, claim_id)
    return {claim_id: examined(one, store) for claim_id, one in registry.items()}


def evaluate(
    store: Store,
    registry: Mapping[int, Claim],
    *,
    made: Mapping[int, Sequence[Check]] | None = None,
) -> pd.DataFrame:
    """Return one row per claim: statement, family, verdict, estimand and primary numbers, rule.

    Verdicts follow the rule of `claim.verdict`. The estimate, interval, p and counts are those of
    the first check that decides and that the data answer, else of the first that could be made;
    of an undecided claim, of the stated reading that is open (`wording.primary`); `p_holm` is
    its p adjusted over the readings of the claim. The note counts the checks and names those that
    fail and the parts that none could decide. What the
    claim's quantity is a property of follows in `property` and `property_remark`. What the verdict
    could have been stands beside it, see `analysis.audit.testable`.

    Parameters
    ----------
    store, registry
        What the claims are judged on, and which.
    made
        What `examine` returned for them, where it is needed for more than this; else it is run.
    """
    made = examine(store, registry) if made is None else made
    rates = store.query("FROM verdict_rate")
    judged = pd.DataFrame(
        [
            _row(one, made[number], statement(store, number), rates)
            for number, one in registry.items()
        ]
    )
    place = list(judged.columns).index("verdict")
    judged.insert(place, "family", families(store, judged))
    for name, values in weights(store, judged).items():
        judged.insert(place + 1, str(name), values)
    return glossary.table(add_property(store, judged))


def judge(
    store: Store,
    claim_id: int,
    registry: Mapping[int, Claim],
    *,
    made: Sequence[Check] | None = None,
) -> dict[str, object]:
    """Return the row of one claim, as `evaluate` gives it.

    ``made`` are its checks, where they are needed for more than this; else they are made.

    Raises
    ------
    AnalysisError
        If the claim is unknown, its function fails, or the store does not hold its statement.
    """
    one = claim(claim_id, registry)
    sentences = statement(store, claim_id)
    rates = store.query("FROM verdict_rate")
    row = _row(one, examined(one, store) if made is None else made, sentences, rates)
    return row | claim_property(store, claim_id)


def _row(
    one: Claim, entries: Sequence[Check], row: pd.Series[Any], rates: pd.DataFrame
) -> dict[str, object]:
    primary = wording.primary(entries, one.kind)
    p_holm = adjusted_over_readings(entries)[entries.index(primary)]
    return {
        "claim_id": one.claim_id,
        "statement": row["statement"],
        "place": row["place"],
        "category": one.category,
        "stated_by": one.stated_by,
        "verdict": verdict(entries, one.kind),
        "reading": reading(entries, one.kind),
        **testable.possible_verdicts(one, entries, rates),
        "kind": one.kind,
        "estimand": one.estimand,
        "check_id": primary.id,
        "estimate": primary.estimate,
        "conf_low": primary.conf_low,
        "conf_high": primary.conf_high,
        "conf_level": 0.95 if primary.conf_low == primary.conf_low else float("nan"),
        "p_value": primary.p_value,
        "p_holm": p_holm,
        "n_obs": primary.n_obs,
        "n_models": primary.n_models,
        "n_suites": primary.n_suites,
        "method": primary.method,
        "measure": primary.measure,
        "is_percent": primary.is_percent,
        "rule": one.rule,
        "evidence": " ".join(sorted({file for check in entries for file in check.evidence})),
        "caveats": " ".join(caveats_of(name for check in entries for name in check.caveats)),
        "note": wording.note(primary, entries, one.kind),
    }
