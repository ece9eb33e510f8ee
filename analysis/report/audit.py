"""An audit opened once: its store, the checks of its claims and the verdicts, for every page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pandas as pd

from analysis import audit as claims
from analysis.audit import paper
from analysis.audit.pages import tables
from analysis.audit.pages.tables import Words
from analysis.report.cache import Results, results_of
from analysis.store import Store, open_store


@dataclass(frozen=True)
class Audit:
    """What every page of a site rests on; claims are judged when a page first asks for it."""

    #: The data, and what is kept of results between two renderings.
    store: Store
    results: Results
    registry: Mapping[int, claims.Claim]  #: The claims, by number.
    is_cached: bool = True  #: Whether the checks are cached: not those of another paper.

    @cached_property
    def made(self) -> Mapping[int, Sequence[claims.Check]]:
        """The checks of each claim, by its number."""
        store, registry = self.store, self.registry
        if not self.is_cached:
            return claims.examine(store, registry)
        return self.results.cached("checks", lambda: claims.examine(store, registry))

    @cached_property
    def judged(self) -> pd.DataFrame:
        """One row per claim with its verdict; see `analysis.audit.evaluate`."""

        def judge() -> pd.DataFrame:
            return claims.evaluate(self.store, self.registry, made=self.made)

        return self.results.cached("verdicts", judge) if self.is_cached else judge()

    @cached_property
    def check(self) -> Callable[[int, str], Words]:
        """The function by which a page quotes a check; see `tables.quoting`."""
        return tables.quoting(self.made, self.registry)


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
    registry = paper.load(Path(folder or sources[0]))
    return Audit(store, results_of(store), registry, is_cached=not folder)
