"""Whether the files of an output directory are what their marks say. No torch here."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from collect.errors import first_line
from collect.process.interruption import interruptible
from collect.record.atomic import locks
from collect.record.units import run_files, run_id, variant_of
from collect.record.writer import ROW_GROUP_ROWS
from collect.schema import (
    MEASURED,
    READABLE_VERSIONS,
    ContractError,
    Trial,
    arrow_schema,
    incomplete_units,
    read_rows,
    stored_twice,
    table_files,
    tables,
)
from collect.schema.assembly import two_networks
from collect.schema.headers import UNREADABLE, Headers, completed, is_pack, packed_units
from collect.schema.listing import DESCRIPTION, listed_files
from collect.schema.marks import Mark, file_sha256, read_mark, stored_prompts_sha256
from collect.schema.run_files import compare, read_run_file

#: Rows of a table that are tried together; more take more memory and are hardly faster.
_ROWS_TOGETHER = 2**15

#: Units whose files are read together at most.
_MOST_UNITS = 256


def faults(out: Path, *, notes: list[str] | None = None) -> Iterator[str]:
    """Yield what is wrong with an output directory, one sentence per fault.

    Every table's columns and types are compared with ``schema.sql``, its rows with keys and
    checks, its number of rows and the hash of its content with what the unit's run file says,
    the prompts with the hash of the prompt set, and conformance with ``run.is_conforming``.

    Parameters
    ----------
    out
        The directory.
    notes
        Takes, at the end, a sentence on each column of a file that this version does not know.
    """
    with interruptible():
        known = Headers()
        yield from _faults(out, known)
        if notes is not None:
            notes += known.notes


def _faults(out: Path, known: Headers) -> Iterator[str]:
    paths = run_files(out)
    copied = packed_units(paths)
    marks: dict[str, Mark] = {}
    listed: set[str] = set()
    trial = _Trial(_ROWS_TOGETHER, known)
    for together in _batches([path for path in paths if path.stem not in copied]):
        _read_ahead(together, out, known)
        for path, mark in together:
            if is_pack(path.stem):
                yield from _copy_faults(path, out, listed, known)
            elif mark is None:
                yield f"{path} is no run file of this project: it cannot be read."
            else:
                yield from _unit_faults(path, mark, out, trial)
                marks[path.stem] = mark
                listed |= mark.rows.keys()
    yield from (broken.problem for broken in trial.rest())
    yield from _shared_faults(marks)
    yield from _strangers(out, listed)
    yield from _whole_tables(out, known)
    yield from _description_faults(out)


def _batches(paths: Sequence[Path]) -> Iterator[list[tuple[Path, Mark | None]]]:
    """Yield run files with their marks, as many together as have few rows."""
    waiting: list[tuple[Path, Mark | None]] = []
    n_waiting = 0
    for path in paths:
        mark = None if is_pack(path.stem) else read_mark(path)
        n_of_unit = 0 if mark is None else sum(mark.rows.values())
        if waiting and (n_waiting + n_of_unit > _ROWS_TOGETHER or len(waiting) >= _MOST_UNITS):
            yield waiting
            waiting, n_waiting = [], 0
        waiting.append((path, mark))
        n_waiting += n_of_unit
    if waiting:
        yield waiting


def _read_ahead(units: Sequence[tuple[Path, Mark | None]], out: Path, known: Headers) -> None:
    """Read the rows of units that are looked at next, table by table."""
    by_table: dict[str, dict[Path, None]] = {}
    for path, mark in units:
        for name in () if mark is None else (f"run/{path.name}", *mark.rows):
            table = Path(name).parent.name
            if table != "prompt":  # units share it
                by_table.setdefault(table, {})[out / name] = None
    for paths in by_table.values():
        known.read_ahead([*paths])


class _Trial(Trial):
    """Rows that are tried together, and what is known of their files.

    ``known`` remembers the columns that the contract lacks; ``prompts`` the number of rows of each
    file of prompts that was tried, None where it cannot be read.
    """

    def __init__(self, n_rows: int, known: Headers) -> None:
        super().__init__(n_rows)
        self.known = known
        self.prompts: dict[str, int | None] = {}


def _copy_faults(path: Path, out: Path, listed: set[str], known: Headers) -> Iterator[str]:
    """Yield the faults of a compact copy, and add its files to those that run files list."""
    headers = Headers()
    try:
        copy = read_run_file(path, headers)
        listed.update(copy.mark.rows)
        compare(out, [copy], headers, contents=True)
    except ContractError as error:
        yield error.problem
        return
    trial = Trial(ROW_GROUP_ROWS)
    for name in ("run/" + path.name, *copy.mark.rows):
        table = Path(name).parent.name
        file = pq.ParquetFile(out / name)
        known.note_columns(out / name, table, file.schema_arrow.names)
        for group in range(file.num_row_groups):
            rows = completed(file.read_row_group(group), table)
            for broken in trial.add(table, f"{name}, row group {group},", rows):
                yield broken.problem
    yield from (broken.problem for broken in trial.rest())


def _unit_faults(path: Path, mark: Mark, out: Path, trial: _Trial) -> Iterator[str]:
    """Yield the faults of one marked unit, and of the rows of others that waited with its own."""
    version = mark.determinants.get("schema_version")
    if version not in READABLE_VERSIONS:
        yield f"{path.stem} is of schema version {version}, which is not read."
        return
    rows = _read_stored(path, trial.known)
    yield from _row_faults(path, "run", trial)
    yield from _run_faults(path, mark, out, rows[0] if len(rows) == 1 else None, trial.known)
    for name in {**mark.rows, **mark.sha256}:
        if not (out / name).is_file():
            yield f"{name} is missing, though its unit's run file lists it."
            continue
        if name in mark.rows:
            yield from _file_faults(out / name, mark.rows[name], mark, trial)
        if name in mark.sha256 and file_sha256(out / name) != mark.sha256[name]:
            yield f"{name} has another content than its unit's run file hashed."


def _file_faults(path: Path, expected: int, mark: Mark, trial: _Trial) -> Iterator[str]:
    """Yield the faults of one file of a unit, but for those that its rows are still tried for."""
    name = f"{path.parent.name}/{path.name}"
    is_shared = path.parent.name == "prompt"
    if is_shared and name in trial.prompts:  # many units share it
        n = trial.prompts[name]
    else:
        rows = yield from _row_faults(path, path.parent.name, trial)
        n = _n_rows(path) if rows is None else len(rows)
        if is_shared:
            trial.prompts[name] = n
    if n is not None and n != expected:
        yield f"{name} has {n} rows; its unit's run file says {expected}."
    if is_shared:
        if stored_prompts_sha256(path) != mark.prompts.get(path.stem):
            yield f"{name} holds other prompts than were measured."
        return
    known = {"run_id": run_id(mark.determinants), "model_id": mark.determinants["model_id"]}
    for column, value in known.items():
        others = _values(path, column, rows) - {value}
        if others:
            yield f"{name} has the {column} {', '.join(sorted(map(str, others)))}, not {value}."


def _n_rows(path: Path) -> int | None:
    """Return the number of rows a Parquet file says it has; None when it cannot be read."""
    try:
        return int(pq.read_metadata(path).num_rows)
    except UNREADABLE:
        return None


def _values(path: Path, column: str, rows: pa.Table | None) -> set[object]:
    """Return the values of a column, of rows that were read, or of a file with other faults."""
    try:
        if rows is None:
            rows = pq.ParquetFile(path).read([column])
        return {*rows.column(column).unique().to_pylist()}
    except (*UNREADABLE, KeyError, TypeError):
        return set()  # a column that is missing, or of lists, and damage are faults of their own


def _row_faults(path: Path, table: str, trial: _Trial) -> Generator[str, None, pa.Table | None]:
    """Yield how the rows of a file break the contract, and those of others tried with them.

    Returns
    -------
    The rows, None where they cannot be read as those of the table.
    """
    try:
        rows = _typed_rows(path, table, trial.known)
    except ContractError as error:
        yield error.problem
        return None
    yield from (broken.problem for broken in trial.add(table, f"{table}/{path.name}", rows))
    return rows


def _typed_rows(path: Path, table: str, known: Headers) -> pa.Table:
    """Return the rows of a file, or raise ContractError where it has not its table's columns."""
    try:
        rows = read_rows(path, table, known)
        rows.validate(full=True)
        stored = arrow_schema(table) if path.suffix == ".csv" else known.of(path).columns
    except ContractError:
        raise
    except UNREADABLE as error:
        raise ContractError(f"{table}/{path.name} cannot be read: {first_line(error)}.") from error
    finally:
        known.forget(path)
    kinds = dict(zip(stored.names, stored.types, strict=True))
    wrong = [f.name for f in arrow_schema(table) if kinds.get(f.name, f.type) != f.type]
    if wrong:
        raise ContractError(
            f"{table}/{path.name} has other types than schema.sql in {', '.join(wrong)}."
        )
    return rows


def _run_faults(
    path: Path, mark: Mark, out: Path, run: Mapping[str, Any] | None, known: Headers
) -> Iterator[str]:
    """Yield how the row of a run file contradicts the rest of its unit."""
    if run is None:
        yield f"run/{path.name} has not one row that can be read."
        return
    expected = {"run_id": run_id(mark.determinants), **mark.determinants}
    others = [name for name in sorted(expected.keys() & run.keys()) if run[name] != expected[name]]
    for column in others:
        yield (
            f"The {column} of run/{path.name} is {run[column]}; its metadata say "
            f"{expected[column]}."
        )
    if f"conformance/{path.name}" in mark.rows:  # else an earlier unit of the run has it
        checks = _read_stored(out / "conformance" / path.name, known)
        failed = sorted(check["property"] for check in checks if check["is_met"] is False)
        if run["is_conforming"] == bool(failed):
            yield (
                f"run/{path.name} says is_conforming is {run['is_conforming']}; "
                f"{', '.join(failed) or 'no check'} failed."
            )
            return
    if not others and not mark.is_of(run):
        yield f"run/{path.name} has another row or metadata than it hashed."


def _read_stored(path: Path, known: Headers) -> list[dict[str, Any]]:
    """Return the rows of a file as it holds them; none where they cannot be read."""
    try:
        rows: list[dict[str, Any]] = known.of(path).stored().to_pylist()
    except (ContractError, *UNREADABLE):
        return []
    return rows


def _shared_faults(marks: Mapping[str, Mark]) -> Iterator[str]:
    """Yield which units share what only one may hold, or are of different networks of one name."""
    owners: dict[tuple[str, str], str] = {}
    first: dict[tuple[str, str | None], str] = {}
    examined = set()
    for stem, mark in marks.items():
        known = mark.determinants
        identity, name = run_id(known), (known["model_id"], known.get("revision"))
        for quantity in mark.quantities:
            owner = owners.setdefault((identity, quantity), stem)
            if owner != stem:
                yield f"{owner} and {stem} both hold {quantity} of run {identity}."
        if f"conformance/{stem}.parquet" in mark.rows:
            examined.add(identity)
        other = first.setdefault(name, stem)
        for column, what in (("weights_sha256", "weights"), ("config_sha256", "configurations")):
            if marks[other].determinants.get(column) != known.get(column):
                both = two_networks(*name, what).removesuffix(".")
                yield f"{both} between {other} and {stem}."
                break
    for identity in sorted({identity for identity, _ in owners} - examined):
        yield f"Run {identity} lacks the examination of its model."


def _strangers(out: Path, listed: Collection[str]) -> Iterator[str]:
    """Yield what lies in the directory and belongs to no complete unit."""
    interrupted = [
        stem for stem in incomplete_units(out) if not locks.is_held_elsewhere(out, variant_of(stem))
    ]
    for stem in interrupted:
        yield f"The unit {stem} was interrupted; the same command resumes it."
    for table in (*MEASURED, "prompt"):
        for path in sorted((out / table).glob("*.parquet")):
            is_marked = not interrupted if table == "prompt" else (out / "run" / path.name).exists()
            if f"{table}/{path.name}" not in listed and is_marked:
                yield f"{table}/{path.name} is listed in no run file."
    for path in sorted(out.glob("*/.*.tmp")):
        yield f"{path.relative_to(out)} was left by a run that was killed; the next one removes it."
    for name in sorted({path.parent.name for path in out.glob("*/*.parquet")} - tables().keys()):
        yield f"{name} holds Parquet files and is no table of schema.sql."


def _whole_tables(out: Path, known: Headers) -> Iterator[str]:
    """Yield what is wrong with tables in one file, which every reader of the directory reads."""
    twice = stored_twice(out)
    for table, places in twice.items():
        listing = " and ".join(str(place.relative_to(out)) for place in places)
        yield f"Table {table} lies in two places, so that its rows count twice: {listing}."
    for table, paths in table_files(out).items():
        for path in (path for path in paths if path.parent == out and table not in twice):
            if table in (*MEASURED, "prompt", "run"):
                yield f"{path.name} belongs to no unit of measurement."
            else:
                trial = _Trial(_ROWS_TOGETHER, known)
                yield from _row_faults(path, table, trial)
                yield from (broken.problem for broken in trial.rest())


def _description_faults(out: Path) -> Iterator[str]:
    """Yield the files that are not as the description of a published store lists them."""
    description = out / DESCRIPTION
    if not description.is_file():
        return
    for listed in listed_files(description.read_bytes(), str(description)):
        path = out / listed.name
        if not path.is_file():
            yield f"{path} is missing, though {DESCRIPTION} lists it."
        elif (path.stat().st_size, file_sha256(path)) != (listed.n_bytes, listed.sha256):
            yield f"{path} is not the file that {DESCRIPTION} lists."
