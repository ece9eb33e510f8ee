"""Time and memory of a mixed model from Parquet to Kenward-Roger, beside other programs.

Run with ``python tests/benchmarks/mixed_models.py`` from the root of the repository; ``--rows 1e8``
asks for other sizes, ``--patient`` for programs that take minutes at a size. Rows are generated on
disk (12 bytes each) and deleted. Every run is a process of its own, programs take turns, the
median of the runs is printed: seconds from the open file to the tests, seconds of the whole
process with its imports, its processor seconds (which other work on the machine hardly moves), and
peak memory. Programs that are not installed are left out and
named. Nothing is asserted; a time is a property of a machine and of its load, which is printed.

The estimates agree; statsmodels' standard errors of unbalanced rows are a little larger, as it
inverts the observed information of fixed effects and variances together, where lme4 and this
package invert the expected one (tests/analysis/mixed/inference/test_mixed_statsmodels.py).
"""

from __future__ import annotations

import argparse
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
glmm.fit(rows, {FORMULA!r})
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

#: Most rows each program is asked for, and most when patient: more takes minutes or all memory.
MOST_ROWS = {
    "ours": (10**9, 10**9),
    "ours, floating": (10**9, 10**9),
    "glmm, Satterthwaite": (10**7, 10**7),
    "statsmodels, no df": (10**3, 10**4),
    "lme4, no df": (10**5, 10**6),
}


def main() -> None:
    """Run every program at every size and print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=float, nargs="+", default=[1e3, 1e4, 1e5, 1e6, 1e7])
    options.add_argument("--patient", action="store_true", help="wait for the slow programs")
    options.add_argument("--repeats", type=int, default=REPEATS)
    asked = options.parse_args()
    programs = _programs()
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    print(f"{os.cpu_count()} cores, load {load}; median of {asked.repeats} runs, taking turns")
    heads = f"{'inside [s]':>12}{'process [s]':>13}{'CPU [s]':>9}{'peak [MB]':>11}"
    print(f"{'rows':>10} {'program':<20}{heads}")
    with tempfile.TemporaryDirectory() as directory:
        for size in map(int, asked.rows):
            path = Path(directory) / f"{size}.parquet"
            _write_rows(size, path)
            able = {
                name: command
                for name, command in programs.items()
                if size <= MOST_ROWS[name][asked.patient]
            }
            _compare(able, size, path, asked.repeats)
            for written in Path(directory).iterdir():
                written.unlink()


def _write_rows(size: int, path: Path) -> None:
    """Write the rows in a process of its own: a child's peak memory starts at its parent's."""
    script = Path(__file__).parent / "mixed_rows.py"
    subprocess.run([sys.executable, str(script), str(size), str(path)], check=True)


def _programs() -> dict[str, list[str]]:
    python = [sys.executable, "-c"]
    programs = {
        "ours": [*python, OURS.replace("DETERMINISTIC", "True")],
        "ours, floating": [*python, OURS.replace("DETERMINISTIC", "False")],
        "statsmodels, no df": [*python, STATSMODELS],
    }
    if importlib.util.find_spec("glmm"):
        programs["glmm, Satterthwaite"] = [*python, GLMM]
    if shutil.which("Rscript"):
        programs["lme4, no df"] = ["Rscript", "-e", LME4]
    absent = set(MOST_ROWS) - set(programs)
    if absent:
        print(f"not installed: {', '.join(sorted(absent))}")
    return programs


def _compare(programs: dict[str, list[str]], size: int, path: Path, repeats: int) -> None:
    runs: dict[str, list[tuple[float, float, float, float]]] = {name: [] for name in programs}
    for _ in range(repeats):
        for name, command in programs.items():
            if len(runs[name]) and runs[name][0][1] > 20:
                continue
            runs[name].append(_run(command, _as_text(path) if "lme4" in name else path))
    for name, found in runs.items():
        inside, process, cpu, peak = map(statistics.median, zip(*found, strict=True))
        times = f"{inside:>12.3f}{process:>13.3f}{cpu:>9.2f}"
        print(f"{size:>10} {name:<20}{times}{peak:>11.0f}", flush=True)


def _as_text(path: Path) -> Path:
    """Return the rows as CSV: R reads no Parquet here. The conversion is not timed."""
    text = path.with_suffix(".csv")
    if not text.exists():
        copy = f"import duckdb; duckdb.sql(\"COPY (FROM '{path}') TO '{text}'\")"
        subprocess.run([sys.executable, "-c", copy], check=True)
    return text


def _run(command: list[str], path: Path) -> tuple[float, float, float, float]:
    """Return seconds the program counted, of the process, of the processor, and peak [MB]."""
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
    whole = time.perf_counter() - start
    return float(output.split()[-1]), whole, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


if __name__ == "__main__":
    main()
