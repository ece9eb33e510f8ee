"""What a list of public models could tell of the ranking, and what it takes.

``python -m tests.proofs.settling [FILE ...]`` plants papers on the labs, suites and shapes of such
lists (by default ``data/study/settling.txt``) and prints the power of the chosen rules at shares of
.3, .5 and .8, and the cost by the model of ``collect plan``: weights to fetch at two bytes a
parameter, memory and time in float32.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.heritage.tournament import tables
from analysis.store import open_store
from collect.job.planning import estimate
from tests.proofs.competing import results
from tests.proofs.competing.layouts import Layout
from tests.proofs.competing.worlds import World

ROOT = Path(__file__).parents[2]
LIST = ROOT / "data/study/settling.txt"
SEED, PAPERS = 20261125, 300
SHARES = (0.3, 0.5, 0.8)
LINE = re.compile(r"(\S+)  # (.+?), (.+?): (\d+), (\d+), (\d+), (\d+)")
#: Operations per second that the time is for, and tokens of each prompt of the paper's first set.
THROUGHPUT, PROMPTS, TOKENS = 1e11, 25, 12


def listed(path: Path) -> pd.DataFrame:
    """Return one row per model of a list: name, lab, suite, shape and millions of parameters."""
    found = [
        match.groups() for line in path.read_text().splitlines() if (match := LINE.match(line))
    ]
    names = ["model_id", "lab", "suite", "n_layers", "n_heads", "d_head", "millions"]
    rows = pd.DataFrame(found, columns=names)
    numeric = rows[names[3:]].astype(float)
    return rows.assign(
        **numeric,
        rho=numeric["n_heads"] / numeric["d_head"],
        log_parameters=np.log10(numeric["millions"]) + 6,
    )


def power(layout: Layout) -> pd.DataFrame:
    """Return how often the chosen rules say yes where one component alone rules."""
    by_rule = tables.winners(tables.rates(open_store(ROOT / "data/published")))
    worlds = [
        World(world, {world: share})
        for world in dict.fromkeys(tables.RULING.values())
        for share in SHARES
    ]
    found = results.rates(layout, worlds, PAPERS, SEED, names=set(by_rule.values()))
    return pd.concat(
        found[
            (found["statement"] == statement)
            & (found["rule"] == rule)
            & (found["world"] == tables.RULING[statement])
        ]
        for statement, rule in by_rule.items()
    )


def cost(models: pd.DataFrame) -> tuple[float, float, float]:
    """Return gigabytes to fetch, the most memory of a model [GB], and minutes."""
    minutes, memory = 0.0, 0.0
    lengths = [TOKENS] * PROMPTS
    for row in models.to_dict("records"):
        size, depth = int(row["millions"] * 1e6), int(row["n_layers"])
        shape = estimate.Shape(
            n_layers=depth,
            n_heads=int(row["n_heads"]),
            d_model=int(row["n_heads"] * row["d_head"]),
            d_head=int(row["d_head"]),
            n_vocabulary=50_000,
            n_parameters=size,
            largest_block=size // depth,
            largest_tensor=size // 10,
            has_heads=True,
            has_head=True,
            has_parts=True,
            has_mid=True,
            has_final_norm=True,
            has_gain=True,
            has_contiguous=False,
        )
        how = {"dtype": "float32", "batch_size": 8}
        asked = ("stream",)
        counted = estimate.n_rows(shape, lengths, asked)
        minutes += estimate.duration_s(shape, lengths, counted, throughput=THROUGHPUT, **how) / 60
        peak = estimate.peak_bytes(shape, lengths, streamed=False, **how)
        memory = max(memory, peak / 1e9)
    return float(models["millions"].sum() * 2e6 / 1e9), memory, minutes


def main(paths: list[Path]) -> None:
    """Print power and cost of each list."""
    for path in paths:
        models = listed(path)
        gigabytes, memory, minutes = cost(models)
        print(
            f"{path.name}: {models['lab'].nunique()} labs; {gigabytes:.0f} GB of weights, ", end=""
        )
        print(f"{memory:.0f} GB of memory at most, {minutes:.0f} minutes", flush=True)
        print_power(Layout(path.stem, models, 0))


def print_power(layout: Layout) -> None:
    """Print the power at one layout."""
    found = power(layout)
    print(f"{layout.name}: {len(layout)} models of {layout.suites.max() + 1} suites")
    shown = found.pivot_table(index=["statement", "rule"], columns="share", values="share_yes")
    print(shown.round(3).to_string(), flush=True)


if __name__ == "__main__":
    main([Path(one) for one in sys.argv[1:]] or [LIST])
