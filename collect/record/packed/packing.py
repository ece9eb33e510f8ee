"""Units packed into few large files, and written out again; at every moment each unit is there.

A pack is prepared where no glob finds it and compared with its units row by row. Its files are
renamed into their tables, its run file last: from then on its units are taken from it, and their
own files are removed. Writing out goes the same way back. A process that is killed leaves either
the units or the pack, and files that do not count, which the next `run` or `compact` removes.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from collect.errors import OutputError
from collect.record.atomic import locks, placement
from collect.record.atomic.files import write_atomically
from collect.record.packed.packs import (
    Part,
    Rows,
    encoded,
    marks_file,
    pack_sha256,
    packs,
    remove_files,
)
from collect.record.packed.rows import file_of, is_same, rows_of, typed
from collect.record.units import (
    Mark,
    has_its_files,
    is_run_as_marked,
    read_mark,
    read_run,
    run_id,
)
from collect.record.writer import ROW_GROUP_ROWS, layout
from collect.schema import MEASURED, READABLE_VERSIONS, UNFINISHED, arrow_schema
from collect.schema.marks import file_sha256, prompts_of
from collect.schema.packs import MARKS, MARKS_SUFFIX, is_pack, pack_name

#: Rows of a pack, all tables together, at which the next one begins; a model is not divided.
PACK_ROWS = 2**23


@dataclass(frozen=True, slots=True)
class Loose:
    """A unit in files of its own: its name, its mark, and the state of its run file."""

    stem: str
    mark: Mark
    stamp: tuple[int, int]

    @property
    def place(self) -> tuple[str, str, str]:
        """What units are sorted by within a pack."""
        return str(self.mark.determinants["model_id"]), run_id(self.mark.determinants), self.stem


def loose_units(out: Path) -> tuple[list[Loose], list[str]]:
    """Return the units of an output that can be packed, sorted, and the names of the others.

    A unit is packed if it is complete and its run file hashes its files, as those of early
    versions do not.
    """
    held = {stem for pack in packs(out) for stem in pack.names}
    found, others = [], []
    for path in sorted((out / "run").glob("*.parquet")):
        if is_pack(path.stem) or path.stem in held:
            continue
        unit = _loose(path, out)
        if unit is None:
            others.append(path.stem)
        else:
            found.append(unit)
    return sorted(found, key=lambda unit: unit.place), others


def _loose(path: Path, out: Path) -> Loose | None:
    stamp, mark = _stamp(path), read_mark(path)
    if mark is None or stamp is None or not mark.run_sha256:
        return None
    own = {name for name in mark.rows if not name.startswith("prompt/")}
    is_known = mark.determinants.get("schema_version") in READABLE_VERSIONS
    if not (is_known and own <= mark.sha256.keys() and has_its_files(mark, out)):
        return None
    return Loose(path.stem, mark, stamp) if is_run_as_marked(read_run(path), mark) else None


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_mtime_ns, state.st_ino


def grouped(units: Sequence[Loose], limit: int) -> list[list[Loose]]:
    """Return sorted units in groups of whole models, each of about this many rows."""
    groups: list[list[Loose]] = []
    n_rows, last = limit, ""
    for unit in units:
        model = unit.place[0]
        if n_rows >= limit and model != last:
            groups.append([])
            n_rows = 0
        groups[-1].append(unit)
        n_rows, last = n_rows + sum(unit.mark.rows.values()), model
    return groups


def pack(units: Sequence[Loose], out: Path) -> bool:
    """Put some units of an output into one pack; False if they changed meanwhile.

    Raises
    ------
    OutputError
        If a file cannot be written, or the rows read back are not those of the units; the units
        remain as they were.
    """
    identity = json.dumps([[unit.stem, unit.mark.run_sha256] for unit in units])
    stem = pack_name(hashlib.sha256(identity.encode()).hexdigest())
    with locks.held(out, stem) as is_held:
        if not is_held:
            return False
        staged = out / UNFINISHED / stem
        shutil.rmtree(staged, ignore_errors=True)
        try:
            mark = _stage(units, stem, staged, out)
            with locks.held(out, locks.OF_MARKS, wait=True):
                if any(_stamp(out / "run" / f"{u.stem}.parquet") != u.stamp for u in units):
                    return False
                targets = _targets(mark, stem, staged, out)
                placement.check_open(target.parent for target in targets.values())
                with placement.uninterrupted():
                    for prepared, target in targets.items():
                        placement.rename(prepared, target)
                    remove_files([unit.stem for unit in units], out)
        except FileNotFoundError:
            return False  # measured again, or removed, while it was read
        finally:
            shutil.rmtree(staged, ignore_errors=True)
            with suppress(OSError):
                staged.parent.rmdir()
    return True


def _stage(units: Sequence[Loose], stem: str, staged: Path, out: Path) -> Mark:
    """Write the files of a pack where no glob finds them, and return its mark."""
    parts: dict[str, dict[str, Part]] = {unit.stem: {} for unit in units}
    names: dict[str, str] = {}
    for table in MEASURED:
        holding = [unit for unit in units if f"{table}/{unit.stem}.parquet" in unit.mark.rows]
        if holding:
            names[f"{table}/{stem}.parquet"] = table
            found = _write_rows(table, [unit.stem for unit in holding], staged / table, out)
            for unit, part in zip(holding, found, strict=True):
                parts[unit.stem][table] = part
    runs = _write_rows("run", [unit.stem for unit in units], staged / "run", out)
    for unit, part in zip(units, runs, strict=True):
        parts[unit.stem]["run"] = part
    marks = staged / MARKS
    write_atomically(marks, partial(_write_bytes, encoded(parts)))
    mark = _mark_of_pack(units, names, staged)
    mark.sha256[f"{MARKS}/{stem}{MARKS_SUFFIX}"] = file_sha256(marks)
    rows = pq.ParquetFile(staged / "run").read()
    mark = replace(mark, run_sha256=pack_sha256(rows.to_pylist(), mark))
    marked = rows.cast(arrow_schema("run")).replace_schema_metadata(mark.metadata)
    write_atomically(staged / "run", partial(_write_run, marked))
    return mark


def _mark_of_pack(units: Sequence[Loose], names: dict[str, str], staged: Path) -> Mark:
    """Return the mark of a pack whose tables are written; its marks' file is not in it yet."""
    prompt_sets: dict[str, str] = {}
    shared: dict[str, int] = {}
    beside: dict[str, str] = {}
    for unit in units:
        prompt_sets |= prompts_of(unit.mark.determinants)
        shared |= {n: rows for n, rows in unit.mark.rows.items() if n.startswith("prompt/")}
        beside |= {n: unit.mark.sha256[n] for n in unit.mark.sha256.keys() - unit.mark.rows.keys()}
    states = {name: (staged / table).stat() for name, table in names.items()}
    rows = {name: pq.read_metadata(staged / table).num_rows for name, table in names.items()}
    return Mark(
        determinants={"units": [unit.stem for unit in units], "prompt_sets": prompt_sets},
        labels={},
        rows={**rows, **shared},
        sha256={**{n: file_sha256(staged / table) for n, table in names.items()}, **beside},
        sizes={name: state.st_size for name, state in states.items()},
        times={name: state.st_mtime_ns for name, state in states.items()},
    )


def _write_bytes(content: bytes, path: Path) -> None:
    path.write_bytes(content)


def _write_run(marked: pa.Table, path: Path) -> None:
    pq.write_table(marked, path, **layout(marked.schema, ()))


def _write_rows(table: str, stems: Sequence[str], path: Path, out: Path) -> list[Part]:
    """Write the rows of some units into one file, sorted; return the place of each.

    Raises
    ------
    OutputError
        If the file cannot be written, or what is read back is other than what was to be written.
    """
    sources = [out / table / f"{stem}.parquet" for stem in stems]
    parts: list[Part] = []
    write_atomically(path, lambda temporary: parts.extend(_concatenate(table, sources, temporary)))
    written = Rows(path)
    for source, part in zip(sources, parts, strict=True):
        if not is_same(written.of(part), rows_of(source).cast(part.schema)):
            raise OutputError(
                f"Packed rows must be those of their units; {source} was read back otherwise.",
                "Its unit stays as it is; run `collect check` on the directory.",
            )
    written.close()
    return parts


def _concatenate(table: str, sources: Sequence[Path], path: Path) -> list[Part]:
    columns = arrow_schema(table)
    order = [name for name in ("model_id", "run_id") if name in columns.names]
    parts: list[Part] = []
    waiting: list[pa.Table] = []
    n_waiting = offset = 0
    with pq.ParquetWriter(path, columns, **layout(columns, order)) as writer:
        for source in sources:
            rows = rows_of(source)
            parts.append(Part(offset, len(rows), *file_of(source)))
            offset += len(rows)
            waiting.append(typed(rows, columns))
            n_waiting += len(rows)
            if n_waiting >= ROW_GROUP_ROWS:
                writer.write_table(pa.concat_tables(waiting), row_group_size=ROW_GROUP_ROWS)
                waiting, n_waiting = [], 0
        if waiting:
            writer.write_table(pa.concat_tables(waiting), row_group_size=ROW_GROUP_ROWS)
    return parts


def _targets(mark: Mark, stem: str, staged: Path, out: Path) -> dict[Path, Path]:
    """Return the place of each finished file of a pack, that of its run file last."""
    tables = [Path(name).parent.name for name in mark.rows if not name.startswith("prompt/")]
    targets = {staged / table: out / table / f"{stem}.parquet" for table in tables}
    targets[staged / MARKS] = marks_file(out, stem)
    return {**targets, staged / "run": out / "run" / f"{stem}.parquet"}
