"""Units of packs written out again into files of their own, by the way that they were packed."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Collection
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from collect.errors import InputError
from collect.record.atomic import locks, placement
from collect.record.atomic.files import write_atomically
from collect.record.packed.packs import Pack, PackedUnit, Rows, packs, remove_pack
from collect.record.writer import write_parquet
from collect.schema import UNFINISHED
from collect.schema.marks import file_sha256, run_sha256
from collect.schema.packs import MARKS, pack_name


def unpack(held: Pack) -> None:
    """Write the units of a pack into files of their own; the caller holds the lock of the marks.

    The files are those that were packed, bit for bit, where this version of the library of
    Parquet writes as the one before did; otherwise they hold the same rows, and new marks.

    Raises
    ------
    InputError
        If the pack is not as its run file says.
    OutputError
        If a file cannot be written; the pack remains.
    """
    if not held.is_intact:
        raise InputError(
            f"Packed units must be as their run file says; {held.path} or a file of it is not.",
            "Restore the directory from a copy; `collect check` names the file.",
        )
    # A name of its own: who packs the same units anew waits for the lock of the marks.
    name = pack_name(hashlib.sha256(f"out of {held.stem}".encode()).hexdigest())
    with locks.held(held.out, name, wait=True):
        _put_out(held, held.out / UNFINISHED / name)


def _put_out(held: Pack, staged: Path) -> None:
    """Write the files of all units, put them into their tables, and remove the pack."""
    shutil.rmtree(staged, ignore_errors=True)
    try:
        readers = {table: Rows(held.out / table / held.path.name) for table in _tables_of(held)}
        for unit in held.units:
            _write_out(unit, readers, staged)
        names = [
            f"{table}/{unit.stem}.parquet"
            for unit in held.units
            for table in sorted(unit.parts, key=lambda table: table == "run")
        ]
        changing = [*names, f"{MARKS}/{held.stem}"]
        placement.check_open((held.out / name).parent for name in changing)
        with placement.uninterrupted():
            for name in names:
                placement.rename(staged / name, held.out / name)
            held.path.unlink()
            remove_pack(held.stem, held.out)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
        with suppress(OSError):
            staged.parent.rmdir()


def _tables_of(held: Pack) -> set[str]:
    return {table for unit in held.units for table in unit.parts}


def _write_out(unit: PackedUnit, readers: dict[str, Rows], staged: Path) -> None:
    """Write the files of one unit, with the mark that they had if they are what they were."""
    sha256, sizes, times = dict(unit.mark.sha256), dict(unit.mark.sizes), dict(unit.mark.times)
    for table, part in unit.parts.items():
        if table == "run":
            continue
        name = f"{table}/{unit.stem}.parquet"
        path = staged / name
        write_atomically(path, partial(write_parquet, table, readers[table].of(part)))
        digest = file_sha256(path)
        if digest == unit.mark.sha256[name] and name in times:
            os.utime(path, ns=(times[name], times[name]))
        state = path.stat()
        sha256[name], sizes[name], times[name] = digest, state.st_size, state.st_mtime_ns
    run = readers["run"].of(unit.parts["run"])
    mark = replace(unit.mark, sha256=sha256, sizes=sizes, times=times)
    if sha256 != unit.mark.sha256:
        mark = replace(mark, run_sha256=run_sha256(run.to_pylist()[0], asdict(mark)))
        run = run.replace_schema_metadata({**unit.parts["run"].metadata, **mark.metadata})
    write_atomically(staged / "run" / f"{unit.stem}.parquet", partial(write_parquet, "run", run))


def unpack_units(stems: Collection[str], out: Path) -> None:
    """Write out the packs that hold any of some units; the caller holds the lock of the marks."""
    for held in packs(out):
        if {*held.names} & {*stems}:
            unpack(held)
