"""The share of the maker's name, against any other grouping of the same recipes.

Labels may be exchanged between recipes that were chosen independently. A twin, the same public code
for another size of model, was not: it goes with its sibling wherever that goes.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import pandas as pd

from analysis.inference.resampling.permutation import every_assignment
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, Integers

#: Recipes of the study that differ from a sibling by what one size of model has otherwise;
#: sources stand in data/study/README.md.
TWINS: Mapping[str, str] = {"pythia_default_init": "pythia", "opt_post": "opt"}


def lab_share(
    means: pd.DataFrame,
    response: str,
    *,
    twins: Mapping[str, str] = MappingProxyType({}),
) -> pd.DataFrame:
    """Return the share of lab in the variance between recipes, against every other labelling.

    Parameters
    ----------
    means
        One row per recipe: its name, its lab and its mean response.
    response
        Column of it.
    twins
        Siblings of recipes that are not independent of them: a label is given to both.

    Returns
    -------
    One row per part, lab and recipe within lab: `term`, `estimate` (share of the sum of squares
    between recipes), `null_value` (its mean over all labellings with as many independent recipes
    per lab: without twins, for lab, labs less one over recipes less one), `p_value` (share of the
    labellings whose lab share is as large; of recipe within lab, as its share is the rest, one
    whose is as large), `smallest_p`, `n_permutations`, `n_obs` (recipes), `n_groups` (independent
    recipes), `method`.

    Raises
    ------
    DesignError
        If no lab has two independent recipes, there is one lab alone, or the recipes do not differ.
    """
    known = means.dropna(subset=[response])
    units, siblings = pd.factorize(known["recipe"].replace(dict(twins)))
    codes, names = pd.factorize(known["lab"])
    values = known[response].to_numpy(dtype=float)
    if not 1 < len(names) < len(siblings) or np.ptp(values) == 0:
        raise DesignError(
            "Recipes must differ and belong to two labs or more, one of them with two recipes; "
            f"found {len(siblings)} independent recipes of {len(names)} labs.",
            "Train more recipes of one lab.",
        )
    of_units = codes[np.unique(units, return_index=True)[1]]
    every = np.array([_share(values, labels[units]) for labels in every_assignment(of_units)])
    outcome, chance = every[0], float(every.mean())
    # The tolerance lets labellings that only rename labs tie with the one found.
    reaching = every >= outcome - 1e-12
    below = every <= outcome + 1e-12
    rows = [
        {"term": "lab", "estimate": outcome, "null_value": chance, "p_value": reaching.mean()},
        {
            "term": "recipe within lab",
            "estimate": 1 - outcome,
            "null_value": 1 - chance,
            "p_value": below.mean(),
        },
    ]
    return glossary.table(
        pd.DataFrame(rows).assign(
            smallest_p=float((every >= every.max() - 1e-12).mean()),
            n_permutations=len(every),
            n_obs=len(known),
            n_groups=len(siblings),
            method="exact permutation of labels",
        )
    )


def _share(values: Floats, labels: Integers) -> float:
    """Return the sum of squares between labels over the total."""
    deviations = values - values.mean()
    sums = np.bincount(labels, deviations)
    return float((sums**2 / np.bincount(labels)).sum() / (deviations**2).sum())
