"""What the run file of a unit says of the unit's files, and whether they are still so."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from collect.schema.headers import UNREADABLE, opened
from collect.schema.paths import is_local

#: What is known of a prompt besides its place in a set.
_OF_PROMPT = ("prompt_id", "category", "format", "text", "metadata")

#: Parts of a mark that vouch for the files of its unit, and what each holds by file.
_KINDS = {"rows": int, "sha256": str, "sizes": int, "times": int}


@dataclass(frozen=True, slots=True)
class Mark:
    """What the run file of a complete unit says.

    Attributes
    ----------
    determinants, labels
        As in `collect.record.units.Unit`; of a pack, its units and prompt sets.
    rows
        Number of rows of each file of the unit, by its path within the output.
    sha256
        Hash of the content of each of them but the prompts', which units share and whose
        content the determinants hold; and of a file of vectors, which has no rows.
    sizes, times
        Size [bytes] of each of them and time of its last change [ns since 1970].
    run_sha256
        Hash of the row of the run file, and of all of the above but labels.
    """

    determinants: dict[str, Any]
    labels: dict[str, Any]
    rows: dict[str, int]
    sha256: dict[str, str]
    sizes: dict[str, int] = field(default_factory=dict)
    times: dict[str, int] = field(default_factory=dict)
    run_sha256: str = ""

    @property
    def quantities(self) -> tuple[str, ...]:
        """What the unit holds of its run."""
        return quantities_of(self.determinants)

    @property
    def prompts(self) -> dict[str, str]:
        """Hash of the prompts of each prompt set that a unit, or pack, was measured on."""
        known = self.determinants
        if "prompt_sets" in known:
            return {str(name): str(digest) for name, digest in known["prompt_sets"].items()}
        digest = known.get("prompt_set_sha256")
        return {} if digest is None else {str(known.get("prompt_set")): digest}

    @property
    def metadata(self) -> dict[str, str]:
        """The mark as key-value metadata of the run file."""
        return {name: json.dumps(getattr(self, name), sort_keys=True) for name in self.__slots__}

    def sealed(self, row: Mapping[str, Any]) -> Mark:
        """Return the mark with the hash of a row of the run file, as it is stored."""
        return replace(self, run_sha256=self._hash(row))

    def is_of(self, row: Mapping[str, Any]) -> bool:
        """Return whether a row of the run file is the one that was hashed; so without a hash."""
        return not self.run_sha256 or self.run_sha256 == self._hash(row)

    def _hash(self, row: Mapping[str, Any]) -> str:
        parts = {name: getattr(self, name) for name in ("determinants", *_KINDS)}
        canonical = json.dumps({"row": dict(row), **parts}, sort_keys=True, default=str)
        return hashlib.sha256(canonical.encode()).hexdigest()


def mark_of_files(
    determinants: Mapping[str, Any],
    labels: Mapping[str, Any],
    rows: Mapping[str, int],
    files: Mapping[str, Path],
    beside: Mapping[str, str],
) -> Mark:
    """Return the mark of a unit, or pack, whose files are written; it is not sealed yet.

    Parameters
    ----------
    determinants, labels, rows
        As in `Mark`; files that units share are among the rows and not among the files.
    files
        Where each file lies now whose content is hashed, by its path within the output.
    beside
        Hash of files that are listed without rows, by their path.
    """
    states = {name: place.stat() for name, place in files.items() if name in rows}
    return Mark(
        determinants=dict(determinants),
        labels=dict(labels),
        rows=dict(rows),
        sha256={**{name: file_sha256(place) for name, place in files.items()}, **beside},
        sizes={name: state.st_size for name, state in states.items()},
        times={name: state.st_mtime_ns for name, state in states.items()},
    )


def quantities_of(determinants: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the quantities that a unit holds of its run."""
    return tuple(name for name in str(determinants.get("quantities", "")).split(",") if name)


def read_mark(path: Path) -> Mark | None:
    """Return what a run file says, or None when there is none that can be read.

    A mark of an earlier version, which kept no hashes or sizes, is read with none.
    """
    try:
        stored = pq.read_metadata(path).metadata or {}
        names = [name for name in Mark.__slots__ if name.encode() in stored]
        mark = mark_in({name: stored[name.encode()].decode() for name in names})
    except (*UNREADABLE, TypeError, RecursionError):
        return None
    is_of_unit = mark.determinants.keys() >= {"model_id", "kind", "prompt_set"}
    is_of_pack = isinstance(mark.determinants.get("units"), list)
    is_whole = {"rows", "labels"} <= {*names}
    return mark if is_whole and (is_of_unit or is_of_pack) else None


def mark_in(metadata: Mapping[str, str]) -> Mark:
    """Return what metadata say; what they do not say is empty.

    Raises
    ------
    ValueError, RecursionError
        If a part is no JSON.
    TypeError
        If it is another than it was written as.
    """
    objects = ("determinants", "labels", *_KINDS)
    parts = {name: json.loads(metadata.get(name, "{}")) for name in objects}
    for name, part in parts.items():
        kind = _KINDS.get(name, object)
        if not isinstance(part, dict) or not all(isinstance(it, kind) for it in part.values()):
            raise TypeError(f"its {name} are not an object of files")
    return Mark(**parts, run_sha256=json.loads(metadata.get("run_sha256", '""')))


def run_as_marked(path: Path, mark: Mark) -> dict[str, Any] | None:
    """Return the one row of a run file that its mark hashed; None where there is none."""
    try:
        rows = pq.ParquetFile(path).read(use_threads=False).to_pylist()
    except UNREADABLE:
        return None
    return rows[0] if len(rows) == 1 and mark.is_of(rows[0]) else None


def stored_prompts_sha256(path: Path) -> str | None:
    """Return the hash of the prompts in a file, see `prompts_sha256`; None if unreadable.

    Many units share it: one on this machine is read again only when it has changed.
    """
    try:
        if not is_local(path):
            return _prompts_sha256.__wrapped__(path)
        state = path.stat()
        return _prompts_sha256(path, state.st_mtime_ns, state.st_size, state.st_ino)
    except (*UNREADABLE, KeyError, TypeError):
        return None


@lru_cache(maxsize=64)
def _prompts_sha256(path: Path, *_: int) -> str:
    with opened(path) as file:
        return prompts_sha256(file.read().to_pylist())


def file_sha256(path: Path) -> str:
    """Return the hash of the content of a file."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def prompts_sha256(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the hash of the prompts of a set.

    Of texts that are numbered in order, with nothing known of them but a category, it is over
    (category, text) of each; of any others over all that is known of each.

    Parameters
    ----------
    rows
        Rows of table ``prompt``, in any order; columns that earlier versions lack may be missing.
    """
    ordered = sorted(rows, key=lambda row: str(row["prompt_id"]))
    width = max(2, len(str(len(ordered) - 1)))
    are_lines = all(
        row.get("format") in (None, "text")
        and row.get("metadata") is None
        and str(row["prompt_id"]).partition(":")[2] == f"{place:0{width}d}"
        for place, row in enumerate(ordered)
    )
    columns = ("category", "text") if are_lines else _OF_PROMPT
    entries = [[row.get(name) for name in columns] for row in ordered]
    canonical = json.dumps(entries, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
