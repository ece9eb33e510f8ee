"""Processor seconds and memory of one mixed model by this package, mixedlm, glmm and lme4.

``python tests/benchmarks/mixed_peers.py --mixedlm PYTHON --out FILE.csv``: few groups at many rows,
lme4's InstEval, 200,000 rows of two large groups, and 45,861 rows with Kenward and Roger's degrees
of freedom; a fit is a process of its own, on one thread, stopped at a limit of seconds, and a row
of the result.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from mixed_rows import write_crossed

ROOT = Path(__file__).parents[2]
GAIN = "y ~ heritage + rho + scale + depth + (1 | lab) + (1 | model) + (1 | prompt)"
LARGE = "y ~ x + (1 | s) + (1 | d)"
CROSSED = "y ~ service + (1 | s) + (1 | d) + (1 | dept:service)"
COLUMNS = ("task", "n_obs", "program", "cpu_seconds", "cpu_process", "peak_mb", "criterion", "note")

#: Bytes of address space that a program may take.
MOST_MEMORY = 8 * 10**9

#: Each prints its processor seconds from the open file on, and the criterion.
OURS = """
import sys, time
from analysis import mixed
from patsy.build import design_matrix_builders
start = time.process_time()
model = mixed.fit(sys.argv[2], sys.argv[1])
model.tidy(["fixed"], df=DF)
print(time.process_time() - start, model.glance()["criterion"].item())
"""
PYTHON = """
import sys, time
import pandas
PACKAGE
start = time.process_time()
rows = pandas.read_parquet(sys.argv[1])
model = FIT
print(time.process_time() - start, CRITERION)
"""
MIXEDLM = (
    PYTHON.replace("PACKAGE", "import mixedlm")
    .replace("FIT", "mixedlm.lmer(sys.argv[2], rows)")
    .replace("CRITERION", "mixedlm.REMLcrit(model)")
)
GLMM = (
    PYTHON.replace("PACKAGE", "import glmm")
    .replace("FIT", "glmm.fit(rows, sys.argv[2])")
    .replace("CRITERION", "'nan'")
)
LME4 = """
suppressMessages(library(PACKAGE))
given <- commandArgs(TRUE)
rows <- read.csv(given[1], stringsAsFactors = TRUE)
groups <- intersect(names(rows), c("s", "d", "dept", "service"))
rows[groups] <- lapply(rows[groups], factor)
start <- sum(proc.time()[1:2])
model <- lmer(as.formula(given[2]), rows)
TESTS
cat(sum(proc.time()[1:2]) - start, REMLcrit(model), "\\n")
"""


def main() -> None:
    """Run every program at every task and write the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--mixedlm", help="interpreter that has mixedlm")
    options.add_argument("--rows", type=float, nargs="+", default=[1e5, 1e6, 1e7])
    tasks = ["crossed", "crossed, large", "kenward-roger", "few groups"]
    options.add_argument("--tasks", nargs="+", default=tasks)
    options.add_argument("--limit", type=int, default=60, help="processor seconds of one fit")
    options.add_argument("--out", type=Path, default=Path("mixed_peers.csv"))
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as directory, given.out.open("w", newline="") as out:
        table = csv.DictWriter(out, COLUMNS)
        table.writeheader()
        for task, n_obs, path, formula in _tasks(Path(directory), given.rows):
            if task not in given.tasks:
                continue
            for program, command in _programs(given.mixedlm, task).items():
                read = path.with_suffix(".csv") if command[0] == "Rscript" else path
                measured = _run([*command, str(read), formula], given.limit)
                table.writerow({"task": task, "n_obs": n_obs, "program": program, **measured})
                out.flush()


def _tasks(directory: Path, sizes: list[float]) -> Iterator[tuple[str, int, Path, str]]:
    """Write the rows of every task and yield its name, rows, file and formula."""
    script = str(Path(__file__).parent / "mixed_rows.py")
    crossed = directory / "insteval.csv"
    write = "write.csv(lme4::InstEval, commandArgs(TRUE)[1], row.names = FALSE)"
    subprocess.run(["Rscript", "-e", write, str(crossed)], check=True, capture_output=True)
    _copy(
        crossed,
        crossed.with_suffix(".parquet"),
        "SELECT * REPLACE (s::text AS s, d::text AS d, "
        "dept::text AS dept, service::text AS service, y::double AS y) FROM",
    )
    yield "crossed", 73_421, crossed.with_suffix(".parquet"), CROSSED
    large = directory / "large.parquet"
    write_crossed(large)
    _copy(large, large.with_suffix(".csv"), "FROM")
    yield "crossed, large", 200_000, large, LARGE
    for task, n_obs in [("kenward-roger", 45_861), *(("few groups", int(size)) for size in sizes)]:
        path = directory / f"{n_obs}.parquet"
        subprocess.run([sys.executable, script, str(n_obs), str(path)], check=True)
        _copy(path, path.with_suffix(".csv"), "FROM")
        yield task, n_obs, path, GAIN
        path.unlink()
        path.with_suffix(".csv").unlink()


def _copy(source: Path, target: Path, select: str) -> None:
    """Write a file in the other format, in a process of its own."""
    program = f"import duckdb; duckdb.sql(\"COPY ({select} '{source}') TO '{target}'\")"
    subprocess.run([sys.executable, "-c", program], check=True)


def _programs(mixedlm: str | None, task: str) -> dict[str, list[str]]:
    """Return the command of every program that can do a task."""
    exact = task == "kenward-roger"
    df = "'kenward-roger'" if exact or task == "few groups" else "'wald'"
    programs = {"ours": [sys.executable, "-c", OURS.replace("DF", df)]}
    tests = 'print(anova(model, ddf = "Kenward-Roger"))' if exact else "invisible(summary(model))"
    package = "lmerTest" if exact else "lme4"
    if not exact:
        programs["glmm"] = [sys.executable, "-c", GLMM]
        if mixedlm:
            programs["mixedlm"] = [mixedlm, "-c", MIXEDLM]
    script = LME4.replace("PACKAGE", package).replace("TESTS", tests)
    programs[package] = ["Rscript", "-e", script]
    return programs


def _run(command: list[str], limit: int) -> dict[str, object]:
    """Return what one process took, or why there is nothing."""
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "POLARS_MAX_THREADS": "1",
        "RAYON_NUM_THREADS": "1",
    }
    limited = ["prlimit", f"--cpu={limit}", f"--as={MOST_MEMORY}", *command]
    process = subprocess.Popen(
        limited,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=ROOT,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    printed, errors = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    cpu = usage.ru_utime + usage.ru_stime
    if process.returncode:
        last = (errors.strip().splitlines() or ["stopped"])[-1][:80]
        return {"note": f"stopped at {limit} s" if cpu >= limit - 1 else last}
    inside, criterion = printed.split()[-2:]
    return {
        "cpu_seconds": f"{float(inside):.3g}",
        "cpu_process": f"{cpu:.3g}",
        "peak_mb": f"{usage.ru_maxrss / 1024:.0f}",
        "criterion": criterion,
        "note": "",
    }


if __name__ == "__main__":
    main()
