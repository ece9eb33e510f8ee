"""A whole output packed, or its units written out again, in place or in a new directory."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from collect.errors import InputError, OutputError
from collect.record.atomic import locks
from collect.record.atomic.files import remove, remove_of_dead_processes, temporary_beside
from collect.record.commit import check_writable, in_place, remove_leftovers
from collect.record.packed import leftovers, packing, revisions, unpacking
from collect.record.packed.packs import packs
from collect.record.units import run_files
from collect.schema import UNFINISHED
from collect.schema.counting import counted


@dataclass(frozen=True, slots=True)
class Compaction:
    """What was done with an output, and its Parquet files before and after.

    Attributes
    ----------
    n_units, n_packs, n_revisions
        Units that were packed or written out, their packs, and the files of revisions [1].
    left
        Names of units that stay as they are: incomplete, of an early version, changed meanwhile,
        or alone.
    n_files, n_bytes
        Number of Parquet files and their size [bytes], before and after.
    """

    n_units: int
    n_packs: int
    n_revisions: int
    left: tuple[str, ...]
    n_files: tuple[int, int]
    n_bytes: tuple[int, int]

    @property
    def words(self) -> str:
        """What was done, in one line."""
        (files, files_after), (size, size_after) = self.n_files, self.n_bytes
        of_revisions = (
            f", {counted(self.n_revisions, 'file')} of revisions" if self.n_revisions else ""
        )
        said = (
            f"{counted(self.n_units, 'unit')}, {counted(self.n_packs, 'pack')}{of_revisions}: "
            f"{counted(files, 'Parquet file')} of "
            f"{size:,} bytes before, {files_after} of {size_after:,} bytes now"
        )
        return f"{said}; as they were: {', '.join(self.left)}" if self.left else said


def compact(
    directory: Path, out: Path | None = None, *, rows: int = packing.PACK_ROWS
) -> Compaction:
    """Put the units of a directory into packs: few, large, sorted files.

    Parameters
    ----------
    directory
        What ``collect run`` wrote.
    out
        New directory for the result; None to change the directory itself.
    rows
        Rows of all tables at which a pack is full; a model is never divided.

    Raises
    ------
    InputError
        If there is no such directory or no unit in it, or the new one is there already.
    OutputError
        If a file cannot be written; the units remain as they were.
    """
    return _changed(directory, out, partial(_pack_all, rows=rows))


def expand(directory: Path, out: Path | None = None) -> Compaction:
    """Write the units of all packs of a directory into files of their own; see `compact`."""
    return _changed(directory, out, _unpack_all)


#: Changes a directory; returns the number of units, of packs and of files of revisions, and the
#: names of units left alone.
_Change = Callable[[Path], tuple[int, int, int, list[str]]]


def _changed(directory: Path, out: Path | None, change: _Change) -> Compaction:
    run_files(directory)  # refuses a directory without any
    before = _measured(directory)
    if out is None:
        check_writable(directory)
        remove_leftovers(directory)
        with in_place():
            *numbers, left = change(directory)
        return _compaction(numbers, left, before, _measured(directory))
    if out.exists():
        raise InputError(
            f"The directory for the result must be new; {out} is there already.",
            "Choose another --out, or leave it out to change the directory itself.",
        )
    check_writable(out)
    staged = temporary_beside(out)
    try:
        staged.parent.mkdir(parents=True, exist_ok=True)
        remove_of_dead_processes(out)
        shutil.copytree(directory, staged, copy_function=_link, ignore=_of_work)
        leftovers.remove_leftovers(staged)
        *numbers, left = change(staged)
        after = _measured(staged)
        staged.rename(out)
    except OSError as error:
        raise OutputError(
            f"The output directory {out} must be writable; {error.strerror or error}.",
            "Choose another --out, or free the space.",
        ) from error
    finally:
        remove(staged)
    return _compaction(numbers, left, before, after)


def _compaction(
    numbers: Sequence[int], left: list[str], before: tuple[int, int], after: tuple[int, int]
) -> Compaction:
    files, sizes = zip(before, after, strict=True)
    n_units, n_packs, n_revisions = numbers
    return Compaction(n_units, n_packs, n_revisions, tuple(sorted(left)), files, sizes)


def _link(source: str, target: str) -> str:
    """Give a file a second name, or copy it where that cannot be; files are never changed."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target


def _of_work(_: str, names: list[str]) -> set[str]:
    return {name for name in names if name in (locks.DIRECTORY, UNFINISHED) or name[:1] == "."}


def _pack_all(directory: Path, *, rows: int) -> tuple[int, int, int, list[str]]:
    units, left = packing.loose_units(directory)
    n_units = n_packs = 0
    for group in packing.grouped(units, rows):
        if len(group) > 1 and packing.pack(group, directory):
            n_units, n_packs = n_units + len(group), n_packs + 1
        else:
            left += [unit.stem for unit in group]
    with locks.held(directory, locks.OF_MARKS, wait=True):
        n_revisions = revisions.pack_revisions(directory)
    return n_units, n_packs, n_revisions, left


def _unpack_all(directory: Path) -> tuple[int, int, int, list[str]]:
    n_units = n_packs = 0
    with locks.held(directory, locks.OF_MARKS, wait=True):
        for held in packs(directory):
            unpacking.unpack(held)
            n_units, n_packs = n_units + len(held.names), n_packs + 1
        n_revisions = revisions.unpack_revisions(directory)
    return n_units, n_packs, n_revisions, []


def _measured(directory: Path) -> tuple[int, int]:
    """Return number and size [bytes] of the Parquet files of a directory's tables."""
    sizes = [path.stat().st_size for path in directory.glob("*/*.parquet")]
    return len(sizes), sum(sizes)
