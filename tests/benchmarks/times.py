"""CPU time of the analysis commands, and of each page of the report, cold and unchanged.

    python -m tests.benchmarks.times [--code FOLDER ...] [--rounds 3] [--report] [--place DIR]

Whole processes in turns with a bare import of duckdb and pandas, medians and ratios of one round.
Cold is without what ``.cache/report`` keeps. A page is what the processes used between its progress
line and the next, on one core.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.benchmarks.grown import SAMPLE, grow

ROOT = Path(__file__).parents[2]
BARE = "import duckdb, pandas"
TICK = os.sysconf("SC_CLK_TCK")
PROGRESS = "rendering: "

#: With it Python keeps no compiled code.
_UNCOMPILED = "PYTHONDONTWRITEBYTECODE"

#: What is typed, by what the table calls it, and whether it is timed with nothing kept.
COMMANDS = {
    "--help": (["--help"], False),
    "SELECT 1": (["sql", "SELECT 1"], False),
    "claim 7": (["claim", "7"], False),
    "claims, cold": (["claims"], True),
    "claims, again": (["claims"], False),
    "claims --adjusted, cold": (["claims", "--adjusted"], True),
}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--code", nargs="+", default=[ROOT], type=Path, help="checkouts (this one)")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each command (3)")
    parser.add_argument("--report", action="store_true", help="render the report as well")
    parser.add_argument(
        "--place", type=Path, help="keep the grown store here, or take it from here"
    )
    given = parser.parse_args()
    checkouts = [folder.resolve() for folder in given.code]
    with tempfile.TemporaryDirectory() as directory:
        place = given.place or Path(directory)
        grown = place / "loose-10"
        if not grown.is_dir():
            grow(grown, 10)
        print("load of the machine:", *(f"{load:.1f}" for load in os.getloadavg()))
        print_commands(checkouts, given.rounds, grown)
        for code in checkouts if given.report else []:
            print_report(code, Path(directory) / "report")


def print_commands(checkouts: Sequence[Path], rounds: int, grown: Path) -> None:
    """Time every command in turns and print the table."""
    n_files = sum(1 for _ in grown.glob("*/*.parquet"))
    n_own = sum(1 for _ in SAMPLE.glob("*/*.parquet"))
    many = {f"SELECT 1 of {n_files} files": (["--data", str(grown), "sql", "SELECT 1"], False)}
    few = {f"SELECT 1 of {n_own} files": (["--data", str(SAMPLE), "sql", "SELECT 1"], False)}
    times: dict[tuple[str, str], list[float]] = {}
    bare: list[float] = []
    for code in checkouts:  # compiles what is not compiled
        spent(["-m", "analysis", "claims", "--adjusted"], code)
    for _ in range(rounds):
        bare.append(spent(["-c", BARE], ROOT))
        for name, (words, is_cold) in {**COMMANDS, **few, **many}.items():
            for code in checkouts:
                if is_cold:
                    empty(code)
                taken = spent(["-m", "analysis", *words], code)
                times.setdefault((name, code.name), []).append(taken)
    print(
        f"\n| command | checkout | CPU s | least | most | of `{BARE}` |\n|---|---|--:|--:|--:|--:|"
    )
    print(f"| {BARE} | - | {statistics.median(bare):.2f} | {min(bare):.2f} | {max(bare):.2f} | 1 |")
    for (name, code_name), result in times.items():
        ratio = statistics.median(a / b for a, b in zip(result, bare, strict=True))
        middle = statistics.median(result)
        print(
            f"| {name} | {code_name} | {middle:.2f} | {min(result):.2f} | {max(result):.2f} "
            f"| {ratio:.2f} |"
        )
    for code in checkouts:
        far, near = (times[next(iter(each)), code.name] for each in (many, few))
        per_file = (statistics.median(far) - statistics.median(near)) / (n_files - n_own)
        print(f"\n{code.name}: opening grows by {per_file * 1000:.2f} ms a file")


def print_report(code: Path, out: Path) -> None:
    """Render the report cold and unchanged and print what each page took."""
    shutil.rmtree(out, ignore_errors=True)
    empty(code)
    on_clock = time.perf_counter()
    for _ in pages(code, out):  # it is rendered as it is asked for
        pass
    on_clock = time.perf_counter() - on_clock
    empty(code)
    every_core = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(every_core)})
    try:
        cold, again = (dict(pages(code, out)) for _ in range(2))
    finally:
        os.sched_setaffinity(0, every_core)
    print(f"\nReport of {code.name} [CPU s]\n\n| page | cold | unchanged |\n|---|--:|--:|")
    for page in dict.fromkeys([*cold, *again]):
        print(f"| {page} | {cold.get(page, 0):.1f} | {again.get(page, 0):.1f} |")
    print(f"| all | {sum(cold.values()):.1f} | {sum(again.values()):.1f} |")
    print(f"\ncold on {len(every_core)} cores: {on_clock:.0f} s on the clock", flush=True)


def pages(code: Path, out: Path) -> Iterator[tuple[str, float]]:
    """Render the report and yield what each page took [s], start and end as pages of their own."""
    words = ["-m", "analysis", "report", "--engine", "embedded", "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, *words],
        cwd=code,
        env=environment(code),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    before = children_seconds()
    page, known, last = "start, and all where pages are not told", 0.0, ""
    for line in process.stderr or ():
        last = line
        if line.startswith(PROGRESS):
            used = tree_seconds(process.pid)
            yield page, used - known
            page, known = line.removeprefix(PROGRESS).strip(), used
    if process.wait():
        raise SystemExit(f"{code.name}: the report failed: {last}")
    yield page, children_seconds() - before - known


def tree_seconds(root: int) -> float:
    """Return the CPU time [s] that a process and all that it started have used so far."""
    used, parents = {}, {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        number = int(entry.parent.name)
        parents[number] = int(fields[1])
        used[number] = sum(int(ticks) for ticks in fields[11:15]) / TICK
    tree, result = [root], 0.0
    while tree:
        number = tree.pop()
        result += used.get(number, 0.0)
        tree += [child for child, parent in parents.items() if parent == number]
    return result


def empty(code: Path) -> None:
    """Forget what a checkout has kept of results."""
    shutil.rmtree(code / ".cache" / "report", ignore_errors=True)


def spent(words: Sequence[str], code: Path) -> float:
    """Return the CPU time [s] of a command in a process of its own; NaN if it fails."""
    before = children_seconds()
    ran = subprocess.run(
        [sys.executable, *words], cwd=code, env=environment(code), check=False, capture_output=True
    )
    if ran.returncode:
        print(f"{code.name}: {' '.join(words)}: {ran.stderr.decode()[-300:]}", file=sys.stderr)
        return float("nan")
    return children_seconds() - before


def children_seconds() -> float:
    """Return the CPU time [s] of all processes started from here that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def environment(code: Path) -> dict[str, str]:
    """Return the environment in which the code of a checkout runs, on one thread of BLAS.

    Compiled code is kept, as it is where nobody forbids it: else each start compiles every module.
    """
    own = {name: value for name, value in os.environ.items() if name != _UNCOMPILED}
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return {**own, **threads, "PYTHONPATH": str(code)}


if __name__ == "__main__":
    main()
