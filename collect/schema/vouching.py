"""What run files vouch for, compared with the files of a directory; see `marks`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collect.schema.contract import READABLE_VERSIONS, ContractError, table_of
from collect.schema.counting import counted
from collect.schema.headers import Headers, damaged, is_pack
from collect.schema.marks import file_sha256, mark_in, prompts_of, prompts_sha256, run_sha256

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
class Vouched:
    """What a run file says of the files of its unit, or pack, by their paths in the directory.

    Attributes
    ----------
    stem
        Name of the files, without suffix.
    units
        What was measured: one unit, or those of a pack.
    rows, sizes, times, sha256
        Number of rows, size [bytes], time of the last change [ns since 1970] and hash of the
        content; a file measured by an earlier version has no size, time or hash.
    prompts
        Hash of the prompts of each prompt set, by its name.
    """

    stem: str
    units: tuple[Measured, ...]
    rows: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    times: dict[str, int] = field(default_factory=dict)
    sha256: dict[str, str] = field(default_factory=dict)
    prompts: dict[str, str] = field(default_factory=dict)

    @property
    def run_ids(self) -> set[str]:
        """Runs whose rows the files hold."""
        return {unit.run_id for unit in self.units}


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


def vouched(path: Path, headers: Headers) -> Vouched:
    """Return what a run file says.

    Raises
    ------
    ContractError
        If it cannot be read, has another number of rows than units, or is not what was hashed.
    """
    header = headers.of(path)
    header.check_kinds("run")
    try:
        stored = header.stored().to_pylist()
        names = table_of("run").names
        rows = [{name: row.get(name) for name in names} for row in stored]
        mark = mark_in(header.metadata)
        units = mark.determinants["units"] if is_pack(path.stem) else [path.stem]
        stems = [str(stem) for stem in units]
        prompts = prompts_of(mark.determinants)
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
    hashed = {"rows": stored} if is_pack(path.stem) else stored[0]
    if mark.run_sha256 and mark.run_sha256 != run_sha256(hashed, mark.parts):
        raise ContractError(
            f"{path} must have the row and the metadata that were hashed; they differ.",
            "Measure the unit again with the same command and --overwrite.",
        )
    measured = tuple(_measure(stem, row) for stem, row in zip(stems, rows, strict=True))
    return Vouched(
        path.stem, measured, mark.rows, mark.sizes, mark.times, mark.sha256, prompts=prompts
    )


def _check_version(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Refuse what a version measured that this one cannot read, though its columns be the same."""
    for version in sorted({row["schema_version"] for row in rows} - {*READABLE_VERSIONS}):
        readable = " and ".join(map(str, READABLE_VERSIONS))
        raise ContractError(
            f"{path} is of schema version {version}; this program reads {readable}.",
            "Open it with the version that wrote it, or measure it again with --overwrite.",
        )


def _measure(stem: str, row: Mapping[str, Any]) -> Measured:
    return Measured(
        stem,
        str(row["run_id"]),
        way=tuple(None if row[name] is None else str(row[name]) for name in WAY),
        quantities=frozenset(str(row["quantities"]).split(",")),
    )


def compare(
    directory: Path, units: Sequence[Vouched], headers: Headers, *, contents: bool
) -> Comparison:
    """Compare the files of some units with what their run files say.

    Parameters
    ----------
    directory
        Where they lie.
    units
        What the run files say.
    headers
        Headers of the files, those already read included.
    contents
        True to compare hashes of the contents as well.

    Raises
    ------
    ContractError
        If a file is missing, or has other rows, another size, another run or another content.
    """
    known: dict[str, Comparison] = {}
    for unit in units:
        listed = {**unit.rows, **unit.sha256}
        missing = [name for name in listed if not (directory / name).is_file()]
        if missing:
            raise ContractError(
                f"A unit marked as complete must have all its files; {unit.stem} in {directory} "
                f"lacks {', '.join(missing)}.",
                "Measure it again with the same command: the unit is then measured anew.",
            )
        for name in unit.rows:
            known[name] = _compare(directory, name, unit, headers, contents=contents)
        if contents:
            for name in unit.sha256.keys() - unit.rows.keys():
                _compare_content(directory / name, name, unit)
    return sum(known.values(), Comparison())


def _compare(
    directory: Path, name: str, unit: Vouched, headers: Headers, *, contents: bool
) -> Comparison:
    """Return in what one file is as its run file says, or refuse it."""
    path = directory / name
    state = path.stat()
    header = headers.of(path)
    if name in unit.sizes and state.st_size != unit.sizes[name]:
        raise _altered_error(path, f"{unit.sizes[name]} bytes", f"{state.st_size}")
    if header.n_rows != unit.rows[name]:
        raise _altered_error(path, f"{unit.rows[name]} rows", f"{header.n_rows}")
    is_shared = path.parent.name == "prompt"
    runs = set() if is_shared else header.run_bounds - unit.run_ids
    if runs:
        expected = " and ".join(sorted(unit.run_ids)[:2])
        raise _altered_error(path, f"rows of run {expected} only", f"others ({min(runs)})")
    if contents:
        _compare_content(path, name, unit)
    is_hashed = name in unit.sha256 or (is_shared and path.stem in unit.prompts)
    return Comparison(
        n_files=1,
        n_sizes=int(name in unit.sizes),
        n_times=int(unit.times.get(name) == state.st_mtime_ns),
        n_hashes=int(contents and is_hashed),
    )


def _compare_content(path: Path, name: str, unit: Vouched) -> None:
    if name in unit.sha256 and file_sha256(path) != unit.sha256[name]:
        raise _altered_error(path, "the content that was hashed", "another")
    if path.parent.name == "prompt" and path.stem in unit.prompts:
        rows = Headers().of(path).read("prompt").to_pylist()
        if prompts_sha256(rows) != unit.prompts[path.stem]:
            raise _altered_error(path, "the prompts that were measured", "others")


def _altered_error(path: Path, expected: str, actual: str) -> ContractError:
    return ContractError(
        f"{path} must have {expected}, as its unit's run file says; it has {actual}.",
        "Measure its unit again with --overwrite, or restore the file.",
    )
