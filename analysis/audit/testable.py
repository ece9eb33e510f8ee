"""What a verdict could have been: how often each falls where the claim is true, and where false.

By simulation where papers with planted truths were judged (table ``verdict_rate``). Where all that
decides is a printed value it comes again or does not, which is no probability; there and elsewhere
none is given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.audit.claim import Claim
from analysis.audit.evidence.checks import Check
from analysis.tidy import prose

#: Largest probability of a false verdict that is not said beside it.
MOST_WRONG = 0.05
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


def possible_verdicts(
    one: Claim, checks: Sequence[Check], rates: pd.DataFrame
) -> dict[str, float | str]:
    """Return what the verdict on one claim could have been.

    Parameters
    ----------
    one
        The claim; ``true_where`` and ``open_where`` name what rules in the simulated papers that
        make it true, and neither true nor false.
    checks
        Its checks.
    rates
        Table ``verdict_rate``.

    Returns
    -------
    `reproduced_if_true`, `contradicted_if_true`, `reproduced_if_false`, `contradicted_if_false`
    [1], the latter two in `false_world`, the false world that is reproduced most often; missing
    where nothing was simulated, as where all that decides is a printed value, which comes again
    or does not. `power_basis` (``simulation``, ``algebra``, or why not given: ``no data`` or
    ``not simulated``) and `testable` (``testable``, ``not testable with these data`` or empty).
    """
    nothing: dict[str, float | str] = {**dict.fromkeys(SHARES, math.nan), "false_world": ""}
    shares = _simulate(one, rates)
    if shares is None:
        reason = _reason(one, checks)
        return {**nothing, "power_basis": reason, "testable": ""}
    telling = max(float(shares["reproduced_if_true"]), float(shares["contradicted_if_false"]))
    return {
        **shares,
        "power_basis": SIMULATION,
        "testable": TESTABLE if telling >= LEAST else NOT_TESTABLE,
    }


def printed_remark(row: Mapping[Any, Any]) -> str:
    """Return that the verdict is on what is printed alone; empty where that is bounded.

    A printed number fails in many papers whose law is true, so that its failing says little of the
    law.

    Parameters
    ----------
    row
        One of `analysis.audit.evaluate`.
    """
    rate = row.get("contradicted_if_true", math.nan)
    if row["verdict"] != "contradicted" or not rate > MOST_WRONG:
        return ""
    return (
        f"What is contradicted is what is printed, not the law behind it: so are "
        f"{prose.percent(float(rate))} of simulated papers in which the law is true."
    )


def _simulate(one: Claim, rates: pd.DataFrame) -> dict[str, float | str] | None:
    if not one.true_where:
        return None
    number = one.claim_id if one.repeats is None else one.repeats
    rows = rates[(rates["claim_id"] == number) & ~rates["wrong_labels"].astype(bool)]
    table = rows.pivot_table(index="truth", columns="verdict", values="probability")
    false = table.drop(index=[one.true_where, *one.open_where], errors="ignore")
    if one.true_where not in table.index or false.empty:
        return None
    order = ["reproduced", "contradicted"]
    worst = false.sort_values(order, ascending=[False, True], kind="stable").index[0]
    where = {"true": one.true_where, "false": worst}
    shares = {name: float(table.loc[where[truth], word]) for name, (word, truth) in SHARES.items()}
    return {**shares, "false_world": str(worst)}


def _reason(one: Claim, entries: Sequence[Check]) -> str:
    """Return why no rates are given."""
    deciding = [check for check in entries if check.decides and check.has_data]
    if not deciding:
        return NO_DATA
    is_fixed = one.rests_on == "record" or all(
        (check.kind or one.kind) == "value" for check in deciding
    )
    return ALGEBRA if is_fixed else NOT_PLANTED
