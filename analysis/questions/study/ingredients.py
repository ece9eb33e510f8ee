"""Which part of a recipe moves growth: the screening of ingredients, and what it foretells."""

from __future__ import annotations

import pandas as pd

from analysis.inference.effects.multiplicity import adjust
from analysis.questions.study import horizons, registered, screening
from analysis.store import Store
from analysis.tidy.errors import DesignError

STUDY, CHECK = "ingredients", "ingredients_check"

#: How many of the largest effects are added up to foretell other cells, as registered.
ADDED = 5


def effects(store: Store, response: str = "excess") -> pd.DataFrame:
    """Return the effect of each ingredient at equal steps, the largest first.

    Returns
    -------
    As `screening.main_effects`, two rows per ingredient by `method`, with `p_adjusted`, `n_tests`
    and `adjustment` over the ingredients of a method (Holm); empty while networks lack.
    """
    try:
        screened = horizons.responses(store, STUDY)
        table = screening.main_effects(screened, response, registered.levels_of(screened))
    except DesignError:
        return pd.DataFrame()
    table = table.assign(term=table["term"].str.removesuffix("_level"))
    table = adjust(table, family="method")
    return table.sort_values("estimate", key=abs, ascending=False, kind="stable", ignore_index=True)


def foretold(store: Store, response: str = "excess") -> pd.DataFrame:
    """Return how well the sum of the largest effects foretells the cells that were not screened.

    Returns
    -------
    As `screening.foretold`; empty while networks lack.
    """
    try:
        screened, others = (horizons.responses(store, study) for study in (STUDY, CHECK))
        low = registered.levels_of(screened)
        table = screening.main_effects(screened, response, low)
    except DesignError:
        return pd.DataFrame()
    terms = screening.largest_terms(table, ADDED)
    return screening.foretold(screened, others, response, low, terms)
