"""Units of measurement: what identifies one, whether it is complete, what may stand beside it.

A unit is the weights of a checkpoint, or a checkpoint on a prompt set. Its file in table
``run`` is written last and is the mark that the unit is complete.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from collect.errors import InputError, OutputError
from collect.writer import file_stem

_OF_PROMPTS = ("kind", "prompt_set", "prompt_set_sha256", "tokens_sha256")
_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_TEMPORARY = re.compile(r"\..+\.(\d+)\.tmp")


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit of measurement.

    Attributes
    ----------
    determinants
        Everything that determines the numbers, up to rounding: model, weights, prompts,
        formats, versions. The batch size is not among them, because a batch equals one
        prompt at a time; nor is time.
    labels
        Lab, suite, year and base model, which the numbers do not depend on.
    """

    determinants: Mapping[str, Any]
    labels: Mapping[str, Any]

    @property
    def run_id(self) -> str:
        """First 16 hexadecimal digits of the hash of the determinants."""
        canonical = json.dumps(dict(self.determinants), sort_keys=True)
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]

    @property
    def stem(self) -> str:
        """Name of the unit's files, without suffix."""
        return file_stem(self.determinants["model_id"], self.determinants["prompt_set"])

    @property
    def title(self) -> str:
        """Name of the unit for people."""
        return f"{self.determinants['model_id']}, {self.determinants['prompt_set'] or 'weights'}"


@dataclass(frozen=True, slots=True)
class Mark:
    """What the run file of a complete unit says: identity, labels, and rows of each file."""

    determinants: dict[str, Any]
    labels: dict[str, Any]
    rows: dict[str, int]

    @property
    def metadata(self) -> dict[str, str]:
        """The mark as key-value metadata of the run file."""
        return {
            "determinants": json.dumps(self.determinants, sort_keys=True),
            "labels": json.dumps(self.labels, sort_keys=True),
            "rows": json.dumps(self.rows, sort_keys=True),
        }


def run_file(out: Path, unit: Unit) -> Path:
    """Return the file that marks a unit as complete."""
    return out / "run" / f"{unit.stem}.parquet"


def unmark(out: Path, unit: Unit) -> None:
    """Remove the mark of a unit, if it has one, before its files are written again.

    Raises
    ------
    OutputError
        If it cannot be removed.
    """
    path = run_file(out, unit)
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(
            f"The output file {path} must be writable; {error.strerror or error}.",
            "Choose another --out.",
        ) from error


def read_mark(path: Path) -> Mark | None:
    """Return what a run file says, or None when there is none that can be read."""
    try:
        metadata = pq.read_metadata(path).metadata or {}
        parts = (json.loads(metadata[name]) for name in (b"determinants", b"labels", b"rows"))
        return Mark(*parts)
    except (OSError, pa.ArrowException, KeyError, ValueError):
        return None


def is_complete(unit: Unit, out: Path) -> bool:
    """Return whether the output holds the unit, all of its files included.

    Raises
    ------
    InputError
        If it holds the unit measured otherwise: other weights, prompts or settings.
    """
    mark = read_mark(run_file(out, unit))
    if mark is None:
        return False
    differences = _differences(
        {**mark.determinants, **mark.labels}, {**unit.determinants, **unit.labels}
    )
    if differences:
        raise InputError(
            f"A unit must be measured in one way only; {out} holds {unit.title} measured "
            f"otherwise: {differences}.",
            "Add --overwrite to measure it again, or choose another --out.",
        )
    return all(_n_rows(out / name) == n_rows for name, n_rows in mark.rows.items())


def refuse_mixtures(units: Sequence[Unit], out: Path) -> None:
    """Refuse to put units beside others of the same model or prompt set that contradict them.

    Raises
    ------
    InputError
        If the output holds the same model with other weights or settings, or the same
        prompt set with other prompts, in a unit that is not about to be replaced.
    """
    replaced = {run_file(out, unit) for unit in units}
    for path in sorted((out / "run").glob("*.parquet")):
        mark = None if path in replaced else read_mark(path)
        if mark is None:
            continue
        for unit in units:
            differences = _contradictions(mark.determinants, unit.determinants)
            if differences:
                raise InputError(
                    f"The output {out} must not mix measurements; {path.name} was measured "
                    f"otherwise than {unit.title}: {differences}.",
                    "Choose another --out, or measure that unit again in the same command.",
                )


def _contradictions(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return how two units differ in what they must share, empty when in nothing."""
    shared: list[str] = []
    if old["model_id"] == new["model_id"]:
        shared += [name for name in new if name not in _OF_PROMPTS]
    if new["prompt_set"] is not None and old["prompt_set"] == new["prompt_set"]:
        shared += ["prompt_set_sha256"]
    return _differences({name: old.get(name) for name in shared}, {n: new[n] for n in shared})


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    names = [name for name in new if old.get(name) != new[name]]
    return "; ".join(
        f"{name} is {_short(old.get(name))} there and {_short(new[name])} here" for name in names
    )


def _short(value: Any) -> str:
    """Return a value for people, a hash by its first 8 digits."""
    text = str(value)
    return text[:8] if _HASH.fullmatch(text) else text


def _n_rows(path: Path) -> int | None:
    try:
        return int(pq.read_metadata(path).num_rows)
    except (OSError, pa.ArrowException):
        return None


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
    """Remove temporary files of processes that no longer run."""
    for path in out.glob("*/.*.tmp"):
        match = _TEMPORARY.fullmatch(path.name)
        if match and not _is_another_running(int(match.group(1))):
            path.unlink(missing_ok=True)


def _is_another_running(pid: int) -> bool:
    if pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
