"""What a paper prints, as data: one row per quoted number, with its place."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from analysis.errors import StoreError
from analysis.store import Store

FILE = "quoted.csv"

#: What a check names as its evidence.
EVIDENCE = "quoted"

COLUMNS = ["claim_id", "place", "quantity", "subject", "value", "unit", "accuracy"]


def quoted(store: Store) -> pd.DataFrame:
    """Return the quoted numbers of the paper that a store is about.

    They lie in `quoted.csv` beside the other tables of the published figures.

    Returns
    -------
    One row per number: `claim_id` (claim it belongs to), `place` (section, figure or
    document), `quantity` (metric or other name), `subject` (model or lab; empty when about
    none), `value` (as printed, text), `unit`, `accuracy` (half-width of a number read off a
    figure; missing when it is printed). No row when none of the sources has the file.

    Raises
    ------
    StoreError
        If a file lacks a column, or a claim_id is no number.
    """
    files = [source / FILE for source in store.sources if (source / FILE).is_file()]
    tables = [read_quoted(path) for path in files]
    if not tables:
        return pd.DataFrame(columns=COLUMNS)
    return pd.concat(tables, ignore_index=True)


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
    chosen = rows.loc[(rows["quantity"] == quantity) & (rows["subject"] == subject), "value"]
    if len(chosen) != 1:
        raise LookupError(f"the {quantity} printed in {place} is not in the store ({FILE})")
    return str(chosen.iloc[0])


def read_quoted(path: Path) -> pd.DataFrame:
    """Return the rows of one file; see `quoted`."""
    try:
        rows = pd.read_csv(path, dtype=str, keep_default_na=False)
        if missing := [name for name in COLUMNS if name not in rows.columns]:
            raise ValueError(f"it lacks {', '.join(missing)}")
        return rows[COLUMNS].assign(
            claim_id=rows["claim_id"].astype("int64"),
            accuracy=pd.to_numeric(rows["accuracy"].replace("", None)).astype("float64"),
        )
    except (OSError, ValueError) as error:
        raise StoreError(
            f"{path} must be a table of quoted numbers; {error}.",
            f"Its columns are {', '.join(COLUMNS)}.",
        ) from error
