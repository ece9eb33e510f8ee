"""Headers of Parquet files, each read once; those of many small files together."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from collect.process.interruption import raise_interruption
from collect.schema.contract import table_of
from collect.schema.counting import counted
from collect.schema.headers.columns import UNREADABLE, damaged, listed, opened, typed
from collect.schema.headers.header import Header, Layout
from collect.schema.paths import is_local

#: Tables of a few rows a file, which every reader of the header wants: one opening is enough.
READ_WHOLE = ("run", "model", "conformance", "not_measured", "prompt")

#: Entry of a file's metadata that repeats its columns: the longest, and of no use here.
_OF_ARROW = b"ARROW:schema"

#: Files of one table from which on they are read together, how the column that names each is
#: called then, and what in a name the engine would take for a pattern.
_MANY, _FILE, _PATTERN = 16, "file of these rows", re.compile(r"[*?\[\]{}]")


class Headers:
    """The headers of some files, each read when it is first asked for."""

    def __init__(self) -> None:
        self._known: dict[Path, Header] = {}
        self.layouts: dict[pa.Schema, Layout] = {}
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
            f"Column {listed([name])} of table {table} is of another version and left out; it is "
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
                        rows = pa.Table.from_arrays(
                            file.read(use_threads=False).columns, schema=columns
                        )
                    self._known[path] = Header(
                        path,
                        layout,
                        int(file.metadata.num_rows),
                        _metadata(file.metadata),
                        _run_bounds(file.metadata, columns),
                        rows,
                    )
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
        if len(paths) < _MANY or not all(map(is_local, paths)) or _PATTERN.search("".join(names)):
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
