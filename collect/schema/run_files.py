"""Run files read whole, and the files of a directory compared with what they say; see `marks`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collect.schema.contract import READABLE_VERSIONS, ContractError
from collect.schema.counting import counted
from collect.schema.headers import Header, Headers, damaged, is_pack
from collect.schema.marks import Mark, file_sha256, mark_in, run_as_marked, stored_prompts_sha256

#: Columns of ``run`` that tell the ways apart in which one model is measured side by side.
WAY = (
    "model_id",
    "revision",
    "revision_name",
    "kind",
    "prompt_set",
    "rendering",
    "special_tokens",
    "dtype_compute",
    "device",
)


@dataclass(frozen=True, slots=True)
class Measured:
    """What one row of a run file says was measured.

    Attributes
    ----------
    stem
        Name of the unit.
    run_id
        Identity of the run.
    way
        What was measured and how, see `WAY`: two runs of one way contradict each other.
    quantities
        What the unit holds of its run.
    """

    stem: str
    run_id: str
    way: tuple[str | None, ...]
    quantities: frozenset[str]


@dataclass(frozen=True, slots=True)
class RunFile:
    """The run file of a unit, or pack, as it was read.

    Attributes
    ----------
    stem
        Name of the files, without suffix.
    mark
        What it says of them.
    units
        What was measured: one unit, or those of a pack.
    """

    stem: str
    mark: Mark
    units: tuple[Measured, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """How many files were compared with what their run files say, and in what.

    Attributes
    ----------
    n_files
        Files that run files list.
    n_sizes, n_hashes
        Files whose size, or hash of the content, was compared and is the same.
    n_times
        Files that were last changed when their run file says.
    """

    n_files: int = 0
    n_sizes: int = 0
    n_times: int = 0
    n_hashes: int = 0

    def __add__(self, other: Comparison) -> Comparison:
        """Return both counted together."""
        return Comparison(
            self.n_files + other.n_files,
            self.n_sizes + other.n_sizes,
            self.n_times + other.n_times,
            self.n_hashes + other.n_hashes,
        )

    @property
    def words(self) -> str:
        """What was compared, in one sentence without a full stop."""
        if not self.n_files:
            return "no file has a run file to compare it with"
        files = counted(self.n_files, "file")
        same = f"rows of {files} and sizes of {self.n_sizes} are as run files say"
        if self.n_hashes:
            return f"{same}; so are the contents of {self.n_hashes}, by their hashes"
        touched = f"times of last change of {self.n_times}"
        return f"{same}, and {touched}; contents were not compared (--verify does)"


def read_run_file(path: Path, headers: Headers) -> RunFile:
    """Return what a run file says.

    Raises
    ------
    ContractError
        If it cannot be read, has another number of rows than units, or is not what was hashed.
    """
    header = headers.of(path)
    header.check_kinds("run")
    try:
        rows = header.stored().to_pylist()
        mark = mark_in(header.metadata)
        units = mark.determinants["units"] if is_pack(path.stem) else [path.stem]
        stems = [str(stem) for stem in units]
        _check_version(path, rows)
    except ContractError:
        raise
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise damaged(path, error) from error
    if len(rows) != len(stems):
        expected = "one row, that of its unit" if len(stems) == 1 else counted(len(stems), "row")
        raise ContractError(
            f"{path} must have {expected}; it has {len(rows)}.",
            "Measure the unit again with the same command and --overwrite.",
        )
    hashed = {"rows": rows} if is_pack(path.stem) else rows[0]
    if not mark.is_of(hashed):
        raise ContractError(
            f"{path} must have the row and the metadata that were hashed; they differ.",
            "Measure the unit again with the same command and --overwrite.",
        )
    measured = tuple(_measured(stem, row) for stem, row in zip(stems, rows, strict=True))
    return RunFile(path.stem, mark, measured)


def _check_version(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Refuse what a version measured that this one cannot read, though its columns be the same."""
    for version in sorted({row["schema_version"] for row in rows} - {*READABLE_VERSIONS}):
        readable = " and ".join(map(str, READABLE_VERSIONS))
        raise ContractError(
            f"{path} is of schema version {version}; this program reads {readable}.",
            "Open it with the version that wrote it, or measure it again with --overwrite.",
        )


def _measured(stem: str, row: Mapping[str, Any]) -> Measured:
    return Measured(
        stem,
        str(row.get("run_id")),
        way=tuple(None if row.get(name) is None else str(row[name]) for name in WAY),
        quantities=frozenset(str(row.get("quantities")).split(",")),
    )


def compare(
    directory: Path, run_files: Sequence[RunFile], headers: Headers, *, contents: bool
) -> Comparison:
    """Compare the files of some units with what their run files say.

    Parameters
    ----------
    directory
        Where they lie.
    run_files
        What the run files say.
    headers
        Headers of the files, those already read included.
    contents
        True to compare hashes of the contents as well; what a header says needs no look then.

    Raises
    ------
    ContractError
        If a file is missing, or has other rows, another size, another run or another content.
    """
    known: dict[str, Comparison] = {}
    prompts: set[tuple[str, str | None]] = set()
    for run_file in run_files:
        mark = run_file.mark
        listed = {**mark.rows, **mark.sha256}
        missing = [name for name in listed if not (directory / name).is_file()]
        if missing:
            raise ContractError(
                f"A unit marked as complete must have all its files; {run_file.stem} in "
                f"{directory} lacks {', '.join(missing)}.",
                "Measure it again with the same command: the unit is then measured anew.",
            )
        for name in listed if contents else mark.rows:
            path = directory / name
            is_prompts = path.parent.name == "prompt"
            expected = mark.prompts.get(path.stem) if is_prompts else mark.sha256.get(name)
            state = path.stat()
            if name in mark.sizes and state.st_size != mark.sizes[name]:
                raise _altered_error(path, f"{mark.sizes[name]} bytes", f"{state.st_size}")
            if contents and not is_prompts and expected not in (None, file_sha256(path)):
                raise _altered_error(path, "the content that was hashed", "another")
            if name not in mark.rows:
                continue
            if is_prompts or expected is None or not contents:
                _compare_header(headers.of(path), name, run_file)
            if contents and is_prompts and (name, expected) not in prompts:
                if expected not in (None, stored_prompts_sha256(path)):
                    raise _altered_error(path, "the prompts that were measured", "others")
                prompts.add((name, expected))
            known[name] = Comparison(
                n_files=1,
                n_sizes=int(name in mark.sizes),
                n_times=int(mark.times.get(name) == state.st_mtime_ns),
                n_hashes=int(contents and expected is not None),
            )
    return sum(known.values(), Comparison())


def _compare_header(header: Header, name: str, run_file: RunFile) -> None:
    """Refuse a file of another number of rows, or of other runs."""
    path, n_rows = header.path, run_file.mark.rows[name]
    if header.n_rows != n_rows:
        raise _altered_error(path, f"{n_rows} rows", f"{header.n_rows}")
    run_ids = {unit.run_id for unit in run_file.units}
    runs = set() if path.parent.name == "prompt" else header.run_bounds - run_ids
    if runs:
        expected = " and ".join(sorted(run_ids)[:2])
        raise _altered_error(path, f"rows of run {expected} only", f"others ({min(runs)})")


def _altered_error(path: Path, expected: str, actual: str) -> ContractError:
    return ContractError(
        f"{path} must have {expected}, as its unit's run file says; it has {actual}.",
        "Measure its unit again with --overwrite, or restore the file.",
    )


def is_intact(path: Path, mark: Mark, out: Path) -> bool:
    """Return whether a run file and every file its mark lists are there, as the mark says."""
    row = run_as_marked(path, mark)
    if row is None:
        return False
    run_file = RunFile(path.stem, mark, (_measured(path.stem, row),))
    try:
        compare(out, [run_file], Headers(), contents=True)
    except ContractError:
        return False
    return True
