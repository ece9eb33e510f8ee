"""Whether the files of an output directory are what their marks say. No torch here."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from collect.record.atomic import locks
from collect.record.units import (
    Mark,
    is_run_as_marked,
    quantities_of,
    read_mark,
    read_run,
    run_files,
    run_id,
    stored_prompts_sha256,
    variant_of,
)
from collect.record.writer import ROW_GROUP_ROWS
from collect.schema import (
    MEASURED,
    READABLE_VERSIONS,
    ContractError,
    Trial,
    arrow_schema,
    check_rows,
    incomplete_units,
    read_rows,
    stored_twice,
    table_files,
    tables,
)
from collect.schema.assembly import two_networks
from collect.schema.counting import counted
from collect.schema.headers import UNREADABLE, Headers, completed, is_pack, packed_units
from collect.schema.listing import DESCRIPTION, listed_files
from collect.schema.marks import compare, file_sha256, prompts_of, vouched

#: Rows of a table that are tried together; more take more memory and are hardly faster.
_ROWS_TOGETHER = 2**15

#: What to do about most faults.
_AGAIN = "measure it again with --overwrite"
_RESTORE = "restore the directory from a copy"
_PUBLISH = "publish the directory again"
_MOVE = "correct it or move it elsewhere"


def faults(out: Path) -> Iterator[str]:
    """Yield what is wrong with an output directory, one sentence per fault.

    Every table's columns and types are compared with ``schema.sql``, its rows with keys and
    checks, its number of rows and the hash of its content with what the unit's run file says,
    the prompts with the hash of the prompt set, and conformance with ``run.is_conforming``.
    """
    marks = run_files(out)
    marks_by_unit: dict[str, Mark] = {}
    listed: set[str] = set()
    copied = packed_units(marks)
    trial = Trial(_ROWS_TOGETHER)
    for path in marks:
        if is_pack(path.stem):
            yield from _of_copy(path, out, listed)
        if is_pack(path.stem) or path.stem in copied:
            continue
        mark = read_mark(path)
        if mark is None:
            yield f"{path} must be a run file of this project; it cannot be read: {_AGAIN}."
            continue
        for fault in _of_unit(path, mark, out, trial):
            yield _told(fault, _AGAIN)
        marks_by_unit[path.stem] = mark
        listed |= mark.rows.keys()
    for broken in trial.rest():
        yield _told(broken.problem, _AGAIN)
    yield from _of_runs(marks_by_unit)
    yield from _of_networks(marks_by_unit)
    yield from _strangers(out, listed)
    yield from _of_description(out)


def _told(fault: str, remedy: str) -> str:
    """Return a fault with what to do about it."""
    return f"{fault.removesuffix('.')}: {remedy}."


def _of_runs(marks: Mapping[str, Mark]) -> Iterator[str]:
    """Yield which units share what only one may hold, and which runs lack their examination."""
    owners: dict[tuple[str, str], str] = {}
    examined = set()
    for stem, mark in marks.items():
        identity = run_id(mark.determinants)
        for quantity in quantities_of(mark.determinants):
            if (identity, quantity) in owners:
                yield (
                    f"Each unit must have a run_id of its own, or quantities of its own; "
                    f"{stem} shares {quantity} of {identity} with "
                    f"{owners[identity, quantity]}: {_AGAIN}."
                )
            owners[identity, quantity] = stem
        if f"conformance/{stem}.parquet" in mark.rows:
            examined.add(identity)
    for identity in sorted({identity for identity, _ in owners} - examined):
        yield f"Run {identity} must keep the examination of its model; it does not: {_AGAIN}."


def _of_networks(marks: Mapping[str, Mark]) -> Iterator[str]:
    """Yield which units of one model and revision are of different networks."""
    first: dict[tuple[str, str | None], tuple[str, Mark]] = {}
    for stem, mark in marks.items():
        known = mark.determinants
        name = known["model_id"], known.get("revision")
        other, mark_before = first.setdefault(name, (stem, mark))
        for column, what in (("weights_sha256", "weights"), ("config_sha256", "configurations")):
            if mark_before.determinants.get(column) != known.get(column):
                yield (
                    f"{two_networks(*name, what).removesuffix('.')} between {other} and {stem}: "
                    "move the units of one to a directory of their own."
                )
                break


def _of_description(out: Path) -> Iterator[str]:
    """Yield the files that are not as the description of a published store lists them."""
    description = out / DESCRIPTION
    if not description.is_file():
        return
    for listed in listed_files(description.read_bytes(), str(description)):
        path = out / listed.name
        if not path.is_file():
            yield f"{path} is missing, though {DESCRIPTION} lists it: {_PUBLISH}."
        elif (path.stat().st_size, file_sha256(path)) != (listed.n_bytes, listed.sha256):
            yield f"{path} is not the file that {DESCRIPTION} lists: {_PUBLISH}."


def _of_copy(path: Path, out: Path, listed: set[str]) -> Iterator[str]:
    """Yield the faults of a compact copy, and add its files to those that run files list."""
    headers = Headers()
    try:
        copy = vouched(path, headers)
        listed.update(copy.rows)
        compare(out, [copy], headers, contents=True)
    except ContractError as error:
        yield _told(error.problem, _RESTORE)
        return
    trial = Trial(ROW_GROUP_ROWS)
    for name in ("run/" + path.name, *copy.rows):
        table = Path(name).parent.name
        file = pq.ParquetFile(out / name)
        for group in range(file.num_row_groups):
            rows = completed(file.read_row_group(group), table)
            for broken in trial.add(table, f"{name}, row group {group},", rows):
                yield _told(broken.problem, _RESTORE)
    for broken in trial.rest():
        yield _told(broken.problem, _RESTORE)


def _of_unit(path: Path, mark: Mark, out: Path, trial: Trial) -> Iterator[str]:
    """Yield the faults of one marked unit, and of the rows of others that waited with its own."""
    version = mark.determinants.get("schema_version")
    if version not in READABLE_VERSIONS:
        readable = " or ".join(map(str, READABLE_VERSIONS))
        yield f"{path.stem} must be of schema version {readable}; it is of version {version}."
        return
    yield from _of_run(path, mark, out, trial)
    for name, expected in mark.rows.items():
        yield from _of_file(out / name, expected, mark, trial)
    for name in sorted(mark.sha256.keys() - mark.rows.keys()):
        if not (out / name).is_file() or file_sha256(out / name) != mark.sha256[name]:
            yield f"{name} must be there with the content that its unit's run file hashed."


def _of_file(path: Path, expected: int, mark: Mark, trial: Trial) -> Iterator[str]:
    """Yield the faults of one file of a unit, but for those that its rows are still tried for."""
    name = f"{path.parent.name}/{path.name}"
    if not path.is_file():
        yield f"{name} must be there, as its unit's run file says; it is missing."
        return
    if name in mark.sha256 and file_sha256(path) != mark.sha256[name]:
        yield f"{name} must have the content that its unit's run file hashed; it has another."
    headers = Headers()
    try:
        n_rows = headers.of(path).n_rows
        if n_rows != expected:
            yield f"{name} must have {expected} rows, as its unit's run file says; it has {n_rows}."
        rows = _typed_rows(path, headers)
    except ContractError as error:
        yield error.problem
        return
    for broken in trial.add(_table_of(path), name, rows):
        yield broken.problem
    if path.parent.name == "prompt":
        yield from _of_prompts(path, mark)
    else:
        yield from _of_identity(name, rows, mark)


def _table_of(path: Path) -> str:
    """Return the table that a file holds rows of."""
    return path.parent.name if path.parent.name in tables() else path.stem


def _typed_rows(path: Path, headers: Headers) -> pa.Table:
    """Return the rows of a file, or raise ContractError where it has not its table's columns."""
    table = _table_of(path)
    try:
        rows = read_rows(path, table, headers)
        rows.validate(full=True)
        stored = arrow_schema(table) if path.suffix == ".csv" else headers.of(path).columns
    except ContractError:
        raise
    except UNREADABLE as error:
        raise ContractError(
            f"{table}/{path.name} must be a complete file of this project; it cannot be read."
        ) from error
    kinds = dict(zip(stored.names, stored.types, strict=True))
    wrong = [f.name for f in arrow_schema(table) if kinds.get(f.name, f.type) != f.type]
    if wrong:
        raise ContractError(
            f"{table}/{path.name} must have the types of schema.sql; other types were found in "
            f"{', '.join(wrong)}."
        )
    return rows


def _of_identity(name: str, rows: pa.Table, mark: Mark) -> Iterator[str]:
    expected = {"run_id": run_id(mark.determinants), "model_id": mark.determinants["model_id"]}
    for column in expected.keys() & set(rows.column_names):
        others = set(rows.column(column).unique().to_pylist()) - {expected[column]}
        if others:
            yield (
                f"Every {column} of {name} must be {expected[column]}; "
                f"found {', '.join(sorted(map(str, others)))}."
            )


def _of_prompts(path: Path, mark: Mark) -> Iterator[str]:
    if stored_prompts_sha256(path) != prompts_of(mark.determinants).get(path.stem):
        yield f"prompt/{path.name} must hold the prompts that were measured; it holds others."


def _of_run(path: Path, mark: Mark, out: Path, trial: Trial) -> Iterator[str]:
    """Yield what is wrong with the run file itself."""
    try:
        rows = _typed_rows(path, Headers())
    except ContractError as error:
        yield error.problem
        return
    for broken in trial.add("run", f"run/{path.name}", rows):
        yield broken.problem
    run = read_run(path)
    if run is None:
        counted_rows = counted(len(rows), "row")
        yield f"run/{path.name} must have one row that can be read; it has {counted_rows}."
        return
    others = list(_of_run_row(path, run, mark, out))
    yield from others
    if not others and not is_run_as_marked(run, mark):
        yield f"run/{path.name} must have the row and metadata that it hashed; it has others."


def _of_run_row(path: Path, run: Mapping[str, Any], mark: Mark, out: Path) -> Iterator[str]:
    """Yield how the row of a run file contradicts the rest of its unit."""
    expected = {"run_id": run_id(mark.determinants), **mark.determinants}
    for column in sorted(expected.keys() & run.keys()):
        if run[column] != expected[column]:
            yield (
                f"The {column} of run/{path.name} must be {expected[column]}, as its metadata "
                f"say; it is {run[column]}."
            )
    if f"conformance/{path.name}" not in mark.rows:
        return  # kept with an earlier unit of the same run
    failed = _failed_properties(path.stem, out)
    if run["is_conforming"] == bool(failed):
        yield (
            f"run/{path.name} must be marked as conforming exactly when no check failed; it says "
            f"{json.dumps(run['is_conforming'])}, and {', '.join(failed) or 'no check'} failed."
        )


def _failed_properties(stem: str, out: Path) -> list[str]:
    try:
        checks = read_rows(out / "conformance" / f"{stem}.parquet", "conformance").to_pylist()
    except ContractError:
        return []  # a missing or damaged file is a fault of its own
    return sorted(check["property"] for check in checks if check["is_met"] is False)


def _whole_tables(out: Path) -> Iterator[str]:
    """Yield what is wrong with tables in one file, which every reader of the directory reads."""
    twice = stored_twice(out)
    for table, places in twice.items():
        listing = " and ".join(str(place.relative_to(out)) for place in places)
        yield (
            f"Table {table} must lie in one place, or its rows count twice; found {listing}: "
            "move one of them elsewhere."
        )
    for table, paths in table_files(out).items():
        for path in paths:
            if path.parent != out or table in twice:
                continue
            if table in (*MEASURED, "prompt", "run"):
                yield (
                    f"{path.name} must belong to a unit of measurement; it belongs to none: "
                    "move it elsewhere."
                )
                continue
            try:
                rows = _typed_rows(path, Headers())
            except ContractError as error:
                yield _told(error.problem, _MOVE)
                continue
            for broken in check_rows(table, {f"{table}/{path.name}": rows}):
                yield _told(broken.problem, _MOVE)


def _strangers(out: Path, listed: Collection[str]) -> Iterator[str]:
    """Yield what lies in the directory and belongs to no complete unit."""
    interrupted = [
        stem for stem in incomplete_units(out) if not locks.is_held_elsewhere(out, variant_of(stem))
    ]
    for stem in interrupted:
        yield f"Every unit must be complete; {stem} was interrupted: the same command resumes it."
    for path in sorted(path for table in MEASURED for path in (out / table).glob("*.parquet")):
        name = f"{path.parent.name}/{path.name}"
        if name not in listed and (out / "run" / path.name).exists():
            yield f"{name} must be listed in its unit's run file; it is not: remove it."
    yield from _whole_tables(out)
    for name in sorted(f"prompt/{path.name}" for path in (out / "prompt").glob("*.parquet")):
        if name not in listed and not interrupted:
            yield f"{name} must be listed in the run file of a unit; it is not: remove it."
    for path in sorted(out.glob("*/.*.tmp")):
        yield (
            f"{path.relative_to(out)} must not be there; a run that was killed left it: "
            "the next run removes it."
        )
    for name in sorted({path.parent.name for path in out.glob("*/*.parquet")} - tables().keys()):
        yield (
            f"{name} holds Parquet files and must be a table of schema.sql; it is none: "
            "move it elsewhere."
        )
