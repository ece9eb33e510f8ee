"""Every number the paper, and our notes on its files, state: computed again, or why it cannot be.

The numbers are data (table ``stated_number``): each has its place, the number as printed, and a
query over the store that computes it. A query returns one row; what is not SQL's business, such as
a p-value, goes *through* one of a few functions. A number that nothing in the store can give has a
reason instead of a query.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy

from analysis.delia2026.transition import l_star
from analysis.delia2026.transition import published as published_l_star
from analysis.forensics import rounding
from analysis.inference.association import correlation
from analysis.store import Store, shared
from analysis.tidy import glossary, markdown, notation, prose
from analysis.tidy.errors import AnalysisError, StoreError

TABLE = "stated_number"

#: Status of a number: what was found when it was computed again.
STATUSES = ("agrees", "differs", "needs the raw files", "cannot be computed")

AGREES, DIFFERS, ABSENT, IMPOSSIBLE = STATUSES

#: Where a number stands: the paper with its readme and forum post, or our notes on its files.
PAPER, OURS = "paper", "notes"

#: A status in a table that must fit a phone; the caption says what each sign means.
SHORT = {AGREES: "=", DIFFERS: "≠", ABSENT: "raw", IMPOSSIBLE: "–"}

#: What a reader is told where the row itself gives no reason.
NOT_HELD = "The published figures do not hold it."


@shared
def ledger(store: Store) -> pd.DataFrame:
    """Return every stated number with what the store gives for it; computed once for each store.

    Parameters
    ----------
    store
        With the published figures; more numbers can be computed when it holds the imported raw
        files as well.

    Returns
    -------
    One row per number, in the order of its `stated_id`: `place`, `term` (the quantity),
    `printed` (as printed), `estimate` (computed again; missing where it cannot be), `status` (one
    of `STATUSES`) and `note` (the reason). A number agrees when the estimate prints as it does, or
    lies within the accuracy with which it was read off a figure.

    Raises
    ------
    StoreError
        If a number goes through a function that does not exist, or a query fails.
    """
    rows = [_row(store, stated) for stated in _read(store).to_dict("records")]
    return glossary.table(rows, columns=["place", "term", "printed", "estimate", "status", "note"])


def counted(ledger: pd.DataFrame) -> dict[str, int]:
    """Return how many of the numbers have each status."""
    counts = ledger["status"].value_counts()
    return {status: int(counts.get(status, 0)) for status in STATUSES}


def counted_by_source(ledger: pd.DataFrame) -> dict[str, dict[str, int]]:
    """Return how many numbers of the paper, and of our notes, have each status."""
    ours = ledger["place"].str.startswith(OURS)
    return {PAPER: counted(ledger[~ours]), OURS: counted(ledger[ours])}


#: The columns of `printable` that are Markdown.
MARKUP = ("term", "note")


def printable(ledger: pd.DataFrame, *statuses: str) -> pd.DataFrame:
    """Return the rows with one of the statuses, all of them without any, as text for a table.

    `term` begins with the place and is Markdown, like `note`; `computed` has one digit more than
    `printed`.
    """
    chosen = ledger[ledger["status"].isin(statuses)] if statuses else ledger
    rows = chosen.to_dict("records")
    return pd.DataFrame(
        {
            "term": [
                f"{markdown.literal(_source(row['place']))}: {notation.typeset(row['term'])}"
                for row in rows
            ],
            "printed": [row["printed"].replace("-", prose.MINUS) for row in rows],
            "computed": [_digits(row["printed"], row["estimate"]) for row in rows],
            "status": [SHORT[row["status"]] for row in rows],
            "note": [notation.typeset(row["note"]) for row in rows],
        }
    )


def _source(place: str) -> str:
    """Return a place as a reader knows it: our notes are not at hand, so their sections are not.

    >>> _source("notes 5.3"), _source("Fig. 2").replace(prose.NO_BREAK, " ")
    ('our notes', 'Fig. 2')
    """
    return "our notes" if place.startswith(OURS) else prose.bound(place)


def _digits(printed: str, estimate: float | None) -> str:
    """Return a number with one digit more than it is printed with, counts as counts.

    >>> _digits("62,696", 62695.8677), _digits("-0.81", -0.8784), _digits("≥ 23", 33.0)
    ('62,695.9', '−0.878', '33')
    """
    if estimate is None or math.isnan(estimate):
        return prose.MISSING
    decimals = len(printed.partition(".")[2])
    is_count = not decimals and math.isclose(estimate, round(estimate))
    return prose.number(estimate, 0 if is_count else decimals + 1)


def _row(store: Store, stated: Mapping[Any, Any]) -> tuple[object, ...]:
    head = (stated["place"], stated["quantity"], stated["printed"])
    if not stated["query"]:
        return (*head, None, IMPOSSIBLE, stated["reason"])
    values = _values(store, stated)
    if not values or any(value is None for value in values):
        return (*head, None, ABSENT, stated["reason"] or NOT_HELD)
    estimate = _THROUGH[stated["through"]](store, values)
    if math.isnan(estimate):
        return (*head, None, ABSENT, stated["reason"] or NOT_HELD)
    printed = rounding.read(stated["printed"], accuracy=_present(stated["accuracy"]))
    agrees = printed.meets(estimate, estimate)
    return (*head, estimate, AGREES if agrees else DIFFERS, "" if agrees else stated["reason"])


def _values(store: Store, stated: Mapping[Any, Any]) -> list[Any]:
    """Return the values of the first row of a query; None stands for what is not there."""
    try:
        rows = store.query(str(stated["query"]))
    except AnalysisError as error:
        raise StoreError(
            f"The query of {stated['quantity']!r} in {TABLE} must run; {error}", error.hint
        ) from error
    if rows.empty:
        return []
    return [_present(value) for value in rows.iloc[0]]


def _present(value: Any) -> Any:
    """Return a value, or None for what a query gives where there is nothing."""
    is_missing = pd.api.types.is_scalar(value) and pd.isna(value)
    return None if is_missing else value


def _read(store: Store) -> pd.DataFrame:
    rows = store.query(f"FROM {TABLE} ORDER BY stated_id")
    unknown = sorted(set(rows["through"]) - set(_THROUGH))
    if unknown:
        raise StoreError(
            f"Numbers in {TABLE} must go through a known function; found {unknown[0]!r}.",
            f"Choose from {', '.join(name for name in _THROUGH if name)}.",
        )
    return rows


def _itself(_store: Store, values: Sequence[Any]) -> float:
    return float(values[0])


def _pearson_p(_store: Store, values: Sequence[Any]) -> float:
    r, n = values
    return float(correlation.from_summary(float(r), int(n))["p_value"].iloc[0])


def _fisher_p(_store: Store, values: Sequence[Any]) -> float:
    table = np.array(values, dtype=np.int64).reshape(2, 2)
    return float(scipy.stats.fisher_exact(table).pvalue)


def _steepest_layer(_store: Store, values: Sequence[Any]) -> float:
    return l_star.argmax_abs_gradient(values[0])


def _mean_sign_change_on_noise(_store: Store, values: Sequence[Any]) -> float:
    """Return the mean first sign change of a long series of independent noise, from 1."""
    return sum(layer * l_star.sign_change_by_chance(layer) for layer in range(1, int(values[0])))


def _error_over_depth(store: Store, _values: Sequence[Any]) -> float:
    """Return the formula's error over depth on the points read off Figure 5 [percent].

    NaN where the store does not hold them.
    """
    errors = published_l_star.errors(store)
    is_ours = (errors["condition"] == published_l_star.FIGURE) & (errors["prediction"] == "formula")
    return 100 * float(errors.loc[is_ours, "error_over_depth"].mean())


_THROUGH: dict[str, Callable[[Store, Sequence[Any]], float]] = {
    "": _itself,
    "pearson_p": _pearson_p,
    "fisher_p": _fisher_p,
    "argmax_abs_gradient": _steepest_layer,
    "sign_change_on_noise": _mean_sign_change_on_noise,
    "error_over_depth": _error_over_depth,
}
