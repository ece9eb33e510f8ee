"""What suites, labs and size add to depth, in both orders of entry, with permutation tests.

A suite is a recipe: its models share data, code, initialisation and schedule. A lab stands above
its suites, so a suite says all that its lab says: labs given suites add nothing, suites given
labs only what parts the suites of one lab.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.heritage.suites.models import DEPTH, SCALE, SHAPE
from analysis.inference.resampling.freedman_lane import freedman_lane
from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError

#: Of the permutations.
SEED = 20261122
PERMUTATIONS = 9999


@dataclass(frozen=True, slots=True)
class Entry:
    """Terms that enter beside others.

    Attributes
    ----------
    added
        Columns that enter.
    given
        Columns that are in before.
    within
        Factor within whose levels rows are exchanged.
    units
        Whether models (None) or the means of this factor's levels are the rows.
    """

    added: tuple[str, ...]
    given: tuple[str, ...]
    within: str | None = None
    units: str | None = None


#: Both orders of labs and suites, and size last. Labs are tested with models as rows, which
#: supposes that suites of a lab are alike, and with means of suites as rows, which does not.
ENTRIES = (
    Entry(("suite",), (DEPTH,)),
    Entry(("lab",), (DEPTH,)),
    Entry(("lab",), (DEPTH,), units="suite"),
    Entry(("suite",), (DEPTH, "lab"), within="lab"),
    Entry(("lab",), (DEPTH, "suite")),
    Entry(("suite",), (DEPTH, *SHAPE, SCALE)),
    Entry((SCALE,), (DEPTH, *SHAPE, "suite")),
    Entry((DEPTH,), ("suite",), within="suite"),
)


def orders_of_entry(
    models: pd.DataFrame, *, n_permutations: int = PERMUTATIONS, seed: int = SEED
) -> pd.DataFrame:
    """Return what each entry of `ENTRIES` adds to the explained variance of log gain.

    Parameters
    ----------
    models
        As `models.base_models` returns them.
    n_permutations
        Orders drawn where they are not enumerated.
    seed
        Of the draws, alike for every entry.

    Returns
    -------
    One row per entry: `term`, `condition` (what is in before), `unit` (model, or suite where
    the rows are means of suites), and the columns of `freedman_lane`. What cannot be tested has
    missing numbers, and `note` says why.
    """
    rows = [_tested(models, entry, n_permutations, seed) for entry in ENTRIES]
    result = pd.concat(rows, ignore_index=True)
    glossary.checked(result.columns)
    return result


def _tested(models: pd.DataFrame, entry: Entry, n_permutations: int, seed: int) -> pd.DataFrame:
    named = {
        "term": " + ".join(entry.added),
        "condition": " + ".join(entry.given),
        "unit": entry.units or "model",
    }
    rows = models if entry.units is None else means_of(models, entry.units)
    reduced = "log_gain ~ " + " + ".join(entry.given)
    try:
        result = freedman_lane(
            rows,
            reduced,
            " + ".join([reduced, *entry.added]),
            within=entry.within,
            rng=np.random.default_rng(seed),
            n_permutations=n_permutations,
        )
    except AnalysisError as error:
        result = pd.DataFrame({"n_obs": [len(rows)], "note": [error.problem]})
    return result.assign(**named)


def means_of(models: pd.DataFrame, unit: str) -> pd.DataFrame:
    """Return one row per level of a factor: means of numbers, labels where all rows agree."""
    groups = models.groupby(unit, as_index=False, sort=True)
    numbers = [name for name in ("log_gain", DEPTH, *SHAPE, SCALE) if name in models]
    means = groups[numbers].mean()
    return means.merge(models[[unit, "lab"]].drop_duplicates(), on=unit)
