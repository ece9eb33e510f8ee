"""Headers of Parquet files, each read once: columns, types, rows, bounds, metadata."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from collect.errors import nearest
from collect.process.interruption import raise_interruption
from collect.schema.contract import ContractError, arrow_schema, table_of
from collect.schema.counting import counted, repeated

#: What reading a damaged file raises; names in its footer may be no text (ValueError).
UNREADABLE = (pa.ArrowException, OSError, ValueError, OverflowError)


#: Names of columns that a message lists, and characters of each: both are free in a file.
_MOST_NAMES, _LONGEST_NAME = 40, 80

#: Tables of a few rows a file, which every reader of the header wants: one opening is enough.
READ_WHOLE = ("run", "model", "conformance", "not_measured", "prompt")


#: Entry of a file's metadata that repeats its columns: the longest, and of no use here.
_OF_ARROW = b"ARROW:schema"

#: Files of one table from which on they are read together, how the column that names each is
#: called then, and what in a name the engine would take for a pattern.
_MANY, _FILE, _PATTERN = 16, "file of these rows", re.compile(r"[*?\[\]{}]")


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


#: Kinds of types whose values a small table takes in any width.
_KINDS = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_timestamp,
    pa.types.is_date,
    _is_text,
)


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Columns and types that files share, and which tables they were found to be right for.

    Attributes
    ----------
    columns
        The columns.
    conforming
        Tables whose columns they are, each with whether the types are exactly its types.
    """

    columns: pa.Schema
    conforming: set[tuple[str, bool]] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Header:
    """What a Parquet file says of itself before its first row.

    Of the file's own footer, tens of KiB, nothing else is held: a store may have 10^5 files.

    Attributes
    ----------
    path
        The file.
    layout
        Its columns and their types.
    n_rows
        Number of rows [1].
    metadata
        Key-value metadata as text; what is no text in UTF-8 is left out.
    run_bounds
        Smallest and largest ``run_id`` of each row group, as far as stored.
    rows
        All that it holds, where that was read at once.
    """

    path: Path
    layout: Layout
    n_rows: int
    metadata: dict[str, str]
    run_bounds: frozenset[str]
    rows: pa.Table | None = None

    @property
    def columns(self) -> pa.Schema:
        """Its columns and their types."""
        return self.layout.columns

    def read(self, table: str) -> pa.Table:
        """Return the rows, typed as the contract says.

        Raises
        ------
        ContractError
            If the file is damaged, or its columns are not those of the table.
        """
        self.check_kinds(table)
        try:
            return typed(self.stored(), table)
        except UNREADABLE as error:
            raise damaged(self.path, error) from error

    def stored(self) -> pa.Table:
        """Return the rows with the columns that the file has."""
        if self.rows is not None:
            return self.rows
        with opened(self.path) as file:
            return file.read(use_threads=False)

    def check_types(self, table: str) -> None:
        """Raise ContractError unless the columns have exactly the contract's types."""
        if (table, True) not in self.layout.conforming:
            check_names(self.path, table, self.columns.names)
            known = dict(zip(self.columns.names, self.columns.types, strict=True))
            fields = arrow_schema(table)
            self._refuse_types([f for f in fields if known.get(f.name, f.type) != f.type])
            self.layout.conforming.add((table, True))

    def check_kinds(self, table: str) -> None:
        """Raise ContractError unless the columns have types of the contract's kinds."""
        if (table, False) not in self.layout.conforming:
            check_names(self.path, table, self.columns.names)
            self._refuse_types([f for f in arrow_schema(table) if not self._is_alike(f)])
            self.layout.conforming.add((table, False))

    def _is_alike(self, field: pa.Field) -> bool:
        """Return whether a column's values may be read as those of a field, whatever their width.

        A program that writes text or whole numbers of another width means the same values.
        """
        if field.name not in self.columns.names:
            return True
        kind = self.columns.field(field.name).type
        is_empty = pa.types.is_null(kind)
        return (
            is_empty
            or any(is_kind(kind) and is_kind(field.type) for is_kind in _KINDS)
            or (kind == field.type)
        )

    def _refuse_types(self, fields: Sequence[pa.Field]) -> None:
        """Raise ContractError if there are columns of other types than the contract's."""
        wrong = [field.name for field in fields]
        if wrong:
            others = ", ".join(f"{name} ({self.columns.field(name).type})" for name in wrong)
            raise ContractError(
                f"{self.path} must have the types of collect/schema.sql; other types were found "
                f"in {others}.",
                "It comes from another version: measure or import again.",
            )


class Headers:
    """The headers of some files, each read when it is first asked for."""

    def __init__(self) -> None:
        self._known: dict[Path, Header] = {}
        self.layouts: dict[pa.Schema, Layout] = {}
        self._runs: dict[Path, pa.Table] = {}
        self._ahead: dict[Path, pa.Table] = {}
        self._unknown: dict[tuple[str, str], list[Path]] = {}

    def note_columns(self, path: Path, table: str, names: Sequence[str]) -> None:
        """Remember which columns of a file the contract does not have."""
        known = table_of(table).names
        if len(names) > len(known) or not {*names} <= {*known}:
            for name in names:
                if name not in known:
                    self._unknown.setdefault((table, name), []).append(path)

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence on each column that was left out, as this version does not know it."""
        return tuple(
            f"Column {_listed([name])} of table {table} is of another version and left out; it is "
            f"in {counted(len({*paths}), 'file')}, such as {paths[0]}."
            for (table, name), paths in self._unknown.items()
        )

    def together(self, paths: Sequence[Path], table: str) -> list[pa.Table]:
        """Return the rows of some files, typed as the contract says, in the order of the files.

        Those of files with the same columns lie in one table: to make each fit costs as much as
        to read it.

        Raises
        ------
        ContractError
            If a file is damaged, or its columns are not those of the table.
        """
        headers = [self.of(path) for path in paths]
        parts = []
        for _, group in groupby(headers, key=lambda header: id(header.layout)):
            alike = list(group)
            for header in alike:
                header.check_kinds(table)
                self.note_columns(header.path, table, header.columns.names)
            try:
                parts.append(typed(pa.concat_tables([of.stored() for of in alike]), table))
            except UNREADABLE:  # which of them it is, is said
                parts += [header.read(table) for header in alike]
        return parts

    def run(self, path: Path) -> pa.Table:
        """Return the rows of a run file, read once as well: they are asked for twice.

        Raises
        ------
        ContractError
            If the file is damaged, or its columns are not those of table ``run``.
        """
        if path not in self._runs:
            self._runs[path] = self.of(path).read("run")
        return self._runs[path]

    def of(self, path: Path) -> Header:
        """Return the header of a file.

        Raises
        ------
        ContractError
            If the file is damaged.
        """
        if path not in self._known:
            try:
                with opened(path) as file:
                    self._known[path] = self._header(path, file)
            except UNREADABLE as error:
                raise damaged(path, error) from error
        return self._known[path]

    def add(self, headers: Mapping[Path, Header]) -> None:
        """Take headers that were read before, and whose files have not changed since."""
        self._known |= headers

    def known(self, paths: Iterable[Path]) -> dict[Path, Header]:
        """Return the headers of those files that were read."""
        return {path: self._known[path] for path in paths if path in self._known}

    def read_ahead(self, paths: Sequence[Path]) -> None:
        """Read the rows of many small files of one table at once, which takes a third of the time.

        What cannot be read so is read file by file, and refused there.
        """
        paths = [path for path in paths if path not in self._known]
        names = [str(path) for path in paths]
        is_plain = all(type(path) is type(Path()) for path in paths)
        if len(paths) < _MANY or not is_plain or _PATTERN.search("".join(names)):
            return
        try:
            with duckdb.connect(config={"threads": 1}) as connection:
                rows = connection.sql(
                    f"FROM read_parquet($1, filename = '{_FILE}')", params=[names]
                ).to_arrow_table()
        except duckdb.Error as error:
            raise_interruption(error)
            return
        places = rows.column(_FILE).to_pylist()
        counts, rows, done = Counter(places), rows.drop_columns([_FILE]), 0
        if places != [name for name in names for _ in range(counts[name])]:
            return
        for path, name in zip(paths, names, strict=True):
            self._ahead[path] = rows.slice(done, counts[name])
            done += counts[name]

    def forget(self, path: Path) -> None:
        """Hold a file's header and rows no longer; which columns files have is kept."""
        self._known.pop(path, None)
        self._runs.pop(path, None)

    def _header(self, path: Path, file: pq.ParquetFile) -> Header:
        schema = file.schema_arrow
        columns = pa.schema(list(zip(schema.names, schema.types, strict=True)))
        layout = self.layouts.get(columns)  # those of a table's files are the same
        if layout is None:
            layout = self.layouts[columns] = Layout(columns)
        rows = self._ahead.pop(path, None)
        if rows is not None and (
            rows.schema.names != columns.names
            or rows.schema.types != columns.types
            or len(rows) != file.metadata.num_rows
        ):
            rows = None
        if rows is None and path.parent.name in READ_WHOLE:
            rows = pa.Table.from_arrays(file.read(use_threads=False).columns, schema=columns)
        return Header(
            path,
            layout,
            int(file.metadata.num_rows),
            _metadata(file.metadata),
            _run_bounds(file.metadata, columns),
            rows,
        )


def _metadata(footer: pq.FileMetaData) -> dict[str, str]:
    entries = {}
    for name, value in (footer.metadata or {}).items():
        try:
            if name != _OF_ARROW:
                entries[name.decode()] = value.decode()
        except UnicodeDecodeError:
            continue
    return entries


def _run_bounds(footer: pq.FileMetaData, columns: pa.Schema) -> frozenset[str]:
    if "run_id" not in columns.names:
        return frozenset()
    place = columns.names.index("run_id")
    bounds = set()
    for group in range(footer.num_row_groups):
        statistics = footer.row_group(group).column(place).statistics
        if statistics is not None and statistics.has_min_max:
            bounds |= {str(statistics.min), str(statistics.max)}
    return frozenset(bounds)


def opened(path: Path) -> pq.ParquetFile:
    """Open a Parquet file; one that is not on this machine by ranges of its bytes."""
    by_range = getattr(path, "by_range", None)
    return pq.ParquetFile(path if by_range is None else by_range(), pre_buffer=False)


def check_names(
    path: Path, table: str, actual: Sequence[str], left_out: Collection[str] = ()
) -> None:
    """Raise ContractError unless a file has each required column of a table, and each once.

    A column that may be NULL may be missing: an earlier version did not write it. So may those that
    a table made by hand may leave out. One that the table does not have is of a later version,
    unless it is a missing one misspelt.
    """
    required, names = table_of(table).required, table_of(table).names
    missing = [name for name in names if name not in actual]
    unknown = [name for name in actual if name not in names]
    lacking = [name for name in missing if name in required and name not in left_out]
    guess = _guess(missing, unknown)
    twice = repeated(actual)
    if lacking or guess:
        raise ContractError(
            f"{path} must have the columns of table {table}; "
            f"missing: {_listed(lacking or missing)}; unknown: {_listed(unknown)}.",
            guess or _remedy(path, "It comes from another version: measure or import again."),
        )
    if twice:
        raise ContractError(
            f"{path} must have each column of table {table} once; found twice or more: "
            f"{_listed(twice)}.",
            "Leave one of each, or measure or import again.",
        )


def _listed(names: Sequence[str]) -> str:
    """Return names that a stranger's file may have: a few, shortened, in characters that print."""
    shown = [name if name.isprintable() else ascii(name)[1:-1] for name in names[:_MOST_NAMES]]
    cut = [name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..." for name in shown]
    others = len(names) - len(cut)
    return ", ".join([*cut, *([f"{others} others"] if others else [])]) or "none"


def completed(rows: pa.Table, table: str) -> pa.Table:
    """Return rows with the columns of a table, NULL in those that an earlier version lacks."""
    expected, actual = arrow_schema(table), rows.column_names
    if actual == expected.names:
        return rows
    columns = [
        rows.column(field.name)
        if field.name in actual
        else pa.chunked_array([pa.nulls(len(rows), field.type)])
        for field in expected
    ]
    return pa.Table.from_arrays(columns, names=expected.names)


def typed(rows: pa.Table, table: str) -> pa.Table:
    """Return rows with the columns and types of a table."""
    expected = arrow_schema(table)
    rows = completed(rows, table)
    if rows.schema.types == expected.types:  # a cast costs more than the reading
        return pa.Table.from_arrays(rows.columns, schema=expected)
    return rows.cast(expected)


def _guess(missing: list[str], unknown: list[str]) -> str:
    pairs = [(name, nearest(name, unknown, cutoff=0.6)) for name in missing]
    return " ".join(f"{near[0]} is probably {name}." for name, near in pairs if near)


def damaged(path: Path, error: Exception) -> ContractError:
    """Return the refusal of a file that cannot be read; raise what is no fault of the file."""
    raise_interruption(error)
    reason = str(error).strip().partition("\n")[0].removesuffix(".") or type(error).__name__
    return ContractError(
        f"{path} must be a complete file of this project; it cannot be read ({reason}).",
        _remedy(path, "Delete it, then measure or import again."),
    )


def _remedy(path: Path, of_made: str) -> str:
    """Return what to do about a file: one that a person may have written is to be corrected."""
    is_written = path.suffix == ".csv"
    return "Correct it there; data/README.md lists its columns." if is_written else of_made


#: Name of the files of a compact copy, in which the rows of many units lie together: its run file
#: has one row a unit, and every unit that it names is taken from it, whatever else lies there.
_NAME = re.compile(r"packed~[0-9a-f]{16}")


def is_pack(stem: str) -> bool:
    """Return whether files of this name, without suffix, are those of a pack.

    >>> is_pack("packed~0123456789abcdef"), is_pack("acme--tiny@S")
    (True, False)
    """
    return _NAME.fullmatch(stem) is not None


def pack_name(digest: str) -> str:
    """Return the name of the files of a pack, from the hash of what identifies its units."""
    return f"packed~{digest[:16]}"


def units_of(path: Path) -> list[str]:
    """Return the names of the units in a pack, in the order of its rows.

    Parameters
    ----------
    path
        Its run file.

    Raises
    ------
    ContractError
        If it cannot be read, or is not the run file of a pack.
    """
    try:
        with opened(path) as file:
            metadata = file.metadata.metadata or {}
        return [str(stem) for stem in json.loads(metadata[b"determinants"])["units"]]
    except (*UNREADABLE, KeyError, TypeError, RecursionError) as error:
        raise damaged(path, error) from error


def packed_units(run_files: Iterable[Path]) -> set[str]:
    """Return the names of all units in the packs among some run files."""
    return {unit for path in run_files if is_pack(path.stem) for unit in units_of(path)}
