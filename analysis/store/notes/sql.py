"""A query answered in Python with the notes that the command prints under its answer."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from analysis.store.notes.caution import notes
from analysis.store.store import Store, open_store

if TYPE_CHECKING:
    import pandas as pd


class QueryWarning(UserWarning):
    """What a query takes together that should be told apart, or where it finds nothing."""


def sql(query: str, store: Store | None = None) -> pd.DataFrame:
    """Return the rows of one reading statement, and warn of what the command notes under them.

    Parameters
    ----------
    query
        One reading statement of DuckDB's SQL.
    store
        Where to ask; none to open what comes with the package, but the networks of the sample. Open
        one to ask often.
        `Store.query` answers without notes, and takes parameters.

    Returns
    -------
    A row for each row of the answer, columns as the query names them.

    Raises
    ------
    QueryError
        If the statement is not one reading statement, or DuckDB refuses it.
    StoreError
        If a file of the store is no longer where it was opened, or none can be opened.

    Warns
    -----
    QueryWarning
        For each note: rows that are not independent, unlike rows taken together, values that are
        not there, what a table holds where the answer is empty, and what an answer is of.

    Examples
    --------
    >>> import thermoscope as ts
    >>> asked = ts.sql("SELECT verdict, category, count(*) AS n FROM claim GROUP BY ALL")
    >>> asked["n"].sum().item()
    61
    """
    asked = open_store() if store is None else store
    rows = asked.query(query)
    is_there = rows.notna().any()
    lacking = [str(name) for name, there in is_there.items() if not there]
    cautions, contexts = notes(asked, query, is_empty=rows.empty, lacking=lacking)
    for sentence in [*cautions, *contexts]:
        warnings.warn(sentence, QueryWarning, stacklevel=2)
    return rows
