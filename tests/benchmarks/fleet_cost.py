"""What 200 models of 0.1 to 70 thousand million parameters cost by the plan's own estimate.

``python -m tests.benchmarks.fleet_cost`` writes the table of the guide, `TABLE`, and prints it: the
hours on machines as fast a core as this one, for the prompt sets of data/public with the tokens
that models had there, and how much of it is reading weights. Shapes are those of Llama: width and
depth grow together, heads are 128 wide. No weight is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import torch

from collect.instruments.quantities import DEFAULT
from collect.job.planning import estimate
from collect.job.planning.estimate import Shape
from collect.job.planning.requests import Machine, threads
from collect.model.checkpoint.load import DTYPES

TABLE = Path(__file__).with_suffix(".csv")
PUBLIC = Path(__file__).parents[2] / "data" / "public"
N_MODELS, LEAST, MOST = 200, 0.1e9, 70e9
VOCABULARY = 128_256
GIB = 2**30
#: What a laboratory may have: cores and memory.
MACHINES = {
    "16 cores, 128 GiB": Machine(16, 128 * GIB),
    "64 cores, 512 GiB": Machine(64, 512 * GIB),
}
#: How much faster threads of one model are than one, as a power of their number. Assumed: products
#: of matrices scale nearly so, what stands between them does not. With .6 or 1 hours change by 5 %.
SCALING = 0.8
#: How often a core is timed; the fastest time counts, when no other program disturbed it.
TRIALS = 10


def shape(n_parameters: float) -> Shape:
    """Return the shape of a model of the type of Llama with about so many parameters."""
    d_model = 128 * max(1, round((n_parameters / (12 * 1.1e-2)) ** (1 / 3) / 128))
    body = max(n_parameters - 2 * VOCABULARY * d_model, 0.3 * n_parameters)
    block = 12 * d_model**2
    n_layers = max(2, round(body / block))
    return Shape(
        n_layers, d_model // 128, d_model, 128, VOCABULARY,
        n_layers * block + 2 * VOCABULARY * d_model, block,
        *(True,) * 6, False,
    )  # fmt: skip


def lengths_of_sets() -> list[list[int]]:
    """Return the tokens of each prompt, by set: the mean over the models of data/public."""
    found = duckdb.sql(
        f"""
        SELECT list(n_tokens ORDER BY prompt_id)
          FROM (SELECT prompt_set, prompt_id, CAST(round(avg(n_tokens)) AS INTEGER) AS n_tokens
                  FROM '{PUBLIC}/next_token/*.parquet'
                  JOIN (SELECT DISTINCT prompt_id, prompt_set FROM '{PUBLIC}/prompt/*.parquet')
                 USING (prompt_id)
                 GROUP BY ALL)
         GROUP BY prompt_set
         ORDER BY prompt_set
        """
    ).fetchall()
    return [lengths for (lengths,) in found]


def cost(throughputs: Mapping[str, float]) -> pd.DataFrame:
    """Return a row per number format: what all models cost.

    Parameters
    ----------
    throughputs
        By number format, what `estimate.calibrate` returned [1/s].

    Returns
    -------
    ``dtype``, ``throughput`` [1/s], ``core_h`` and ``reading_h`` (weights, of it) [h], ``n_bytes``
    of all files, ``peak_bytes`` of the largest model, loaded, and by name the hours of `MACHINES`.
    """
    lengths, rows = lengths_of_sets(), []
    for dtype, throughput in throughputs.items():
        how = {"dtype": dtype, "batch_size": 8}
        seconds, reading, peaks, disk = [], [], [], 0
        for n in np.geomspace(LEAST, MOST, N_MODELS):
            model = shape(n)
            planned = [(each, estimate.n_rows(model, each, DEFAULT)) for each in lengths]
            asked = {**how, "asked": DEFAULT, "throughput": throughput}
            seconds.append(sum(estimate.duration_s(model, *each, **asked) for each in planned))
            disk += sum(estimate.n_bytes(rows) for _, rows in planned)
            peaks.append(
                max(estimate.peak_bytes(model, each, streamed=False, **how) for each in lengths)
            )
            weights = model.n_parameters * DTYPES[dtype].itemsize
            reading.append(len(lengths) * weights / estimate.READ_RATE)
        of_all = {
            "dtype": dtype,
            "throughput": throughput,
            "core_h": sum(seconds) / 3600,
            "reading_h": sum(reading) / 3600,
            "n_bytes": disk,
            "peak_bytes": max(peaks),
        }
        hours = {name: _hours(seconds, reading, peaks, it) for name, it in MACHINES.items()}
        rows.append({**of_all, **hours})
    return pd.DataFrame(rows)


def _hours(seconds: list[float], reading: list[float], peaks: list[int], machine: Machine) -> float:
    """Return how long one machine works, the longest first, within its cores and memory [h]."""
    running: list[tuple[float, int, int]] = []
    now, cores, memory = 0.0, machine.n_cores, machine.memory_bytes
    for whole, read, peak in sorted(zip(seconds, reading, peaks, strict=True), reverse=True):
        needed = min(peak, machine.memory_bytes)  # what is larger is streamed
        n_threads = threads(needed, [machine])
        while cores < n_threads or memory < needed:
            running.sort()
            now, freed, given = running.pop(0)
            cores, memory = cores + freed, memory + given
        cores, memory = cores - n_threads, memory - needed
        running.append((now + read + (whole - read) / n_threads**SCALING, n_threads, needed))
    return max(end for end, _, _ in running) / 3600


def as_markdown(table: pd.DataFrame) -> list[str]:
    """Return the lines of the guide that say what the table holds, rows first."""
    lines = []
    for row in table.to_dict("records"):
        hours = " | ".join(f"{row[name]:.0f} h" for name in MACHINES)
        share = row["reading_h"] / row["core_h"]
        lines.append(f"| {row['dtype']} | {row['core_h']:.0f} | {100 * share:.0f} % | {hours} |")
    speeds = " and ".join(f"{speed / 1e9:.0f}" for speed in table["throughput"])
    lines.append(f"{speeds} thousand million operations a second")
    lines.append(f"The files take {table['n_bytes'].max() / 1e9:.1f} GB.")
    lines.append(f"a disk of {estimate.READ_RATE / 1e9:.1f} GB/s")
    return lines


def main() -> int:
    """Write the table and print it; return the exit code."""
    torch.set_num_threads(1)
    table = cost(
        {
            dtype: max(estimate.calibrate(dtype, "cpu") for _ in range(TRIALS))
            for dtype in ("float32", "bfloat16")
        }
    )
    table.to_csv(TABLE, index=False)
    print("\n".join(as_markdown(table)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
