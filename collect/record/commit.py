"""The files of a unit, put down so that at every moment the unit is complete or absent.

Whoever writes a unit holds the lock of its run. The files are written where no glob finds them.
When all are there, its mark included, the old mark goes, the files are renamed into their tables,
and the mark last; so a reader that trusts marks never sees files of two measurements as one unit,
and a disk that fills up leaves what was there before.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from collect.errors import OutputError
from collect.process.requests import uninterrupted
from collect.record.atomic import locks
from collect.record.atomic.files import check_open, write_atomically
from collect.record.inventory import (
    Inventory,
    refuse_mixtures,
    refuse_other_shape,
    repeated_by,
)
from collect.record.units import Unit, variant_of
from collect.record.writer import conforming, write_table, write_tensors
from collect.schema import MEASURED, UNFINISHED
from collect.schema.assembly import GEOMETRY
from collect.schema.headers import written
from collect.schema.marks import Mark, file_sha256, mark_of_files

if TYPE_CHECKING:
    from torch import Tensor

_TEMPORARY = re.compile(r"\.(.+)\.parquet\.\d+\.tmp")


def commit(
    unit: Unit,
    frames: Mapping[str, pd.DataFrame],
    inventory: Inventory,
    *,
    tensors: Mapping[str, Tensor] | None = None,
    gone: Collection[Path] = (),
) -> int:
    """Write the tables of a unit, its mark last; the caller holds the lock of its run.

    Parameters
    ----------
    unit
        What was measured.
    frames
        Rows by table, that of table ``run`` included. Tables without rows leave no file.
    inventory
        What the output holds that the unit goes to.
    gone
        Run files that others are about to replace: what they say is no contradiction.
    tensors
        What table ``own_vector`` points into, by name; None where there is nothing.

    Returns
    -------
    Number of rows written, without that of ``run``; 0 if another process was faster.
    """
    out, run_row = inventory.out, frames["run"]
    provenance = _provenance(run_row)
    with _unfinished(unit, out) as staged:
        beside = _write_vectors(unit, staged, tensors)
        rows = _write_rows(frames, staged, provenance, file_of_vectors=min(beside, default=None))
        with locks.held(out, locks.OF_MARKS, wait=True):
            refuse_mixtures([unit], inventory, gone)
            if "model" in frames:
                (described,) = frames["model"].astype(object).to_dict("records")
                shape = {n: None if pd.isna(described[n]) else described[n] for n in GEOMETRY}
                refuse_other_shape(unit, shape, inventory, gone)
            if repeated_by(unit, inventory) is not None:
                return 0
            n_prompts = None
            if "prompt" in frames:  # the units that were measured on a set share its file
                of_set = {n: provenance[n] for n in _OF_SET if n in provenance}
                place = out / _prompt_file(unit)
                n_prompts = write_table("prompt", frames["prompt"], place, metadata=of_set)
            with in_place():
                mark = _mark(unit, run_row, rows, staged, n_prompts, beside=beside)
            metadata = {**provenance, **mark.metadata}
            write_table("run", run_row, staged / "run", metadata=metadata)
            _move(unit, staged, [*rows, "run"], out, beside=beside)
    written.note(out, [out / table / f"{unit.stem}.parquet" for table in (*rows, "run")])
    return sum(mark.rows.values())


def _provenance(run_row: pd.DataFrame) -> dict[str, str]:
    """Return what every file of a unit says about itself, as key-value metadata."""
    (row,) = run_row.to_dict("records")
    given = {name: row[name] for name in _PROVENANCE if pd.notna(row.get(name))}
    return {n: str(v).lower() if isinstance(v, bool) else str(v) for n, v in given.items()}


_PROVENANCE = (
    "run_id",
    "model_id",
    "revision",
    "weights_sha256",
    "config_sha256",
    "dtype_weights",
    "dtype_compute",
    "prompt_set_sha256",
    "tokens_sha256",
    "is_conforming",
    "code_version",
)


#: What the file of a prompt set says about itself.
_OF_SET = ("code_version", "prompt_set_sha256")


def _write_rows(
    frames: Mapping[str, pd.DataFrame],
    staged: Path,
    provenance: Mapping[str, str],
    *,
    file_of_vectors: str | None,
) -> dict[str, int]:
    """Write the tables of a unit, where it has rows of them; those of prompts are no unit's."""
    pointing = {"own_vector": {"file": file_of_vectors}}
    return {
        table: write_table(
            table, frame.assign(**pointing.get(table, {})), staged / table, metadata=provenance
        )
        for table, frame in frames.items()
        if table not in ("prompt", "run") and len(frame)
    }


#: Name, among the files of a unit that are not in place yet, of its file of vectors.
_VECTORS = "vectors"


def _write_vectors(
    unit: Unit, staged: Path, tensors: Mapping[str, Tensor] | None
) -> dict[str, str]:
    """Write the vectors of a unit; return the hash of their file by its path in the output."""
    if not tensors:
        return {}
    path = staged / _VECTORS
    write_atomically(path, partial(write_tensors, tensors))
    return {f"own_vector/{unit.stem}.safetensors": file_sha256(path)}


@contextmanager
def _unfinished(unit: Unit, out: Path) -> Iterator[Path]:
    """Lend a directory for the files of a unit, where no glob over the tables finds them."""
    staged = out / UNFINISHED / unit.stem
    shutil.rmtree(staged, ignore_errors=True)
    try:
        yield staged
    finally:
        shutil.rmtree(staged, ignore_errors=True)
        with suppress(OSError):
            staged.parent.rmdir()


@contextmanager
def in_place() -> Iterator[None]:
    """Refuse to go on where files that were written are no longer where they were put."""
    try:
        yield
    except FileNotFoundError as error:
        raise OutputError(
            f"The output must stay in place while it is written; {error.filename} is gone.",
            "Let nothing else move or remove the output, and run the command again.",
        ) from error


def _mark(
    unit: Unit,
    run_row: pd.DataFrame,
    rows: Mapping[str, int],
    staged: Path,
    n_prompts: int | None,
    *,
    beside: Mapping[str, str],
) -> Mark:
    """Return the mark of a unit whose files are written."""
    names = {table: f"{table}/{unit.stem}.parquet" for table in rows}
    shared = {} if n_prompts is None else {_prompt_file(unit): n_prompts}
    mark = mark_of_files(
        unit.determinants,
        unit.labels,
        rows={**{name: rows[table] for table, name in names.items()}, **shared},
        files={name: staged / table for table, name in names.items()},
        beside=beside,
    )
    return mark.sealed(conforming("run", run_row).to_pylist()[0])


def _move(
    unit: Unit,
    staged: Path,
    tables: Sequence[str],
    out: Path,
    *,
    beside: Mapping[str, str],
) -> None:
    """Put the finished files of a unit into their tables, the mark last; or remove them."""
    going = {unit.stem, *(path.stem for path in unit.replaces)}
    targets = [(_VECTORS, out / name) for name in beside]
    targets += [(table, out / table / f"{unit.stem}.parquet") for table in tables]
    present = [path for stem in going for path in _files(stem, out) if path.exists()]
    check_open(path.parent for path in (*present, *(target for _, target in targets)))
    with uninterrupted():
        for stem in going:
            clear(stem, out)
        for prepared, target in targets:
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                (staged / prepared).replace(target)
            except OSError as error:
                clear(unit.stem, out)
                raise OutputError(
                    f"The output file {target} must be writable; {error.strerror or error}.",
                    "Choose another --out, or free some space.",
                ) from error


def clear(stem: str, out: Path) -> None:
    """Remove what the output holds of the unit whose files have this name, its mark first."""
    for path in _files(stem, out):
        try:
            path.unlink(missing_ok=True)
        except NotADirectoryError:
            continue  # said in a sentence when the table is written
        except OSError as error:
            raise OutputError(
                f"The output file {path} must be writable; {error.strerror or error}.",
                "Choose another --out.",
            ) from error


def _files(stem: str, out: Path) -> list[Path]:
    """Return where the files of a unit lie, its mark first."""
    tables = [out / table / f"{stem}.parquet" for table in ("run", *MEASURED)]
    return [*tables, out / "own_vector" / f"{stem}.safetensors"]


def _prompt_file(unit: Unit) -> str:
    return f"prompt/{unit.determinants['prompt_set']}.parquet"


def check_writable(out: Path) -> None:
    """Check that files can be made in the output directory, without making it."""
    existing = next(path for path in (out, *out.absolute().parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise OutputError(
            f"The output directory {out} must be writable; no file can be made in {existing} "
            f"({error.strerror or error}).",
            "Choose another --out.",
        ) from error


def remove_leftovers(out: Path) -> None:
    """Remove temporary files and locks of processes that no longer run, on whatever machine."""
    for path in sorted(out.glob("*/.*.tmp")):
        match = _TEMPORARY.fullmatch(path.name)
        if match is None:
            continue
        name = locks.OF_MARKS if path.parent.name == "prompt" else variant_of(match.group(1))
        with locks.held(out, name) as is_abandoned:
            if is_abandoned:
                with suppress(OSError):
                    path.unlink()
    for staged in sorted((out / UNFINISHED).glob("*")):
        with locks.held(out, variant_of(staged.name)) as is_abandoned:
            if is_abandoned:
                shutil.rmtree(staged, ignore_errors=True)
    with suppress(OSError):
        (out / UNFINISHED).rmdir()
    locks.remove_abandoned(out)
