"""A store grown to many times the sample: what it costs loose, packed, and beside a bare scan.

    python -m tests.benchmarks.growth --times 10 100 --place /tmp/growth

The sample is copied under new names of models, marks included, as if each model had been measured;
then it is packed. Times are processor seconds in a process of its own, which may use one core,
import left out; the peer is a scan by DuckDB of the same files and columns, in the same process.
Memory is the most that the process had held before the peer began. A store that lies at the place
already is used as it is.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from collect.record.compaction import compact
from collect.record.units import run_id
from collect.record.writer import write_parquet
from collect.schema.marks import Mark, file_sha256, read_mark, run_sha256

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "data/sample"


#: What is timed, by name: a program that prints processor seconds of the work, the memory [KiB],
#: and processor seconds of the peer, which scans the columns that the work reads.
START = """
import os, sys, time
os.sched_setaffinity(0, {{max(os.sched_getaffinity(0))}})  # DuckDB takes as many threads as cores
import duckdb
from pathlib import Path
sys.path.insert(0, {root!r})
store_at, measure = Path({store!r}), time.process_time
def told(taken, scan):
    # Not ru_maxrss, which begins at what the process that started this one held.
    status = Path("/proc/self/status").read_text().splitlines()
    print(taken, next(line.split()[1] for line in status if line.startswith("VmHWM")), scan())
def scanned(table, columns):
    bare = duckdb.connect()
    bare.execute("SET threads = 1")
    asked = ", ".join(f"bit_xor(hash({{name}}))" for name in columns)  # statistics know no hash
    start = measure()
    bare.sql(f"SELECT {{asked}} FROM read_parquet('{{store_at}}/{{table}}/*.parquet')").fetchall()
    return measure() - start
"""

OPEN = """
from analysis.store import open_store
start = measure()
store = open_store(store_at)
told(measure() - start, lambda: 0)
"""

QUERY = """
from analysis.store import open_store
store = open_store({published!r}, store_at)
store.connection.execute("SELECT 1")
start = measure()
store.query({sql!r})
told(measure() - start, lambda: scanned({table!r}, {columns!r}))
"""

MIXED = """
from analysis import mixed
from analysis.store import open_store
store = open_store(store_at)
rows = store.connection.sql({sql!r})
start = measure()
sums = mixed.collect_statistics({formula!r}, rows, constant=())
mixed.write_statistics(sums, {sent!r})
mixed.fit_statistics({formula!r}, mixed.merge_statistics([mixed.read_statistics({sent!r})]))
told(measure() - start, lambda: scanned("residual_norm", {columns!r}))
"""

FIT = """
from analysis import mixed
from analysis.store import open_store
store = open_store(store_at)
store.connection.execute("SELECT 1")
start = measure()
mixed.fit({formula!r}, store.query({sql!r}))
told(measure() - start, lambda: scanned("residual_norm", {columns!r}))
"""

CHECK = """
from collect.record.integrity import faults
start = measure()
assert list(faults(store_at)) == []
taken = measure() - start
everything = sorted(path.name for path in store_at.iterdir() if any(path.glob("*.parquet")))
told(taken, lambda: sum(scanned(table, ["COLUMNS(*)"]) for table in everything))
"""

FORMULA = "log_gain ~ layer + (1 + layer | model_id) + (1 | prompt_id)"

ROWS = "SELECT log_gain, model_id, prompt_id, layer FROM last_token_gain WHERE layer > 0"

NORMS = ("run_id", "model_id", "prompt_id", "layer", "site", "position", "norm", "norm_centred")

UPDATES = ("run_id", "model_id", "layer", "part", "position", "ratio", "cosine")

ONE = "SELECT avg(cosine) FROM residual_update WHERE model_id = 'thermoscope/llama-l8-muon.0003'"


STORES = ("loose", "packed")


def queries() -> list[str]:
    """Return the two queries of the README, as they stand there."""
    return re.findall(r"```sql\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)[:2]


def works(sent: Path) -> dict[str, tuple[str, dict[str, object]]]:
    """Return the programs and what they take, by what they do."""
    signs, parts = queries()
    published = str(ROOT / "data/published")
    of_norms = {"published": published, "table": "residual_norm", "columns": NORMS}
    of_updates = {"published": published, "table": "residual_update", "columns": UPDATES}
    mixed = {"sql": ROWS, "formula": FORMULA, "columns": NORMS, "sent": str(sent)}
    return {
        "open": (OPEN, {}),
        "README: signs by definition": (QUERY, {"sql": signs, **of_norms}),
        "README: parts of a block": (QUERY, {"sql": parts, **of_updates}),
        "one column of one model": (QUERY, {"sql": ONE, **of_updates}),
        "mixed.fit, as in the README": (FIT, mixed),
        "mixed.fit by sent sums": (MIXED, mixed),
        "check": (CHECK, {}),
    }


def measured(program: str, store: Path, **values: object) -> tuple[float, float, float]:
    """Return what a program prints: seconds of the work, memory [KiB], seconds of its peer."""
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    text = (START + program).format(root=str(ROOT), store=str(store), **values)
    ran = subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **threads},
    )
    if ran.returncode:
        raise SystemExit(f"{store.name}: {ran.stderr[-2000:]}")
    work, memory, peer = map(float, ran.stdout.split()[-3:])
    return work, memory, peer


def size(store: Path) -> tuple[int, int, int]:
    """Return files, bytes and measured rows of a store."""
    files = [path for path in store.glob("*/*.parquet") if path.parent.name != "prompt"]
    rows = sum(pq.read_metadata(path).num_rows for path in files if path.parent.name != "run")
    return len(files), sum(path.stat().st_size for path in files), rows


def main() -> None:
    """Grow, pack and time, and print a line for each."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--times", type=int, nargs="+", default=[10, 100])
    options.add_argument("--place", type=Path, required=True)
    options.add_argument("--stores", nargs="+", choices=STORES, default=STORES, metavar="KIND")
    options.add_argument("--only", nargs="+", metavar="WORK", help="what is timed, by its name")
    asked = options.parse_args()
    for times in asked.times:
        loose, packed = (asked.place / f"{kind}-{times}" for kind in ("loose", "packed"))
        if not loose.is_dir():
            grow(loose, times)
        if not packed.is_dir():
            compact(loose, packed)
        for store in (asked.place / f"{kind}-{times}" for kind in asked.stores):
            files, n_bytes, rows = size(store)
            print(
                f"\n{store.name}: {rows:,} rows, {files:,} files, {n_bytes / rows:.2f} bytes a row"
            )
            for name, (program, values) in works(asked.place / "sums.parquet").items():
                if asked.only and name not in asked.only:
                    continue
                work, memory, peer = measured(program, store, **values)
                beside = f"{peer:9.2f} s bare {work / peer:7.1f}" if peer else ""
                per_file = f"{work / files * 1000:9.2f} ms a file" if name == "open" else beside
                print(f"  {name:<28}{work:9.2f} s {memory / 1024:7,.0f} MiB {per_file}", flush=True)


def grow(out: Path, times: int) -> None:
    """Write the units of the sample as often as asked, each time under other names of models.

    Units that are there stay, so that a larger store goes on from a smaller.
    """
    units = [_unit(run) for run in sorted((SAMPLE / "run").glob("*.parquet"))]
    for copy in range(times):
        for stem, mark, rows in units:
            _write_copy(stem, mark, rows, copy, out)
    prompts = SAMPLE / "prompt"
    (out / "prompt").mkdir(parents=True, exist_ok=True)
    for path in prompts.iterdir():
        (out / "prompt" / path.name).write_bytes(path.read_bytes())


def _unit(run: Path) -> tuple[str, Mark, dict[str, pa.Table]]:
    mark = read_mark(run)
    tables = {Path(name).parent.name: name for name in mark.sha256}
    rows = {table: pq.ParquetFile(SAMPLE / name).read() for table, name in tables.items()}
    return run.stem, mark, {**rows, "run": pq.ParquetFile(run).read()}


def _write_copy(stem: str, mark: Mark, rows: dict[str, pa.Table], copy: int, out: Path) -> None:
    old = mark.determinants["model_id"]
    new = f"{old}.{copy:04d}"
    determinants = {**mark.determinants, "model_id": new}
    stem = stem.replace(old.replace("/", "--"), new.replace("/", "--"), 1)
    if (out / "run" / f"{stem}.parquet").exists():
        return
    identity = {"model_id": new, "run_id": run_id(determinants)}
    sha256, sizes, times, counts = {}, {}, {}, {}
    for table, of in rows.items():
        if table == "run":
            continue
        name = f"{table}/{stem}.parquet"
        path = out / name
        _write(table, _renamed(of, identity), path)
        state = path.stat()
        counts[name], sizes[name], times[name] = len(of), state.st_size, state.st_mtime_ns
        sha256[name] = file_sha256(path)
    shared = {name: n for name, n in mark.rows.items() if name.startswith("prompt/")}
    made = replace(
        mark,
        determinants=determinants,
        rows={**counts, **shared},
        sha256=sha256,
        sizes=sizes,
        times=times,
    )
    run = _renamed(rows["run"], identity)
    made = replace(made, run_sha256=run_sha256(run.to_pylist()[0], asdict(made)))
    known = {name.decode(): text.decode() for name, text in (run.schema.metadata or {}).items()}
    run = run.replace_schema_metadata({**known, **made.metadata})
    _write("run", run, out / "run" / f"{stem}.parquet")


def _write(table: str, rows: pa.Table, path: Path) -> None:
    """Write a file at once: nothing reads a store while it grows, and to flush each takes long."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_parquet(table, rows, path)


def _renamed(rows: pa.Table, identity: dict[str, str]) -> pa.Table:
    for name, text in identity.items():
        if name in rows.column_names:
            place = rows.column_names.index(name)
            column = pa.array([text], pa.string()).take(pa.array([0] * len(rows), pa.int8()))
            rows = rows.set_column(place, rows.schema.field(name), column)
    return rows


if __name__ == "__main__":
    main()
