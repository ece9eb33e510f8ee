"""The profile likelihood on the models of the paper and on larger layouts; the shipped table.

``python -m tests.proofs.tournament [PROCESSES]`` writes ``data/published/rule_rate.csv``, a seed
for each cell. Rows of the ten rules that lost to it or to the calibrated rules stay as they are
(`tests.proofs.competing` of commit 5d230703).
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.delia2026.tournament import criterion
from analysis.store import open_store
from analysis.tidy.spreadsheet import to_csv
from tests.proofs import settling
from tests.proofs.competing import layouts, results
from tests.proofs.competing.layouts import Layout
from tests.proofs.competing.worlds import World, worlds

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "data/published/rule_rate.csv"
SEED = 20261125
#: Papers of every world on the models of the paper, and on larger layouts.
PAPERS, PAPERS_LARGER = 600, 200
#: Suites and models a suite of the larger layouts, and what is planted there.
SUITES, MODELS = (14, 28, 56), (2, 4, 8)
ALONE, SHARES = ("lab", "suite", "depth"), (0.3, 0.5, 0.8)
TOGETHER = (
    *("nothing", "lab = depth", "suite = depth", "suite = shape", "depth = scale", "lab = suite"),
)

#: A layout, what is planted and how often.
Job = tuple[Layout, list[World], int]


def jobs() -> list[Job]:
    """Return the layouts with their worlds and numbers of papers."""
    real = layouts.present(open_store(ROOT / "data/published"))
    rng = np.random.default_rng(SEED)
    larger = [layouts.repeated(real, n // 7) for n in SUITES]
    larger += [layouts.balanced(real, n, m, rng) for n in SUITES for m in MODELS]
    few = [
        world
        for world in worlds(alone=ALONE, shares=SHARES)
        if world.name in ALONE or world.name in TOGETHER
    ]
    return [(real, list(worlds(form)), PAPERS) for form in criterion.FORMS] + [
        (layout, few, PAPERS_LARGER) for layout in larger
    ]


def rates(job: Job) -> pd.DataFrame:
    """Return the rates of one job."""
    return results.rates(*job, SEED)


def main(n_processes: int) -> int:
    """Write the table."""
    with ProcessPoolExecutor(n_processes) as pool:
        parts = [*pool.map(rates, jobs()), *pool.map(settling.rates, settling.LISTS)]
    result = results.replaced(pd.read_csv(TABLE), pd.concat(parts, ignore_index=True))
    TABLE.write_text(to_csv(result), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 2))
