"""What the study's findings are where networks are compared at equal loss, in sentences.

A registered statement needs both horizons: equally many steps, and the loss of a byte trigram. The
figures of the study show the first, so these sentences stand beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.heritage.study.verdict import MISSED, UNTOLD
from analysis.tidy import prose

#: The horizon that the figures show, and the one that they do not; as in `registered.outcomes`.
AT_STEPS, AT_LOSS = "equal steps", "equal loss"

#: Statements whose estimate is the share of the recipe, and what it is a share of.
SHARES = {"S1": "growth", "S2": "the gain of the last block"}


def shares_at_loss(outcomes: pd.DataFrame) -> str:
    """Return the shares of the recipe at equal loss, and what that makes of the statements.

    Parameters
    ----------
    outcomes
        From `standing.statements`.
    """
    rows = {claim_id: _row(outcomes, claim_id) for claim_id in SHARES}
    first = rows["S1"]
    if first["verdict"] == UNTOLD:
        return "That is after equally many steps; at equal loss it cannot be told."
    said = [
        f"{_share(row)} in {SHARES[claim_id]}"
        for claim_id, row in rows.items()
        if row["verdict"] != UNTOLD
    ]
    missed = [claim_id for claim_id, row in rows.items() if row["verdict"] == MISSED]
    return (
        "That is after equally many steps. At equal loss, which "
        f"{prose.share_of(int(first['n_obs']), int(first['n_planned']))} networks reach, and "
        f"{_recipes(outcomes)} recipes in every shape and with every seed, the share of the recipe "
        f"among these is {prose.listing(said)}.{_missed(missed)}"
    )


def share_at_loss(outcomes: pd.DataFrame, *, has_rule: bool = False) -> str:
    """Return the share of the recipe in growth at equal loss, in few words; empty if untold.

    With ``has_rule`` it says, too, if the registered rule is missed there.
    """
    row = _row(outcomes, "S1")
    if row["verdict"] == UNTOLD:
        return ""
    rule = "; registered rule missed" if has_rule and row["verdict"] == MISSED else ""
    return f"At equal loss ({_recipes(outcomes)} recipes): {_share(row)}{rule}."


def negative_sentence(counts: Mapping[str, Mapping[str, int]]) -> str:
    """Return in which sense cells are negative.

    ``counts`` is from `signs.negative_counts`, by horizon.
    """
    said = [
        f"At {horizon} {prose.share_of(found['excess'], found['n_cells'])} grow less and "
        f"{prose.count(found['last_log_gain'])} "
        f"{prose.form(found['last_log_gain'], 'has', 'have')} such a last block; in "
        f"{prose.count(found['n_shorter'])} of these the stream ends shorter than it leaves block "
        "0."
        for horizon, found in counts.items()
    ]
    return (
        "S6 counts a recipe in a shape if it grows less than by equal writes, or if its last block "
        f"shrinks the stream. {' '.join(said)}"
    )


def _recipes(outcomes: pd.DataFrame) -> str:
    """Return how many recipes are compared at equal loss, of those at equal steps."""
    counts = [_row(outcomes, "S1", horizon)["n_groups"] for horizon in (AT_LOSS, AT_STEPS)]
    return prose.share_of(*map(int, counts))


def _row(outcomes: pd.DataFrame, claim_id: str, horizon: str = AT_LOSS) -> dict[str, Any]:
    rows = outcomes[(outcomes["claim_id"] == claim_id) & (outcomes["condition"] == horizon)]
    (row,) = rows.to_dict("records")
    return {str(name): value for name, value in row.items()}


def _share(row: dict[str, Any]) -> str:
    interval = prose.percent_interval(float(row["conf_low"]), float(row["conf_high"]))
    return f"{prose.percent(float(row['estimate']))} {interval}"


def _missed(claim_ids: list[str]) -> str:
    if not claim_ids:
        return ""
    verb = prose.form(len(claim_ids), "is", "are")
    named = prose.listing(claim_ids)
    return (
        f" {named} asked at both for a lower limit above one half and above the shape's upper one, "
        f"and {verb} missed."
    )
