"""Whether exact unconditional intervals agree with their tests, table by table.

Run with ``python -m tests.proofs.unconditional_intervals [LARGER] [SMALL]`` from the root of the
repository: every table of groups of up to SMALL (12) and as many units, and LARGER (10,000) seeded
ones of groups of up to 40. Prints counts; the exit code is 1 if a table fails. An interval fails
if it leaves out no difference though the one-sided score tests accept it; if a value outside is
accepted, of two tried beyond each end, close by and far; if an end is rejected; or if it
contradicts the p printed beside it and the note is silent. It may hold no difference though the
tests reject it: the values accepted need not be connected, and it runs to the outermost.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd

from analysis.inference.counts import unconditional
from analysis.inference.counts.unconditional_interval import OneSided

ALPHA = 0.05
SEED = 12
LARGEST = 40

#: An end is found to this distance.
FOUND = 1e-9

#: Shares of `ROOM` by which tried values lie outside an end: close by, and far.
OUTSIDE = (1e-3, 0.1)

#: Log odds that `OUTSIDE` is a share of.
ROOM = 8.0

#: Larger tables drawn for the same two sizes.
TOGETHER = 20

#: Counts and sizes of two groups.
Table = tuple[tuple[int, int], tuple[int, int]]


def main() -> None:
    """Examine all small tables and the larger ones, and print the counts."""
    n_larger = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    small = int(sys.argv[2]) if len(sys.argv) > 2 else 12
    rng = np.random.default_rng(SEED)
    failed = False
    for name, chosen in (
        (f"every table up to {small} by {small}", tables(small)),
        (f"groups of 13 to {LARGEST}", larger(rng, n_larger)),
    ):
        start = time.process_time()
        found = examine(chosen, rng)
        failed |= any(found[kind] for kind in FAILURES)
        print(f"{name}: {time.process_time() - start:.0f} CPU s")
        for kind, count in found.items():
            print(f"  {count:7} {kind}")
    sys.exit(int(failed))


def tables(
    largest: int, rng: np.random.Generator | None = None, n_tables: int = 0
) -> Iterator[Table]:
    """Yield every table of groups of up to so many units, or so many of them drawn by a rng."""
    sizes = itertools.product(range(1, largest + 1), repeat=2)
    every = [
        (counts, pair)
        for pair in sizes
        for counts in itertools.product(range(pair[0] + 1), range(pair[1] + 1))
        if 0 < sum(counts) < sum(pair)
    ]
    if rng is None:
        yield from every
    else:
        yield from (every[int(place)] for place in rng.integers(0, len(every), n_tables))


def larger(rng: np.random.Generator, n_tables: int) -> Iterator[Table]:
    """Yield tables of groups of 13 to 40 units."""
    drawn = 0
    while drawn < n_tables:
        sizes = int(rng.integers(13, LARGEST + 1)), int(rng.integers(13, LARGEST + 1))
        for _ in range(min(TOGETHER, n_tables - drawn)):
            counts = int(rng.integers(0, sizes[0] + 1)), int(rng.integers(0, sizes[1] + 1))
            if 0 < sum(counts) < sum(sizes):
                drawn += 1
                yield counts, sizes


FAILURES = (
    "leave out no difference, which is accepted",
    "accepted outside",
    "rejected at an end",
    "disagree with the printed p, not said",
)


def examine(chosen: Iterable[Table], rng: np.random.Generator) -> Counter[str]:
    """Return how many tables there were, and how many intervals failed in which way."""
    found = Counter({"tables": 0, **dict.fromkeys(FAILURES, 0)})
    for counts, sizes in chosen:
        found["tables"] += 1
        cells = [[counts[0], sizes[0] - counts[0]], [counts[1], sizes[1] - counts[1]]]
        row = unconditional.barnard(pd.DataFrame(cells)).iloc[0]
        with np.errstate(divide="ignore"):
            ends = [float(np.log(row[end])) for end in ("conf_low", "conf_high")]
        excluded = not ends[0] <= 0 <= ends[1]
        rejected = _score_p(counts, sizes) <= ALPHA
        found[FAILURES[0]] += excluded and not rejected
        found["hold no difference, rejected, for a value farther out is accepted"] += (
            rejected and not excluded
        )
        outside, inside = _ends(counts, sizes, ends, rng)
        found[FAILURES[1]] += outside
        found[FAILURES[2]] += inside
        said = "disagree at this level" in row["note"]
        contradicts = (row["p_value"] <= ALPHA) != excluded
        found["disagree with the printed p, said"] += said and contradicts
        found[FAILURES[3]] += said != contradicts
    return found


def _score_p(counts: tuple[int, int], sizes: tuple[int, int]) -> float:
    """Return twice the smaller one-sided p of the score test of no difference."""
    sides = [
        unconditional.p_value(counts, sizes, test="barnard", alternative=side)
        for side in ("less", "greater")
    ]
    return 2 * min(sides)


def _ends(
    counts: tuple[int, int],
    sizes: tuple[int, int],
    ends: list[float],
    rng: np.random.Generator,
) -> tuple[bool, bool]:
    """Return whether a value outside is accepted, and whether an end is rejected."""
    outside, at_end = False, False
    for end, side in zip(ends, (1, -1), strict=True):
        if np.isinf(end):
            continue
        test = OneSided(counts, sizes, side)
        tried = end - side * ROOM * np.array(OUTSIDE) * rng.uniform(0.5, 1)
        outside |= any(test.tail(float(value)) > ALPHA / 2 for value in tried)
        at_end |= max(test.tail(end + side * step) for step in (0, FOUND)) <= ALPHA / 2 - FOUND
    return outside, at_end


if __name__ == "__main__":
    main()
