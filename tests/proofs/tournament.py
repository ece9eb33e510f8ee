"""The tournament of rules for the hierarchy; writes the shipped table.

``python -m tests.proofs.tournament [PROCESSES]`` writes ``data/published/rule_rate.csv``, of the
models of the paper, larger layouts and the lists of `tests.proofs.settling`, a seed for each cell.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.delia2026.tournament import choice, criterion
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
#: The rules tried there: those that are chosen, today's, and one that holds its size nearly.
RULES = (
    *("bootstrap of suites", "profile likelihood", "exact bounds"),
    *("parametric bootstrap", "posterior of new levels"),
)

#: A layout, what is planted, how often, and which rules judge.
Job = tuple[Layout, list[World], int, tuple[str, ...]]


def jobs() -> list[Job]:
    """Return the layouts with their worlds, numbers of papers and rules."""
    real = layouts.present(open_store(ROOT / "data/published"))
    rng = np.random.default_rng(SEED)
    larger = [layouts.repeated(real, n // 7) for n in SUITES]
    larger += [layouts.balanced(real, n, m, rng) for n in SUITES for m in MODELS]
    few = [
        world
        for world in worlds(alone=ALONE, shares=SHARES)
        if world.name in ALONE or world.name in TOGETHER
    ]
    every = tuple(criterion.RULES)
    return [(real, list(worlds(form)), PAPERS, every) for form in criterion.FORMS] + [
        (layout, few, PAPERS_LARGER, RULES) for layout in larger
    ]


def rates(job: Job) -> pd.DataFrame:
    """Return the rates of one job."""
    layout, planted, n_papers, names = job
    return results.rates(layout, planted, n_papers, SEED, names=names)


def main(n_processes: int) -> int:
    """Write the table and print who wins."""
    with ProcessPoolExecutor(n_processes) as pool:
        parts = [*pool.map(rates, jobs()), *pool.map(settling.rates, settling.LISTS)]
    result = pd.concat(parts, ignore_index=True)
    TABLE.write_text(to_csv(result), encoding="utf-8")
    print(choice.choice(result).to_string())
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 2))
