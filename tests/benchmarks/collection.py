"""Cost of collecting beside a bare forward pass: time and memory, one table.

All take turns in one process, on one thread, on the same batches: medians, and ratios to the bare
body of the same round; peak memory beyond the model in a process each (``make benchmark``).
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import logging
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Collection
from pathlib import Path

import numpy as np
import torch
from approaches import (
    APPROACHES,
    BARE,
    OURS,
    Action,
    drawn_prompts,
    models,
    random_model,
    sharing_weights,
)

from collect.process.starting import keep_memory

MEBIBYTE = 2**20


def main() -> None:
    """Print one table per model, or with --memory the memory of one approach."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="how often each takes its turn (5)")
    parser.add_argument("--model", choices=[*models()], action="append", help="only this one")
    parser.add_argument("--only", nargs="+", choices=[*APPROACHES], help="only these approaches")
    parser.add_argument("--times-only", action="store_true", help="find out no peak memory")
    parser.add_argument("--memory", choices=[*APPROACHES], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    keep_memory()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    chosen = arguments.model or [*models()]
    if arguments.memory:
        print(extra_memory(chosen[0], arguments.memory))
        return
    for name in chosen:
        print_table(name, arguments)


def print_table(name: str, given: argparse.Namespace) -> None:
    """Measure and print the table of one model."""
    actions = prepared(name, {BARE, OURS, *(given.only or APPROACHES)})
    times = rounds(actions, given.rounds)
    reference, ours = times[BARE], times[OURS]
    print(f"\n{name}, random weights; 25 prompts, 1351 tokens; float32; 1 thread")
    print(f"medians of {given.rounds} rounds on {processor()}, torch {torch.__version__}\n")
    print(
        f"| {'approach':<32} | {'CPU s':>7} | {'ratio (quartiles)':>20} | {'ours/it':>7} | "
        f"{'extra MiB':>9} |"
    )
    print(f"|{'-' * 34}|{'-' * 8}:|{'-' * 21}:|{'-' * 8}:|{'-' * 10}:|")
    for approach, of_approach in times.items():
        ratios = _ratios(of_approach, reference)
        low, ratio, high = (float(np.quantile(ratios, q)) for q in (0.25, 0.5, 0.75))
        share = statistics.median(_ratios(ours, of_approach))
        known = not given.times_only
        memory = f"{in_own_process(name, approach) / MEBIBYTE:.0f}" if known else ""
        median = statistics.median(of_approach)
        print(
            f"| {approach:<32} | {median:7.2f} | {ratio:6.3f} ({low:.3f}-{high:.3f}) | "
            f"{share:7.3f} | {memory:>9} |",
            flush=True,
        )


def _ratios(times: list[float], reference: list[float]) -> list[float]:
    """Return one time to the other of the same round."""
    return [a / b for a, b in zip(times, reference, strict=True)]


def prepared(name: str, chosen: Collection[str]) -> dict[str, Action]:
    """Return the approaches that are chosen, warmed up."""
    model, prompts = random_model(models()[name]), drawn_prompts()
    actions = {
        approach: prepare(sharing_weights(model), batches_of(prompts))
        for approach, (prepare, batches_of) in APPROACHES.items()
        if approach in chosen
    }
    for action in actions.values():
        action()
    return actions


def rounds(actions: dict[str, Action], n_rounds: int) -> dict[str, list[float]]:
    """Return the CPU times [s] of each approach, one per round, all taking turns."""
    times: dict[str, list[float]] = {approach: [] for approach in actions}
    for number in range(n_rounds):
        # Forwards and backwards, so that nobody always comes after the same neighbour.
        for approach, action in [*actions.items()][:: 1 if number % 2 == 0 else -1]:
            gc.collect()
            start = time.process_time()
            action()
            times[approach].append(time.process_time() - start)
    return times


def in_own_process(name: str, approach: str) -> int:
    """Return the extra memory [bytes] of one approach, measured in a new process."""
    command = [sys.executable, __file__, "--model", name, "--memory", approach]
    large_blocks_return_at_once = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    ran = subprocess.run(
        command, check=True, capture_output=True, text=True, env=large_blocks_return_at_once
    )
    return int(ran.stdout.split()[-1])


def extra_memory(name: str, approach: str) -> int:
    """Return peak memory during one run less memory before it [bytes], Linux only.

    A run on two short prompts comes first, so that code read on first use does not count.
    """
    model, prompts = random_model(models()[name]), drawn_prompts()
    prepare, batches_of = APPROACHES[approach]
    action = prepare(model, batches_of(prompts))
    shortest = tuple(sorted(prompts, key=len)[:2])
    prepare(sharing_weights(model), (shortest,))()
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = status("VmRSS")
    action()
    return status("VmHWM") - before


def status(entry: str) -> int:
    """Return an entry of this process's status [bytes]."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{entry}:"):
            return int(line.split()[1]) * 1024
    raise LookupError(entry)


def processor() -> str:
    """Return the name of the processor."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "an unknown processor"


if __name__ == "__main__":
    main()
