"""The files of a unit, put down so that at every moment the unit is complete or absent.

Whoever writes a unit holds its lock. Its old mark goes first, its files come next, its new
mark last; so a reader that trusts marks never sees files of two measurements as one unit.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from collect import locks
from collect.errors import OutputError
from collect.schema import MEASURED
from collect.units import Mark, Unit, refuse_mixtures, run_file
from collect.writer import write_table

_TEMPORARY = re.compile(r"\.(.+)\.parquet\.\d+\.tmp")

#: Prefix that tells the lock of a prompt set's file from the lock of a unit.
_OF_PROMPT_SET = "prompt+"

#: Lock under which marks are set, so that two that contradict each other never both are.
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
    clear(unit, out)
    rows: dict[str, int] = {}
    hashes: dict[str, str] = {}
    for table, frame in frames.items():
        if frame.empty:
            continue
        if table == "prompt":
            name = f"prompt/{unit.determinants['prompt_set']}.parquet"
            rows[name] = _write_prompts(frame, out / name, provenance)
            continue
        name = f"{table}/{unit.stem}.parquet"
        rows[name] = write_table(table, frame, out / name, metadata=provenance)
        hashes[name] = file_sha256(out / name)
    mark = Mark(dict(unit.determinants), dict(unit.labels), rows, hashes)
    with locks.held(out, _OF_MARKS, wait=True):
        refuse_mixtures([unit, *peers], out)
        metadata = {**provenance, **mark.metadata}
        write_table("run", run_row, run_file(out, unit), metadata=metadata)
    return sum(rows.values())


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
    """Write the file of a prompt set, which every unit measured on it shares."""
    of_prompts = ("code_version", "prompt_set_sha256")
    metadata = {name: provenance[name] for name in of_prompts if name in provenance}
    with locks.held(path.parents[1], f"{_OF_PROMPT_SET}{path.stem}", wait=True):
        return write_table("prompt", prompts, path, metadata=metadata)


def file_sha256(path: Path) -> str:
    """Return the hash of the content of a file."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


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
        prefix = _OF_PROMPT_SET if path.parent.name == "prompt" else ""
        with locks.held(out, f"{prefix}{match.group(1)}") as is_abandoned:
            if is_abandoned:
                path.unlink(missing_ok=True)
    locks.remove_abandoned(out)
