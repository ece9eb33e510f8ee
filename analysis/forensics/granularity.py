"""Which numbers of units a printed share can be of."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd

from analysis.forensics.rounding import Printed, read
from analysis.tidy import glossary


def denominators(share: str, largest: int) -> pd.DataFrame:
    """Return every number of units of which some share prints as quoted, in percent.

    Parameters
    ----------
    share
        As printed, in percent: ``80 %``.
    largest
        Largest number of units to try.

    Returns
    -------
    One row per possible count: `n_obs` (units), `n_hits` (units counted in), `estimate`
    [share].

    >>> denominators("43.75 %", 20)["n_obs"].tolist()
    [16]
    """
    printed = read(share)
    rows = [
        {"n_obs": n, "n_hits": hits, "estimate": hits / n}
        for n in range(1, largest + 1)
        for hits in hits_of(printed, n)
    ]
    return glossary.table(rows, columns=["n_obs", "n_hits", "estimate"])


def hits_of(share: Printed, n: int) -> list[int]:
    """Return how many of n units make a share that prints as quoted, in percent.

    >>> hits_of(read("80 %"), 5), hits_of(read("80 %"), 6)
    ([4], [])
    """
    return [
        hits
        for hits in range(n + 1)
        if share.meets(float(Fraction(100 * hits, n)), float(Fraction(100 * hits, n)))
    ]
