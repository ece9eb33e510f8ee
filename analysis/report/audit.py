"""An audit opened once: its store, the checks of its claims and the verdicts, for every page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd

from analysis import audit as claims
from analysis.audit import paper
from analysis.report.cache import Results, results_of
from analysis.store import Store, open_store


@dataclass(frozen=True, slots=True)
class Audit:
    """What every page of a site rests on."""

    #: The data, and what is kept of results between two renderings.
    store: Store
    results: Results
    registry: Mapping[int, claims.Claim]  #: The claims, by number.
    #: The checks of each claim, and one row per claim with its verdict.
    made: Mapping[int, Sequence[claims.Check]]
    judged: pd.DataFrame


@cache
def opened(*sources: str, folder: str = "") -> Audit:
    """Return an audit, the same one to all pages that one process makes.

    Parameters
    ----------
    sources
        Directories or files of data; the first holds the claims unless a folder is named.
    folder
        The folder of another paper, whose claims are judged. It is a source too.
    """
    store = open_store(*(Path(name) for name in (*([folder] if folder else []), *sources)))
    results = results_of(store)
    registry = paper.load(Path(folder or sources[0]))
    made = (
        claims.examine(store, registry)
        if folder
        else results.cached("checks", lambda: claims.examine(store, registry))
    )
    judged = claims.evaluate(store, registry, made=made)
    return Audit(store, results, registry, made, judged)
