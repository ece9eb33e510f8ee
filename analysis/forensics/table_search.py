"""Which tables of counts could stand behind printed shares and a printed p-value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import comb, prod

import pandas as pd

from analysis.forensics.granularity import hits_of
from analysis.forensics.rounding import Printed, read
from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError, DesignError
from analysis.tidy.frame import require_count

#: Tables enumerated at most, for one exact p and for one search.
MOST_TABLES = 2_000_000


def tables(
    shares: Sequence[str], p_value: str, *, n: int | None = None, sizes: Sequence[int] = ()
) -> pd.DataFrame:
    """Return every 2xk table with the printed shares, and whether it gives the printed p.

    Parameters
    ----------
    shares
        Share of units with the outcome in each group, in percent as printed: ``80 %``.
    p_value
        As printed: ``< 0.001``.
    n
        Units in all groups together, when the sizes of the groups are not known.
    sizes
        Units in each group, instead of `n`.

    Returns
    -------
    One row per table and group: `table` (from 0), `group` (from 0, in the order of the
    shares), `n_hits`, `n_obs` (of the group), `p_value` (of the table: Fisher's exact test,
    two-sided), `consistent` (whether that p prints as quoted), `method`.

    Raises
    ------
    AnalysisError
        If neither or both of `n` and `sizes` are given, or a text is not one number.
    DesignError
        If there are fewer than two groups, or too many tables to enumerate.

    >>> found = tables(["80 %", "0 %"], "< 0.001", n=23)
    >>> found[found["consistent"]].groupby("table")["n_obs"].first().tolist()
    [5, 10, 15]
    """
    sizes = list(sizes)
    _check_margins(shares, n, sizes)
    printed, quoted = [read(share) for share in shares], read(p_value)
    rows = []
    for place, (hits, totals) in enumerate(_candidates(printed, n, sizes)):
        p = exact_p(hits, totals)
        rows += [
            {
                "table": place,
                "group": group,
                "n_hits": hits[group],
                "n_obs": totals[group],
                "p_value": p,
                "consistent": quoted.meets(p, p),
                "method": "Fisher's exact test, two-sided",
            }
            for group in range(len(totals))
        ]
    columns = ["table", "group", "n_hits", "n_obs", "p_value", "consistent", "method"]
    return glossary.table(rows, columns)


def exact_p(hits: Sequence[int], totals: Sequence[int]) -> float:
    """Return the two-sided exact p of a 2xk table: Fisher's for k = 2, Freeman-Halton beyond.

    Sums the probabilities, given both margins, that do not exceed that of the table; 1 when a
    margin is zero.

    Parameters
    ----------
    hits, totals
        Units with the outcome, and all units, of each group.

    Raises
    ------
    DesignError
        If a count is not between 0 and its total, or the margins admit too many tables to
        enumerate.

    >>> round(exact_p([3, 1], [4, 4]), 4)
    0.4857
    """
    if not totals or not all(0 <= hit <= total for hit, total in zip(hits, totals, strict=True)):
        raise DesignError(
            f"Every group must have between 0 and all of its units with the outcome; found "
            f"{list(hits)} of {list(totals)}.",
            "Give counts, not shares.",
        )
    outcome = sum(hits)
    if prod(total + 1 for total in totals[:-1]) > MOST_TABLES:
        raise DesignError(
            f"At most {MOST_TABLES:,} tables can be enumerated; {list(totals)} allow more.",
            "Merge groups, or simulate the p.",
        )
    firsts = product(*(range(total + 1) for total in totals[:-1]))
    weights = [
        prod(map(comb, totals, (*first, outcome - sum(first))))
        for first in firsts
        if 0 <= outcome - sum(first) <= totals[-1]
    ]
    observed = prod(map(comb, totals, hits))
    # Whole numbers: ties are exact, and no weight is too large.
    return sum(weight for weight in weights if weight <= observed) / sum(weights)


def _candidates(
    shares: Sequence[Printed], n: int | None, sizes: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield counts and sizes of the groups that have the printed shares."""
    splits = [tuple(sizes)] if n is None else list(_splits(n, len(shares)))
    for totals in splits:
        choices = [hits_of(share, total) for share, total in zip(shares, totals, strict=True)]
        for hits in product(*choices):
            yield hits, totals


def _splits(n: int, groups: int) -> Iterator[tuple[int, ...]]:
    """Yield the ways to split n units into groups of at least one."""
    if groups == 1:
        yield (n,)
        return
    for first in range(1, n - groups + 2):
        for rest in _splits(n - first, groups - 1):
            yield (first, *rest)


def _check_margins(shares: Sequence[str], n: int | None, sizes: Sequence[int]) -> None:
    if (n is None) == (not sizes):
        raise AnalysisError(
            f"Either `n` or `sizes` must be given; found {n!r} and {list(sizes)!r}.",
            "Give `sizes` when the paper prints the size of each group, else `n`.",
        )
    if len(shares) < 2 or (sizes and len(sizes) != len(shares)):
        raise DesignError(
            f"A table needs two or more groups, each with a share and a size; found "
            f"{len(shares)} shares and {len(sizes)} sizes.",
            "Give one share per group.",
        )
    for units in sizes if n is None else (n,):
        require_count("units", units)
    if n is not None and comb(max(n - 1, 0), len(shares) - 1) > MOST_TABLES:
        raise DesignError(
            f"At most {MOST_TABLES:,} splits can be searched; {n} units in {len(shares)} groups "
            "allow more.",
            "Give the sizes of the groups.",
        )
