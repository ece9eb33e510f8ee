"""The tournament of rules for the hierarchy; writes the shipped table.

``python -m tests.proofs.tournament [PROCESSES]`` plants the worlds of
`analysis.heritage.tournament.criterion` on the models of the paper and on lists of public models,
``data/study/*.txt``, and puts the rates of `results.RULES` into ``data/published/rule_rate.csv``.
Every cell comes again alone, from its own seed. Rows of the rules that lost, and of larger
layouts, are those of commit 76e9150f, whose program has them.
"""

from __future__ import annotations

import re
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.heritage.tournament import choice, criterion, designs
from analysis.store import open_store
from analysis.tidy.spreadsheet import to_csv
from tests.proofs.competing import layouts, results
from tests.proofs.competing.layouts import Layout
from tests.proofs.competing.worlds import World, worlds

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "data/published/rule_rate.csv"
SEED = 20261125
#: Papers of every world on the models of the paper.
PAPERS = 600
#: The lists of public models, papers of every world on them, and what rules there.
LISTS = [ROOT / f"data/study/{name}.txt" for name in ("public_models", "settling", "settling_30")]
PAPERS_OF_LISTS, SHARES = 4000, (0.3, 0.5, 0.8)
LINE = re.compile(r"(\S+)  # (.+?), (.+?): (\d+), (\d+), (\d+), (\d+)")

#: A layout, what is planted, how often, and which rules judge.
Job = tuple[Layout, list[World], int, tuple[str, ...]]


def listed(path: Path) -> pd.DataFrame:
    """Return one row per model of a list: name, lab, suite, shape and millions of parameters."""
    matches = [LINE.match(line) for line in path.read_text().splitlines()]
    names = ["model_id", "lab", "suite", "n_layers", "n_heads", "d_head", "millions"]
    rows = pd.DataFrame([match.groups() for match in matches if match], columns=names)
    numeric = rows[names[3:]].astype(float)
    return rows.assign(
        **numeric,
        rho=numeric["n_heads"] / numeric["d_head"],
        log_parameters=np.log10(numeric["millions"]) + 6,
    )


def jobs() -> list[Job]:
    """Return the layouts with their worlds, numbers of papers and rules."""
    real = layouts.present(open_store(ROOT / "data/published"))
    of_lists = [world for form in criterion.FORMS for world in worlds(form, shares=SHARES)]
    return [(real, list(worlds(form)), PAPERS, results.RULES) for form in criterion.FORMS] + [
        (Layout(path.stem, listed(path), 0), of_lists, PAPERS_OF_LISTS, (designs.RULE,))
        for path in LISTS
    ]


def rates(job: Job) -> pd.DataFrame:
    """Return the rates of one job."""
    layout, planted, n_papers, names = job
    return results.rates(layout, planted, n_papers, SEED, names=names)


def main(n_processes: int) -> int:
    """Put the rates into the table and print who wins."""
    with ProcessPoolExecutor(n_processes) as pool:
        made = pd.concat(pool.map(rates, jobs()), ignore_index=True)
    shipped = pd.read_csv(TABLE)
    keys = ["layout", "rule"]
    again = pd.MultiIndex.from_frame(shipped[keys]).isin(pd.MultiIndex.from_frame(made[keys]))
    table = pd.concat([shipped[~again], made], ignore_index=True)
    TABLE.write_text(to_csv(table), encoding="utf-8")
    print(choice.choice(table).to_string())
    print(designs.rates(table).to_string())
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 2))
