"""What the registered outcomes together say of "heritage dominates"."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

HELD, MISSED, UNTOLD = "held", "missed", "cannot be told"


def verdict_on_heritage(table: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield each response to "heritage dominates" and whether both horizons give it.

    Parameters
    ----------
    table
        From `outcomes`.

    Yields
    ------
    The outcome as registered, and held, missed or cannot be told.
    """
    held = {
        claim_id: list(rows["verdict"]) for claim_id, rows in table.groupby("claim_id", sort=False)
    }
    dominates = _both(held["S1"], held["S2"])
    yield "confirmed: the lab decides", _all(dominates, _both(_negate(held["S4"])))
    yield "recipe, not lab: training choices, not who made them", _all(dominates, _both(held["S4"]))
    yield "refuted: geometry is at least as strong", _both(held["S3"])
    yield "sign refuted: recipes move size, not sign", _both(_negate(held["S6"]))
    yield "mechanism identified", _both(held["S7"])


def _both(*verdicts: list[str]) -> str:
    """Return held if every horizon holds, missed if one misses, else that it cannot be told."""
    every = [verdict for of_horizons in verdicts for verdict in of_horizons]
    if all(verdict == HELD for verdict in every):
        return HELD
    return MISSED if MISSED in every else UNTOLD


def _all(first: str, second: str) -> str:
    return _both([first, second])


def _negate(verdicts: list[str]) -> list[str]:
    """Return what each horizon says of the opposite."""
    return [{HELD: MISSED, MISSED: HELD}.get(verdict, verdict) for verdict in verdicts]
