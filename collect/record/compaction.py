"""A copy of an output that is quicker to open and smaller: one sorted file per table."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from collect.errors import InputError, OutputError
from collect.process.interruption import interruptible
from collect.record.atomic.directory import complete_or_absent
from collect.record.commit import check_writable
from collect.record.units import run_files
from collect.record.writer import ROW_GROUP_ROWS, layout
from collect.schema import (
    MEASURED,
    arrow_schema,
    assemble,
    attach,
    connect,
    incomplete_units,
    left_in_files,
    tables,
)
from collect.schema.counting import counted
from collect.schema.headers import Headers, pack_name
from collect.schema.marks import Mark, mark_of_files
from collect.schema.run_files import RunFile, read_run_file
from collect.schema.sources import Sources


@dataclass(frozen=True, slots=True)
class Compaction:
    """An output and its compact copy: units, and Parquet files before and after.

    Attributes
    ----------
    n_units
        Units copied [1].
    n_files, n_bytes
        Number of Parquet files and their size [bytes], of the output and of the copy.
    notes
        What is not copied because this version does not know it, in sentences.
    """

    n_units: int
    n_files: tuple[int, int]
    n_bytes: tuple[int, int]
    notes: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """Both in one line."""
        (files, files_after), (size, size_after) = self.n_files, self.n_bytes
        return (
            f"{counted(self.n_units, 'unit')}: {counted(files, 'Parquet file')} of {size:,} bytes, "
            f"{counted(files_after, 'file')} of {size_after:,} bytes in the copy"
        )


@interruptible()
def compact(directory: Path, out: Path) -> Compaction:
    """Write a copy of an output in which each measured table is one file, sorted by its key.

    The copy opens, is checked and is published as the output itself; nothing is measured into it.
    Every content is compared with its hash first.
    """
    run_files(directory)  # refuses a directory without any
    if out.exists():
        raise InputError(f"{out} exists already.", "Choose another --out.")
    if out.resolve().is_relative_to(directory.resolve()):
        raise InputError(
            f"A copy must lie outside the output that it is made of; {out} is within {directory}.",
            "Choose another --out.",
        )
    interrupted = incomplete_units(directory)
    if interrupted:
        raise InputError(
            f"The unit {interrupted[0]} of {directory} is incomplete.",
            "Finish it with the command that began it; `collect check` lists all there is.",
        )
    check_writable(out)
    try:
        with complete_or_absent(out) as staged:
            with connect(comments=False) as connection:
                connection.execute("SET temp_directory = ?", [str(staged / ".sorting")])
                sources = assemble(connection, [directory], copy=False, contents=True)
                for table, paths in left_in_files(sources).items():
                    names = {str(path): sources.headers.of(path).columns.names for path in paths}
                    attach(connection, table, names)
                runs = [path for path in sources.files["run"] if path.parent.name == "run"]
                units = [read_run_file(path, sources.headers) for path in runs]
                rows = _run_rows(units, runs, sources.headers)
                stem = pack_name(
                    hashlib.sha256(json.dumps([name for name, _ in rows]).encode()).hexdigest()
                )
                counts = {
                    f"{table}/{stem}.parquet": _write_sorted(connection, table, stem, staged)
                    for table in (*MEASURED, "revision")
                    if table in sources.files
                }
            shutil.rmtree(staged / ".sorting", ignore_errors=True)
            beside = _copy_others(directory, sources, units, staged)
            _write_runs(stem, rows, _mark(rows, counts, units, beside, staged), staged)
            n_units, notes = len(rows), sources.headers.notes
    except duckdb.IOException as error:
        raise OutputError(
            f"{out} cannot be written: {error}.", "Choose another --out, or free some space."
        ) from error
    n_files, n_bytes = zip(_size(directory), _size(out), strict=True)
    return Compaction(n_units, n_files, n_bytes, notes)


def _write_sorted(connection: duckdb.DuckDBPyConnection, table: str, stem: str, out: Path) -> int:
    """Write a table into one file, sorted by model and by its key; return its number of rows."""
    columns, key = arrow_schema(table), tables()[table].key
    of_model = [name for name in ("model_id",) if name in columns.names and name not in key]
    order = [*of_model, *key]
    path = out / table / f"{stem}.parquet"
    path.parent.mkdir()
    names = ", ".join(f'"{name}"' for name in order)
    rows = connection.sql(f'FROM "{table}" ORDER BY {names}')
    n_rows = 0
    with pq.ParquetWriter(path, columns, **layout(columns, order)) as writer:
        for batch in rows.to_arrow_reader(ROW_GROUP_ROWS):
            writer.write_table(pa.Table.from_batches([batch]).cast(columns))
            n_rows += batch.num_rows
    return n_rows


def _run_rows(
    units: Sequence[RunFile], paths: Sequence[Path], headers: Headers
) -> list[tuple[str, dict[str, object]]]:
    """Return name and row of table ``run`` of every unit, sorted by model, run and name."""
    rows = [
        (unit.stem, row)
        for of, path in zip(units, paths, strict=True)
        for unit, row in zip(of.units, headers.of(path).read("run").to_pylist(), strict=True)
    ]
    return sorted(rows, key=lambda entry: (entry[1]["model_id"], entry[1]["run_id"], entry[0]))


def _copy_others(
    directory: Path, sources: Sources, units: Sequence[RunFile], out: Path
) -> dict[str, str]:
    """Copy what is not sorted: prompts, vectors, tables that no run file lists.

    Returns
    -------
    Hash of the content of each file that a run file lists without rows, by its path.
    """
    beside = {
        name: digest
        for unit in units
        for name, digest in unit.mark.sha256.items()
        if name.endswith(".safetensors")
    }
    others = [
        path.relative_to(directory).as_posix()
        for table, paths in sources.files.items()
        for path in paths
        if table not in (*MEASURED, "revision", "run") or path.parent == directory
    ]
    for name in (*others, *beside):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(directory / name, out / name)
    return beside


def _mark(
    rows: Sequence[tuple[str, dict[str, object]]],
    counts: Mapping[str, int],
    units: Sequence[RunFile],
    beside: Mapping[str, str],
    out: Path,
) -> Mark:
    """Return what the run file of the copy says of its files."""
    prompts = {name: n for unit in units for name, n in unit.mark.rows.items() if "prompt/" in name}
    prompt_sets = {name: digest for unit in units for name, digest in unit.mark.prompts.items()}
    of_units = {name: n for name, n in counts.items() if not name.startswith("revision/")}
    mark = mark_of_files(
        {"units": [stem for stem, _ in rows], "prompt_sets": prompt_sets},
        labels={},
        rows={**of_units, **prompts},
        files={name: out / name for name in counts},
        beside=beside,
    )
    return mark.sealed({"rows": [row for _, row in rows]})


def _write_runs(
    stem: str, rows: Sequence[tuple[str, dict[str, object]]], mark: Mark, out: Path
) -> None:
    columns = arrow_schema("run")
    table = pa.Table.from_pylist([row for _, row in rows], columns)
    marked = table.replace_schema_metadata({**(columns.metadata or {}), **mark.metadata})
    (out / "run").mkdir()
    pq.write_table(marked, out / "run" / f"{stem}.parquet", **layout(columns, ()))


def _size(directory: Path) -> tuple[int, int]:
    """Return number and size [bytes] of the Parquet files of a directory's tables."""
    sizes = [path.stat().st_size for path in directory.glob("*/*.parquet")]
    return len(sizes), sum(sizes)
