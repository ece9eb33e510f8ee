"""The sample many times over, under new names of models, as if each model had been measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from collect.record.units import run_id
from collect.record.writer import write_parquet
from collect.schema.marks import Mark, file_sha256, read_mark

SAMPLE = Path(__file__).parents[2] / "data/sample"


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
    made = made.sealed(run.to_pylist()[0])
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
