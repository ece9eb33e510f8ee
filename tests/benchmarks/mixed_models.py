"""Time and memory of a mixed model from Parquet to Kenward-Roger, beside other programs.

Run with ``python tests/benchmarks/mixed_models.py [ROWS ...]`` from the root of the repository.
Every run is a process of its own, programs take turns, the median of the runs is printed.
Programs that are not installed are left out and named. Nothing is asserted; a time is a
property of a machine.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
FORMULA = "y ~ heritage + rho + scale + depth + (1 | lab) + (1 | model) + (1 | prompt)"
REPEATS = 5

#: A program reads argv[1] and prints its own seconds from the open file to the tests.
OURS = f"""
import sys, time
from analysis import mixed
from patsy.build import design_matrix_builders
import scipy.optimize, pyarrow
start = time.perf_counter()
model = mixed.fit({FORMULA!r}, sys.argv[1], deterministic=DETERMINISTIC)
model.tidy(["fixed"])
print(time.perf_counter() - start)
"""

GLMM = f"""
import sys, time
import glmm, pandas
start = time.perf_counter()
rows = pandas.read_parquet(sys.argv[1])
glmm.lmer({FORMULA!r}, rows)
print(time.perf_counter() - start)
"""

STATSMODELS = """
import sys, time, warnings
import pandas
import statsmodels.formula.api as smf
warnings.simplefilter("ignore")
start = time.perf_counter()
rows = pandas.read_parquet(sys.argv[1]).assign(one=1)
parts = {name: f"0 + C({name})" for name in ("lab", "model", "prompt")}
smf.mixedlm("y ~ heritage + rho + scale + depth", rows, groups="one", vc_formula=parts).fit()
print(time.perf_counter() - start)
"""

LME4 = f"""
suppressMessages(library(lme4))
rows <- read.csv(commandArgs(TRUE)[1], stringsAsFactors = TRUE)
start <- proc.time()[["elapsed"]]
fit <- lmer({FORMULA}, rows)
cat(proc.time()[["elapsed"]] - start, "\\n")
"""

#: Most rows each program is asked for: more takes minutes or all memory.
MOST_ROWS = {
    "ours": 10**9,
    "ours, floating": 10**9,
    "glmm": 10**7,
    "statsmodels": 10**4,
    "lme4, no df": 10**6,
}


def main() -> None:
    """Run every program at every size and print the table."""
    sizes = [int(float(text)) for text in sys.argv[1:]] or [10**4, 10**5, 10**6]
    programs = _programs()
    print(f"{'rows':>10} {'program':<16}{'inside [s]':>12}{'process [s]':>13}{'peak [MB]':>11}")
    with tempfile.TemporaryDirectory() as directory:
        for size in sizes:
            path = Path(directory) / f"{size}.parquet"
            _write_rows(size, path)
            _compare(programs, size, path)
            path.unlink()


def _write_rows(size: int, path: Path) -> None:
    """Write the rows in a process of its own: a child's peak memory starts at its parent's."""
    script = Path(__file__).parent / "mixed_rows.py"
    subprocess.run([sys.executable, str(script), str(size), str(path)], check=True)


def _programs() -> dict[str, list[str]]:
    python = [sys.executable, "-c"]
    programs = {
        "ours": [*python, OURS.replace("DETERMINISTIC", "True")],
        "ours, floating": [*python, OURS.replace("DETERMINISTIC", "False")],
        "statsmodels": [*python, STATSMODELS],
    }
    if importlib.util.find_spec("glmm"):
        programs["glmm"] = [*python, GLMM]
    if shutil.which("Rscript"):
        programs["lme4, no df"] = ["Rscript", "-e", LME4]
    absent = set(MOST_ROWS) - set(programs)
    if absent:
        print(f"not installed: {', '.join(sorted(absent))}")
    return programs


def _compare(programs: dict[str, list[str]], size: int, path: Path) -> None:
    asked = {name: command for name, command in programs.items() if size <= MOST_ROWS[name]}
    runs: dict[str, list[tuple[float, float, float]]] = {name: [] for name in asked}
    for _ in range(REPEATS):
        for name, command in asked.items():
            if len(runs[name]) and runs[name][0][1] > 20:
                continue
            runs[name].append(_run(command, _as_text(path) if "lme4" in name else path))
    for name, found in runs.items():
        inside, process, peak = (statistics.median(each) for each in zip(*found, strict=True))
        print(f"{size:>10} {name:<16}{inside:>12.3f}{process:>13.3f}{peak:>11.0f}", flush=True)


def _as_text(path: Path) -> Path:
    """Return the rows as CSV: R reads no Parquet here. The conversion is not timed."""
    text = path.with_suffix(".csv")
    if not text.exists():
        copy = f"import duckdb; duckdb.sql(\"COPY (FROM '{path}') TO '{text}'\")"
        subprocess.run([sys.executable, "-c", copy], check=True)
    return text


def _run(command: list[str], path: Path) -> tuple[float, float, float]:
    """Return seconds the program counted, seconds of the process, and its peak memory [MB]."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    start = time.perf_counter()
    process = subprocess.Popen(
        [*command, str(path)], stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT
    )
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[0]} failed on {path.name}")
    return float(output.split()[-1]), time.perf_counter() - start, usage.ru_maxrss / 1024


if __name__ == "__main__":
    main()
