"""The files of a unit, put down so that at every moment the unit is complete or absent.

Whoever writes a unit holds its lock. Its old mark goes first, its files come next, its new
mark last; so a reader that trusts marks never sees files of two measurements as one unit.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pandas as pd

from collect.errors import InputError, OutputError
from collect.record import locks
from collect.record.units import Mark, Unit, refuse_mixtures, run_file
from collect.record.writer import conforming, write_table
from collect.schema import MEASURED
from collect.schema.marks import file_sha256, run_sha256

_TEMPORARY = re.compile(r"\.(.+)\.parquet\.\d+\.tmp")

#: Lock under which marks and the files of prompt sets are written, so that two marks that
#: contradict each other are never both set, and no mark loses the prompts it refers to.
_OF_MARKS = "run+marks"


def commit(
    unit: Unit,
    frames: Mapping[str, pd.DataFrame],
    run_row: pd.DataFrame,
    out: Path,
    provenance: Mapping[str, str],
    *,
    peers: Sequence[Unit] = (),
) -> int:
    """Write the tables of a unit, its mark last; the caller holds the lock of the unit.

    Parameters
    ----------
    unit
        What was measured.
    frames
        Rows by table. Tables without rows leave no file.
    run_row
        The unit's row of table ``run``.
    out
        Directory of measurements.
    provenance
        Key-value metadata for every file: versions, hashes, formats, conformance.
    peers
        Units that are about to be replaced too, so that what they hold now is no contradiction.

    Returns
    -------
    Number of rows written, that of ``run`` left out.

    Raises
    ------
    OutputError
        If a file cannot be written.
    InputError
        If rows break the contract, or another process has meanwhile put down a unit that
        contradicts this one.
    """
    with locks.held(out, _OF_MARKS, wait=True):
        refuse_mixtures([unit, *peers], out)
    clear(unit, out)
    rows: dict[str, int] = {}
    hashes: dict[str, str] = {}
    own = {table: frame for table, frame in frames.items() if table != "prompt" and len(frame)}
    for table, frame in own.items():
        name = f"{table}/{unit.stem}.parquet"
        rows[name] = write_table(table, frame, out / name, metadata=provenance)
        hashes[name] = file_sha256(out / name)
    with locks.held(out, _OF_MARKS, wait=True):
        _refuse_after_writing(unit, peers, out)
        if "prompt" in frames:
            name = f"prompt/{unit.determinants['prompt_set']}.parquet"
            rows[name] = _write_prompts(frames["prompt"], out / name, provenance)
        mark = _mark(unit, run_row, rows, hashes, out)
        metadata = {**provenance, **mark.metadata}
        write_table("run", run_row, run_file(out, unit), metadata=metadata)
    return sum(rows.values())


def _mark(
    unit: Unit,
    run_row: pd.DataFrame,
    rows: Mapping[str, int],
    hashes: Mapping[str, str],
    out: Path,
) -> Mark:
    """Return the mark of a unit whose files are written."""
    states = {name: (out / name).stat() for name in hashes}
    mark = Mark(
        determinants=dict(unit.determinants),
        labels=dict(unit.labels),
        rows=dict(rows),
        sha256=dict(hashes),
        sizes={name: state.st_size for name, state in states.items()},
        times={name: state.st_mtime_ns for name, state in states.items()},
    )
    (stored,) = conforming("run", run_row).to_pylist()
    return replace(mark, run_sha256=run_sha256(stored, asdict(mark)))


def _refuse_after_writing(unit: Unit, peers: Sequence[Unit], out: Path) -> None:
    """Refuse a unit that another process has meanwhile contradicted, and remove its files."""
    try:
        refuse_mixtures([unit, *peers], out)
    except InputError:
        clear(unit, out)
        raise


def clear(unit: Unit, out: Path) -> None:
    """Remove what the output holds of a unit, its mark first.

    Raises
    ------
    OutputError
        If a file cannot be removed.
    """
    for path in (run_file(out, unit), *(out / t / f"{unit.stem}.parquet" for t in MEASURED)):
        try:
            path.unlink(missing_ok=True)
        except NotADirectoryError:
            continue  # said in a sentence when the table is written
        except OSError as error:
            raise OutputError(
                f"The output file {path} must be writable; {error.strerror or error}.",
                "Choose another --out.",
            ) from error


def _write_prompts(prompts: pd.DataFrame, path: Path, provenance: Mapping[str, str]) -> int:
    """Write the file of a prompt set, which every unit measured on it shares.

    The caller holds the lock of the marks and has refused other prompts of the same name.
    """
    of_prompts = ("code_version", "prompt_set_sha256")
    metadata = {name: provenance[name] for name in of_prompts if name in provenance}
    return write_table("prompt", prompts, path, metadata=metadata)


def check_writable(out: Path) -> None:
    """Check that files can be made in the output directory, without making it.

    Raises
    ------
    OutputError
        If they cannot.
    """
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
        name = _OF_MARKS if path.parent.name == "prompt" else match.group(1)
        with locks.held(out, name) as is_abandoned:
            if is_abandoned:
                path.unlink(missing_ok=True)
    locks.remove_abandoned(out)
