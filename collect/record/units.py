"""Units of measurement: what identifies one, whether it is complete, what may stand beside it.

A unit is the weights of a checkpoint, or a checkpoint on a prompt set. Its file in table
``run`` is written last and is the mark that the unit is complete. No torch here.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from collect.errors import InputError
from collect.record.writer import file_stem
from collect.schema.marks import file_sha256, prompts_sha256, run_sha256

#: What all units of one model must share within an output.
_OF_MODEL = (
    "revision",
    "weights_sha256",
    "config_sha256",
    "adapter",
    "dtype_weights",
    "schema_version",
    "measurement_version",
    "torch_version",
    "transformers_version",
)

#: What all units of one model that ran on prompts must share besides.
_OF_FORWARD_PASS = ("dtype_compute", "device", "attention_implementation")

#: What reading a damaged Parquet file raises; names in its footer may be no text (ValueError).
UNREADABLE = (OSError, pa.ArrowException, ValueError, OverflowError)

_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit of measurement.

    Attributes
    ----------
    determinants
        Everything that determines the numbers, up to rounding: model, weights, prompts,
        rendering, formats, versions. The batch size is not among them, because a batch equals
        one prompt at a time; nor whether the model was loaded or streamed; nor is time.
    labels
        Lab, suite, year and base model, which the numbers do not depend on.
    """

    determinants: Mapping[str, Any]
    labels: Mapping[str, Any]

    @property
    def run_id(self) -> str:
        """First 16 hexadecimal digits of the hash of the determinants."""
        return run_id(self.determinants)

    @property
    def stem(self) -> str:
        """Name of the unit's files, without suffix."""
        stem = file_stem(self.determinants["model_id"], self.determinants["prompt_set"])
        return f"{stem}+chat" if self.is_chat else stem

    @property
    def title(self) -> str:
        """Name of the unit for people."""
        what = self.determinants["prompt_set"] or "weights"
        return f"{self.determinants['model_id']}, {what}{' in chat' if self.is_chat else ''}"

    @property
    def is_chat(self) -> bool:
        """Whether the prompts are put into the model's chat template."""
        return self.determinants.get("rendering") == "chat"


@dataclass(frozen=True, slots=True)
class Mark:
    """What the run file of a complete unit says.

    Attributes
    ----------
    determinants, labels
        As in `Unit`.
    rows
        Number of rows of each file of the unit, by its path within the output.
    sha256
        Hash of the content of each of them but the prompts', which units share and whose
        content the determinants hold.
    sizes, times
        Size [bytes] of each of them and time of its last change [ns since 1970].
    run_sha256
        Hash of the row of the run file and of what vouches for the files; see
        `collect.schema.marks.run_sha256`.
    """

    determinants: dict[str, Any]
    labels: dict[str, Any]
    rows: dict[str, int]
    sha256: dict[str, str]
    sizes: dict[str, int] = field(default_factory=dict)
    times: dict[str, int] = field(default_factory=dict)
    run_sha256: str = ""

    @property
    def metadata(self) -> dict[str, str]:
        """The mark as key-value metadata of the run file."""
        return {name: json.dumps(getattr(self, name), sort_keys=True) for name in self.__slots__}


def run_id(determinants: Mapping[str, Any]) -> str:
    """Return the first 16 hexadecimal digits of the hash of some determinants."""
    canonical = json.dumps(dict(determinants), sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def run_file(out: Path, unit: Unit) -> Path:
    """Return the file that marks a unit as complete."""
    return out / "run" / f"{unit.stem}.parquet"


def read_mark(path: Path) -> Mark | None:
    """Return what a run file says, or None when there is none that can be read.

    A mark of an earlier version, which kept no hashes or sizes, is read with none.
    """
    try:
        metadata = pq.read_metadata(path).metadata or {}
        mark = Mark(
            determinants=json.loads(metadata[b"determinants"]),
            labels=json.loads(metadata[b"labels"]),
            rows=json.loads(metadata[b"rows"]),
            sha256=json.loads(metadata.get(b"sha256", b"{}")),
            sizes=json.loads(metadata.get(b"sizes", b"{}")),
            times=json.loads(metadata.get(b"times", b"{}")),
            run_sha256=json.loads(metadata.get(b"run_sha256", b'""')),
        )
    except (*UNREADABLE, KeyError, RecursionError):
        return None
    return mark if _is_well_formed(mark) else None


def _is_well_formed(mark: Mark) -> bool:
    """Return whether the parts of a mark are of the types they were written with."""
    parts = (mark.determinants, mark.labels, mark.rows, mark.sha256, mark.sizes, mark.times)
    return (
        all(isinstance(part, dict) for part in parts)
        and all(isinstance(n, int) for part in parts[2:3] + parts[4:] for n in part.values())
        and all(isinstance(digest, str) for digest in mark.sha256.values())
        and mark.determinants.keys() >= {"model_id", "kind", "prompt_set"}
    )


def read_run(path: Path) -> dict[str, Any] | None:
    """Return the one row of a run file, or None when it cannot be read."""
    try:
        rows: list[dict[str, Any]] = pq.ParquetFile(path).read().to_pylist()
    except UNREADABLE:
        return None
    return rows[0] if len(rows) == 1 else None


def is_complete(unit: Unit, out: Path) -> bool:
    """Return whether the output holds the unit, all of its files as they were written.

    Raises
    ------
    InputError
        If it holds the unit measured otherwise: other weights, prompts or settings.
    """
    path = run_file(out, unit)
    mark = read_mark(path)
    if mark is None or not is_run_as_marked(read_run(path), mark):
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
    return has_its_files(mark, out)


def is_run_as_marked(run: Mapping[str, Any] | None, mark: Mark) -> bool:
    """Return whether the row of a run file is there, and is the one that its mark hashed."""
    if run is None:
        return False
    return not mark.run_sha256 or mark.run_sha256 == run_sha256(run, asdict(mark))


def has_its_files(mark: Mark, out: Path) -> bool:
    """Return whether every file a mark lists is there, with the rows and the content it says."""
    return all(_is_as_marked(name, mark, out) for name in mark.rows)


def _is_as_marked(name: str, mark: Mark, out: Path) -> bool:
    path = out / name
    if n_rows(path) != mark.rows[name]:
        return False
    if name in mark.sha256:
        return file_sha256(path) == mark.sha256[name]
    if name.startswith("prompt/"):
        return stored_prompts_sha256(path) == mark.determinants.get("prompt_set_sha256")
    return True


def stored_prompts_sha256(path: Path) -> str | None:
    """Return the hash of the prompts in a file, see `prompts_sha256`; None if unreadable."""
    try:
        rows = pq.ParquetFile(path).read(["prompt_id", "category", "text"])
        ordered = rows.sort_by("prompt_id").to_pylist()
    except (*UNREADABLE, KeyError):
        return None
    return prompts_sha256([(row["category"], row["text"]) for row in ordered])


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
        shared += _OF_MODEL
        if old["kind"] == new["kind"] == "prompts":
            shared += _OF_FORWARD_PASS
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


def n_rows(path: Path) -> int | None:
    """Return the number of rows a Parquet file says it has; None when it cannot be read."""
    try:
        return int(pq.read_metadata(path).num_rows)
    except UNREADABLE:
        return None
