"""What lists of public models could tell of the ranking, and what they take.

``python -m tests.proofs.settling`` lets the profile likelihood judge worlds planted on lists of
``data/study``, writes ``data/published/rule_rate.csv``, and prints its power on each list and what
measuring the list costs by the model of ``collect plan``.
"""

from __future__ import annotations

import re
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.delia2026.tournament import criterion, designs
from analysis.tidy.spreadsheet import to_csv
from collect.job.planning import estimate
from tests.proofs.competing import results
from tests.proofs.competing.layouts import Layout
from tests.proofs.competing.worlds import World, worlds

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "data/published/rule_rate.csv"
#: The lists of public models that are about this claim; the last is the answer.
LISTS = [ROOT / f"data/study/{name}.txt" for name in ("public_models", "settling", "settling_30")]
SEED, PAPERS = 20261125, 4000
SHARES = (0.3, 0.5, 0.8)
LINE = re.compile(r"(\S+)  # (.+?), (.+?): (\d+), (\d+), (\d+), (\d+)")
#: Operations per second that the time is for, and tokens of each prompt of the paper's first set.
THROUGHPUT, PROMPTS, TOKENS = 1e11, 25, 12


HAS = ("has_heads", "has_head", "has_parts", "has_mid", "has_final_norm", "has_gain")


def listed(path: Path) -> pd.DataFrame:
    """Return one row per model of a list: name, lab, suite, shape and millions of parameters."""
    result = [
        match.groups() for line in path.read_text().splitlines() if (match := LINE.match(line))
    ]
    names = ["model_id", "lab", "suite", "n_layers", "n_heads", "d_head", "millions"]
    rows = pd.DataFrame(result, columns=names)
    numeric = rows[names[3:]].astype(float)
    return rows.assign(
        **numeric,
        rho=numeric["n_heads"] / numeric["d_head"],
        log_parameters=np.log10(numeric["millions"]) + 6,
    )


def layout(path: Path) -> Layout:
    """Return the models of a list as a layout named like its file."""
    return Layout(path.stem, listed(path), 0)


def planted() -> list[World]:
    """Return the worlds of the criterion, what rules alone at the shares that are asked for."""
    return [world for form in criterion.FORMS for world in worlds(form, shares=SHARES)]


def rates(path: Path) -> pd.DataFrame:
    """Return how often the rule says yes and no of papers on a list."""
    return results.rates(layout(path), planted(), PAPERS, SEED)


def cost(models: pd.DataFrame) -> tuple[float, float, float]:
    """Return gigabytes to fetch, the most memory of a model [GB], and minutes."""
    minutes, memory = 0.0, 0.0
    lengths, asked = [TOKENS] * PROMPTS, ("stream",)
    how = {"dtype": "float32", "batch_size": 8}
    for row in models.to_dict("records"):
        size, depth = int(row["millions"] * 1e6), int(row["n_layers"])
        n_heads, d_head = int(row["n_heads"]), int(row["d_head"])
        shape = estimate.Shape(
            **{"n_layers": depth, "n_heads": n_heads, "d_model": n_heads * d_head},
            **{"d_head": d_head, "n_vocabulary": 50_000, "n_parameters": size},
            largest_block=size // depth,
            **dict.fromkeys(HAS, True),
            has_contiguous=False,
        )
        counted = estimate.n_rows(shape, lengths, asked)
        taken = {"asked": asked, "throughput": THROUGHPUT, **how}
        minutes += estimate.duration_s(shape, lengths, counted, **taken) / 60
        peak = estimate.peak_bytes(shape, lengths, streamed=False, **how)
        memory = max(memory, peak / 1e9)
    return float(models["millions"].sum() * 2e6 / 1e9), memory, minutes


def main(n_processes: int) -> int:
    """Write the rates of all lists, and print what each would tell and take."""
    with ProcessPoolExecutor(n_processes) as pool:
        result = pd.concat(pool.map(rates, LISTS), ignore_index=True)
    costs = [cost(listed(path)) for path in LISTS]
    TABLE.write_text(to_csv(results.replaced(pd.read_csv(TABLE), result)), encoding="utf-8")
    for path, (gigabytes, memory, minutes) in zip(LISTS, costs, strict=True):
        models = listed(path)
        print(
            f"{path.name}: {len(models)} models, {models['suite'].nunique()} suites, "
            f"{models['lab'].nunique()} labs; {gigabytes:.0f} GB of weights, "
            f"{memory:.0f} GB of memory at most, {minutes:.0f} minutes"
        )
    print(designs.rates(result).to_string())
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 2))
