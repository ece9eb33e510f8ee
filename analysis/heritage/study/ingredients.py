"""Which part of a recipe moves growth: the screening of ingredients, and what it foretells."""

from __future__ import annotations

import pandas as pd

from analysis.heritage.study import horizons, registered, screening
from analysis.inference.effects.multiplicity import adjust
from analysis.store import Store

STUDY, CHECK = "ingredients", "ingredients_check"

#: How many of the largest effects are added up to foretell other cells, as registered.
ADDED = 5


def effects(store: Store, response: str = "excess") -> pd.DataFrame:
    """Return the effect of each ingredient at equal steps, the largest first.

    Returns
    -------
    As `screening.main_effects`, two rows per ingredient by `method`, with `p_adjusted`, `n_tests`
    and `adjustment` over the ingredients of a method (Holm).
    """
    table = screening.main_effects(*_screened(store, response))
    table = table.assign(term=table["term"].str.removesuffix("_level"))
    table = adjust(table, family="method")
    return table.sort_values("estimate", key=abs, ascending=False, kind="stable", ignore_index=True)


def additivity(store: Store, response: str = "excess") -> pd.DataFrame:
    """Return how much of the differences the ingredients make each by itself.

    Not registered: it says why the registered sum foretells as it does. The fraction has resolution
    IV: what three ingredients do together counts as what one of the others does by itself.

    Returns
    -------
    As `screening.additivity`.
    """
    return screening.additivity(*_screened(store, response))


def foretold(store: Store, response: str = "excess") -> pd.DataFrame:
    """Return how well the sum of the largest effects foretells the cells that were not screened.

    Returns
    -------
    As `screening.foretold`.
    """
    screened, _, low = _screened(store, response)
    others = horizons.responses(store, CHECK)
    table = screening.main_effects(screened, response, low)
    terms = screening.largest_terms(table, ADDED)
    return screening.foretold(screened, others, response, low, terms)


def _screened(store: Store, response: str) -> tuple[pd.DataFrame, str, pd.Series]:
    """Return the runs of the screening, their response, and the low level of each factor."""
    screened = horizons.responses(store, STUDY)
    return screened, response, registered.levels_of(screened)
