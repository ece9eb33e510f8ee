"""What the sums of a mixed model cost beside the bare scan and GROUP BY of the same file.

    python -m tests.benchmarks.mixed_scan --rows 1e7

Each way runs in a process of its own, on one thread, the ways in turn; the figures are processor
time [s], the least of the rounds. The bare query groups by the same factors and adds up the same
products as plain doubles; the others are `collect`, with sums that are the same bits in any order
and without. Last comes the first fit of a process beside the import of the libraries that it
cannot do without.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.mixed_rows import write_rows

ROOT = Path(__file__).parents[2]

FORMULA = "y ~ heritage + rho + scale + depth + (1 | lab) + (1 + depth | model) + (1 | prompt)"

BARE = """
import time, duckdb
connection = duckdb.connect(); connection.execute("SET threads = 1")
start = time.process_time()
connection.sql('''
    SELECT lab, model, prompt, count(*), sum(depth), sum(y), sum(depth * depth), sum(depth * y),
           sum(y * y), min(heritage), max(heritage), min(rho), max(rho), min(scale), max(scale)
      FROM read_parquet('{path}') GROUP BY ALL ORDER BY ALL''').to_arrow_table()
print(time.process_time() - start)
"""

COLLECT = """
import time, duckdb
from analysis import mixed
connection = duckdb.connect(); connection.execute("SET threads = 1")
rows = connection.read_parquet('{path}')
start = time.process_time()
mixed.collect_statistics({formula!r}, rows, deterministic={exact})
print(time.process_time() - start)
"""

LIBRARIES = """
import time
start = time.process_time()
import numpy, pyarrow, pandas, duckdb, scipy.linalg, scipy.special
print(time.process_time() - start)
"""

FIRST_FIT = """
import time
start = time.process_time()
from analysis import mixed
mixed.fit("y ~ x + (1 | g)", {{"y": [1, 2, 4, 3, 6, 5], "x": [1, 2, 3, 1, 3, 2],
                               "g": list("aabbcc")}}).tidy()
print(time.process_time() - start)
"""


def seconds(program: str, **values: object) -> float:
    """Return what a program prints: processor time [s]."""
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program.format(**values)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **threads},
    )
    return float(done.stdout.split()[-1])  # after the bar of a slow query


def main() -> None:
    """Time every way and print the seconds and the ratios."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=float, default=1e7)
    options.add_argument("--rounds", type=int, default=3)
    asked = options.parse_args()
    ways = {
        "bare scan and GROUP BY": (BARE, {}),
        "collect, exact": (COLLECT, {"formula": FORMULA, "exact": True}),
        "collect, not exact": (COLLECT, {"formula": FORMULA, "exact": False}),
        "libraries alone": (LIBRARIES, {}),
        "first fit": (FIRST_FIT, {}),
    }
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "rows.parquet"
        write_rows(int(asked.rows), path)
        times = {
            name: min(seconds(program, path=path, **values) for _ in range(asked.rounds))
            for name, (program, values) in ways.items()
        }
    for name, taken in times.items():
        beside = "libraries alone" if name in ("libraries alone", "first fit") else None
        reference = times[beside or "bare scan and GROUP BY"]
        print(f"{name:<24}{taken:8.3f} s  {taken / reference:5.2f}")


if __name__ == "__main__":
    main()
