"""What 200 models of 0.1 to 70 thousand million parameters cost by the plan's own estimate.

``python -m tests.benchmarks.fleet_cost`` prints hours, memory and disk on machines as fast a core
as this one, for six shipped prompt sets, and how much of it is reading weights. Shapes are those
of Llama: width and depth grow together, heads are 128 wide. No weight is read.
"""

from __future__ import annotations

import numpy as np

from collect.instruments.quantities import DEFAULT
from collect.job.planning import estimate
from collect.job.planning.estimate import Shape
from collect.job.planning.requests import Machine, threads
from collect.model.checkpoint.load import DTYPES
from collect.prompts import listing

N_MODELS, LEAST, MOST = 200, 0.1e9, 70e9
VOCABULARY = 128_256
#: Tokens of a word of the shipped prompts, about.
TOKENS_PER_WORD = 1.4
GIB = 2**30
#: What a laboratory may have: cores and memory.
MACHINES = {
    "16 cores, 128 GiB": Machine(16, 128 * GIB),
    "64 cores, 512 GiB": Machine(64, 512 * GIB),
}
#: How much faster threads of one model are than one, as a power of their number: products of
#: matrices scale nearly so, what stands between them does not.
SCALING = 0.8


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


def sets() -> list[list[int]]:
    """Return the lengths of the prompts of the six shipped sets, in tokens."""
    return [
        [
            max(2, round(TOKENS_PER_WORD * len(str(row["text"]).split())))
            for row in listing.prompts([row["name"]])
        ]
        for row in listing.sets()
    ][:6]


def main() -> int:
    """Print the table; return the exit code."""
    lengths = sets()
    print(f"prompts and tokens of the sets: {[(len(each), sum(each)) for each in lengths]}")
    for dtype in ("float32", "bfloat16"):
        throughput = estimate.calibrate(dtype, "cpu")
        width = DTYPES[dtype].itemsize
        seconds, reading, peaks, disk = [], [], [], 0.0
        for n in np.geomspace(LEAST, MOST, N_MODELS):
            model = shape(n)
            units = []
            for each in lengths:
                rows = estimate.n_rows(model, each, DEFAULT)
                how = {"dtype": dtype, "batch_size": 8}
                units.append(
                    estimate.duration_s(
                        model, each, rows, asked=DEFAULT, throughput=throughput, **how
                    )
                )
                disk += estimate.n_bytes(rows)
            peak = max(
                estimate.peak_bytes(model, each, dtype=dtype, batch_size=8, streamed=False)
                for each in lengths
            )
            peaks.append(peak)
            seconds.append(sum(units))
            reading.append(len(lengths) * model.n_parameters * width / estimate.READ_RATE)
        read, total = sum(reading), sum(seconds)
        print(
            f"{dtype}: {throughput / 1e9:.0f} GFLOP/s a core, {total / 3600:.0f} core hours, "
            f"{100 * read / total:.0f} % of it reading weights at "
            f"{estimate.READ_RATE / 1e9:.1f} GB/s; {disk / 1e9:.1f} GB of files; largest model "
            f"{max(peaks) / GIB:.0f} GiB loaded"
        )
        for name, machine in MACHINES.items():
            print(f"  {name}: {_hours(seconds, reading, peaks, machine):.1f} h")
    return 0


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


if __name__ == "__main__":
    raise SystemExit(main())
