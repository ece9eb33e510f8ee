"""What a verdict could have been: how often each falls where the claim is true, and where false.

By simulation where papers with planted truths were judged (table ``verdict_rate``); by algebra
where all that decides is a printed value, which comes again or does not. Elsewhere it is not given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from analysis.audit.claim import Claim
from analysis.audit.evidence.checks import Check

#: Least probability of a telling verdict, under either truth, of a claim that data can test.
LEAST = 0.2
SIMULATION, ALGEBRA = "simulation", "algebra"
#: Why none is given: nothing decides the claim, or no simulated paper has it true and false.
NO_DATA, NOT_PLANTED = "no data", "not simulated"
#: What a claim is called that these data could have shown neither true nor false.
NOT_TESTABLE, TESTABLE = "not testable with these data", "testable"

#: The columns of probabilities: which verdict, under which truth.
SHARES = {
    f"{word}_if_{truth}": (word, truth)
    for truth in ("true", "false")
    for word in ("reproduced", "contradicted")
}


def of_claim(one: Claim, checks: Sequence[Check], rates: pd.DataFrame) -> dict[str, float | str]:
    """Return what the verdict on one claim could have been.

    Parameters
    ----------
    one
        The claim; ``true_where`` and ``false_where`` name what rules in the simulated papers.
    checks
        Its checks.
    rates
        Table ``verdict_rate``.

    Returns
    -------
    `reproduced_if_true`, `contradicted_if_true`, `reproduced_if_false`, `contradicted_if_false`
    [1], missing where not given; `power_basis` (``simulation``, ``algebra``, or
    why not given: ``no data`` or ``not simulated``) and
    `testable` (``testable``, ``not testable with these data`` or empty).
    """
    given = _simulated(one, rates) or _by_algebra(one, checks)
    if given is None:
        reason = NOT_PLANTED if _deciding(checks) else NO_DATA
        return {**dict.fromkeys(SHARES, math.nan), "power_basis": reason, "testable": ""}
    basis, shares = given
    telling = max(shares["reproduced_if_true"], shares["contradicted_if_false"])
    return {
        **shares,
        "power_basis": basis,
        "testable": TESTABLE if telling >= LEAST else NOT_TESTABLE,
    }


def _simulated(one: Claim, rates: pd.DataFrame) -> tuple[str, dict[str, float]] | None:
    if not one.true_where:
        return None
    number = one.claim_id if one.repeats is None else one.repeats
    rows = rates[(rates["claim_id"] == number) & ~rates["wrong_labels"].astype(bool)]
    keys = zip(rows["truth"], rows["verdict"], strict=True)
    known = dict(zip(keys, rows["probability"], strict=True))
    where = {"true": one.true_where, "false": one.false_where}
    if any((truth, "reproduced") not in known for truth in where.values()):
        return None
    return SIMULATION, {
        name: float(known[where[truth], word]) for name, (word, truth) in SHARES.items()
    }


def _by_algebra(one: Claim, entries: Sequence[Check]) -> tuple[str, dict[str, float]] | None:
    deciding = _deciding(entries)
    is_fixed = one.rests_on == "record" or all(
        (check.kind or one.kind) == "value" for check in deciding
    )
    if not deciding or not is_fixed:
        return None
    return ALGEBRA, {
        name: float((word == "reproduced") == (truth == "true"))
        for name, (word, truth) in SHARES.items()
    }


def _deciding(entries: Sequence[Check]) -> list[Check]:
    return [check for check in entries if check.decides and check.has_data]
