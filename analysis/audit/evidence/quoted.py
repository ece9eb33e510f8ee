"""What a paper prints, as data: one row per quoted number, with its place."""

from __future__ import annotations

import pandas as pd

from analysis.store import Store

#: What a check names as its evidence, and why it may be missing.
EVIDENCE = "quoted_number"
ABSENT = f"the store holds no row of {EVIDENCE} for it"


def quoted(store: Store) -> pd.DataFrame:
    """Return the quoted numbers of the paper that a store is about.

    Returns
    -------
    The rows of table ``quoted_number``, by claim and place: `claim_id` (claim it belongs to),
    `place` (section, figure or document), `quantity` (metric or other name), `subject` (model
    or lab; empty when about none), `printed` (as printed, text), `unit`, `accuracy`
    (half-width of a number read off a figure; missing when it is printed).
    """
    return store.facts(f"FROM {EVIDENCE} ORDER BY ALL")


def at(store: Store, place: str) -> pd.DataFrame:
    """Return the numbers quoted from one place; see `quoted`."""
    rows = quoted(store)
    return rows[rows["place"] == place].reset_index(drop=True)


def text(store: Store, place: str, quantity: str, subject: str = "") -> str:
    """Return one number quoted from one place, as printed.

    Raises
    ------
    LookupError
        If it is not there exactly once.
    """
    rows = at(store, place)
    chosen = rows.loc[(rows["quantity"] == quantity) & (rows["subject"] == subject), "printed"]
    if len(chosen) != 1:
        raise LookupError(f"the {quantity} printed in {place} is not in the store ({EVIDENCE})")
    return str(chosen.iloc[0])
