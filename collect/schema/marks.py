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

from collect.schema.contract import ContractError
from collect.schema.headers import UNREADABLE, Headers

#: Parts of a run file's metadata that vouch for the files of its unit, besides the determinants.
VOUCHING = ("rows", "sha256", "sizes", "times")

#: What is known of a prompt besides its place in a set.
_OF_PROMPT = ("prompt_id", "category", "format", "text", "metadata")

#: What the parts of a mark that are by file hold.
_KINDS = {"rows": int, "sizes": int, "times": int, "sha256": str}


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
        Hash of the row of the run file and of what vouches for the files; see `run_sha256`.
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
    def parts(self) -> dict[str, Any]:
        """What it says, part by part, not copied."""
        return {name: getattr(self, name) for name in self.__slots__}

    @property
    def metadata(self) -> dict[str, str]:
        """The mark as key-value metadata of the run file."""
        return {name: json.dumps(getattr(self, name), sort_keys=True) for name in self.__slots__}


def quantities_of(determinants: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the quantities that a unit holds of its run."""
    return tuple(name for name in str(determinants.get("quantities", "")).split(",") if name)


def read_mark(path: Path) -> Mark | None:
    """Return what a run file says, or None when there is none that can be read.

    A mark of an earlier version, which kept no hashes or sizes, is read with none.
    """
    try:
        return mark_of(pq.read_metadata(path).metadata or {})
    except UNREADABLE:
        return None


def mark_of(metadata: Mapping[bytes, bytes]) -> Mark | None:
    """Return what the key-value metadata of a run file say, or None when they are no mark."""
    try:
        known = {n: metadata[n.encode()].decode() for n in Mark.__slots__ if n.encode() in metadata}
        mark = replace(mark_in(known), labels=json.loads(known["labels"]))
    except (*UNREADABLE, KeyError, TypeError, RecursionError):
        return None
    is_of_unit = mark.determinants.keys() >= {"model_id", "kind", "prompt_set"}
    is_of_pack = isinstance(mark.determinants.get("units"), list)
    is_whole = "rows" in known and isinstance(mark.labels, dict)
    return mark if is_whole and (is_of_unit or is_of_pack) else None


def mark_in(metadata: Mapping[str, str]) -> Mark:
    """Return what metadata say but for labels; what they do not say is empty.

    Raises
    ------
    ValueError, RecursionError
        If a part is no JSON.
    TypeError
        If it is another than it was written as.
    """
    parts = {name: json.loads(metadata.get(name, "{}")) for name in ("determinants", *VOUCHING)}
    mark = Mark(labels={}, run_sha256=json.loads(metadata.get("run_sha256", '""')), **parts)
    if not isinstance(mark.determinants, dict):
        raise TypeError("its determinants are not an object")
    for name, kind in _KINDS.items():
        values = parts[name].values() if isinstance(parts[name], dict) else [None]
        if not all(isinstance(value, kind) for value in values):
            raise TypeError(f"its {name} are not an object of files")
    return mark


def read_run(path: Path) -> dict[str, Any] | None:
    """Return the one row of a run file, or None when it cannot be read."""
    try:
        rows: list[dict[str, Any]] = pq.ParquetFile(path).read(use_threads=False).to_pylist()
    except UNREADABLE:
        return None
    return rows[0] if len(rows) == 1 else None


def read_marked(path: Path, headers: Headers) -> tuple[Mark, dict[str, Any]] | None:
    """Return what a run file says and the row that its mark hashed, both by one reading."""
    try:
        header = headers.of(path)
        mark = mark_of({name.encode(): it.encode() for name, it in header.metadata.items()})
        rows = header.stored().to_pylist()
    except (ContractError, *UNREADABLE):
        return None
    if mark is None or len(rows) != 1 or not is_run_as_marked(rows[0], mark):
        return None
    return mark, rows[0]


def is_run_as_marked(run: Mapping[str, Any] | None, mark: Mark) -> bool:
    """Return whether the row of a run file is there, and is the one that its mark hashed."""
    if run is None:
        return False
    return not mark.run_sha256 or mark.run_sha256 == run_sha256(run, mark.parts)


def run_as_marked(path: Path, mark: Mark) -> dict[str, Any] | None:
    """Return the row of a run file that its mark hashed; None where there is none."""
    run = read_run(path)
    return run if is_run_as_marked(run, mark) else None


def is_intact(path: Path, mark: Mark, out: Path) -> bool:
    """Return whether a run file and every file its mark lists are there, as the mark says."""
    return run_as_marked(path, mark) is not None and has_files_as_marked(mark, out)


def has_files_as_marked(mark: Mark, out: Path) -> bool:
    """Return whether every file that a mark lists is there, as the mark says.

    One whose content is hashed has the rows that it had.
    """
    return all(_is_as_marked(name, mark, out) for name in {**mark.rows, **mark.sha256})


def _is_as_marked(name: str, mark: Mark, out: Path) -> bool:
    path = out / name
    if name in mark.sha256:
        return path.is_file() and file_sha256(path) == mark.sha256[name]
    if n_rows(path) != mark.rows[name]:
        return False
    if name.startswith("prompt/"):
        return stored_prompts_sha256(path) == prompts_of(mark.determinants).get(path.stem)
    return True


def stored_prompts_sha256(path: Path) -> str | None:
    """Return the hash of the prompts in a file, see `prompts_sha256`; None if unreadable.

    Many units share it, and it is read again when it has changed.
    """
    try:
        state = path.stat()
        return _prompts_sha256(path, state.st_mtime_ns, state.st_size, state.st_ino)
    except (*UNREADABLE, KeyError, TypeError):
        return None


@lru_cache(maxsize=64)
def _prompts_sha256(path: Path, *_: int) -> str:
    return prompts_sha256(pq.ParquetFile(path).read().to_pylist())


def n_rows(path: Path) -> int | None:
    """Return the number of rows a Parquet file says it has; None when it cannot be read."""
    try:
        return int(pq.read_metadata(path).num_rows)
    except UNREADABLE:
        return None


def prompts_of(determinants: Mapping[str, Any]) -> dict[str, str]:
    """Return the hash of the prompts of each prompt set that a unit, or pack, was measured on."""
    if "prompt_sets" in determinants:
        return {str(name): str(digest) for name, digest in determinants["prompt_sets"].items()}
    digest = determinants.get("prompt_set_sha256")
    return {} if digest is None else {str(determinants.get("prompt_set")): digest}


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


def run_sha256(row: Mapping[str, Any], parts: Mapping[str, Any]) -> str:
    """Return the hash of the row of a run file and of the metadata that vouch for its files.

    Parameters
    ----------
    row
        The row as it is stored.
    parts
        ``determinants``, ``rows``, ``sha256``, ``sizes`` and ``times``; others do not count.
    """
    vouching = {name: parts[name] for name in ("determinants", *VOUCHING)}
    canonical = json.dumps({"row": dict(row), **vouching}, sort_keys=True, default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()
