"""Packs as they lie in an output: what each unit in them was, and where its rows are.

Beside the rows a pack keeps, in one compressed file of JSON lines, the metadata that the files of
its units had, marks included, so that the units can be written out again. No torch here.
"""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from collect.record.units import Mark, has_its_files, mark_of, read_mark
from collect.schema import MEASURED
from collect.schema.headers import UNREADABLE
from collect.schema.marks import run_sha256
from collect.schema.packs import MARKS, MARKS_SUFFIX, is_pack

#: What reading the files that a pack keeps may raise where they are damaged.
UNDECODABLE = (
    *UNREADABLE,
    AttributeError,
    EOFError,
    IndexError,
    KeyError,
    TypeError,
    ValueError,
    zlib.error,
)

#: Tables whose rows a unit has of its own.
TABLES = ("run", *MEASURED)


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of one unit in the file of a pack.

    Attributes
    ----------
    offset, n_rows
        Place of the first row, and their number [1].
    schema
        Columns of the file that the unit had, with their metadata.
    metadata
        Key-value metadata of that file, in their order.
    """

    offset: int
    n_rows: int
    schema: pa.Schema
    metadata: dict[str, str]


@dataclass(frozen=True, slots=True)
class PackedUnit:
    """One unit of a pack: its name, what its run file said, and its rows by table."""

    stem: str
    mark: Mark
    parts: dict[str, Part]


class Pack:
    """One pack of an output.

    Parameters
    ----------
    path
        Its run file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.out = path.parent.parent
        self.mark = read_mark(path)

    @property
    def stem(self) -> str:
        """Name of its files, without suffix."""
        return self.path.stem

    @property
    def names(self) -> list[str]:
        """Names of its units, as its run file says."""
        return [] if self.mark is None else [str(n) for n in self.mark.determinants["units"]]

    @cached_property
    def units(self) -> list[PackedUnit]:
        """Its units in the order of its rows; none where they cannot be read."""
        try:
            content = marks_file(self.out, self.stem).read_bytes()
            return [_unit(stem, parts) for stem, parts in decoded(content).items()]
        except UNDECODABLE:
            return []

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of its run file; none where they cannot be read."""
        try:
            rows: list[dict[str, Any]] = pq.ParquetFile(self.path).read().to_pylist()
        except UNREADABLE:
            return []
        return rows

    @cached_property
    def is_intact(self) -> bool:
        """Whether its files are there, with the rows and the content that were hashed."""
        if self.mark is None or [unit.stem for unit in self.units] != self.names:
            return False
        is_hashed = self.mark.run_sha256 == pack_sha256(self.rows, self.mark)
        return is_hashed and has_its_files(self.mark, self.out)


class Rows:
    """The rows of one file of a pack, read row group by row group as they are asked for.

    Parameters
    ----------
    path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self._file = pq.ParquetFile(path)
        sizes = [self._file.metadata.row_group(n) for n in range(self._file.num_row_groups)]
        self._ends: list[int] = []
        for group in sizes:
            self._ends.append((self._ends[-1] if self._ends else 0) + group.num_rows)
        self._last: tuple[int, pa.Table] | None = None

    def of(self, part: Part) -> pa.Table:
        """Return the rows of a unit, with the columns that its own file had."""
        found = []
        start, stop = part.offset, part.offset + part.n_rows
        for number, end in enumerate(self._ends):
            begin = self._ends[number - 1] if number else 0
            if begin < stop and start < end:
                low, high = max(start, begin), min(stop, end)
                found.append(self._group(number).slice(low - begin, high - low))
        return as_given(pa.concat_tables(found), part)

    def _group(self, number: int) -> pa.Table:
        if self._last is None or self._last[0] != number:
            self._last = (number, self._file.read_row_group(number))
        return self._last[1]

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def as_given(rows: pa.Table, part: Part) -> pa.Table:
    """Return rows with the columns and the metadata that the file of a unit had."""
    own = rows.select(part.schema.names).combine_chunks()
    return own.cast(part.schema).replace_schema_metadata(part.metadata)


def packs(out: Path) -> list[Pack]:
    """Return the packs of an output, sorted by name."""
    return [Pack(path) for path in sorted((out / "run").glob("*.parquet")) if is_pack(path.stem)]


def marks_file(out: Path, stem: str) -> Path:
    """Return the file in which a pack keeps the metadata of its units' files."""
    return out / MARKS / f"{stem}{MARKS_SUFFIX}"


def pack_sha256(rows: list[dict[str, Any]], mark: Mark) -> str:
    """Return the hash of the rows of a pack's run file and of what vouches for its files."""
    return run_sha256({"rows": rows}, asdict(mark))


def encoded(units: Mapping[str, Mapping[str, Part]]) -> bytes:
    """Return what a pack keeps of its units, by name and table, as `Pack.units` reads it."""
    schemas: dict[str, int] = {}
    lines = []
    for stem, parts in units.items():
        files = {}
        for table, part in parts.items():
            text = base64.b64encode(part.schema.serialize().to_pybytes()).decode()
            files[table] = {
                "offset": part.offset,
                "rows": part.n_rows,
                "schema": schemas.setdefault(text, len(schemas)),
                "metadata": part.metadata,
            }
        lines.append(json.dumps({"stem": stem, "files": files}))
    text = "\n".join([json.dumps({"schemas": list(schemas)}), *lines]) + "\n"
    return gzip.compress(text.encode(), mtime=0)


def decoded(content: bytes) -> dict[str, dict[str, Part]]:
    """Return by name and table what `encoded` was given.

    Raises
    ------
    Exception
        One of `UNDECODABLE`, if the content is anything else.
    """
    head, *units = map(json.loads, gzip.decompress(content).splitlines())
    schemas = [_schema(text) for text in head["schemas"]]
    return {
        str(entry["stem"]): {
            table: Part(file["offset"], file["rows"], schemas[file["schema"]], file["metadata"])
            for table, file in entry["files"].items()
        }
        for entry in units
    }


def _schema(text: str) -> pa.Schema:
    return pa.ipc.read_schema(pa.BufferReader(base64.b64decode(text)))


def _unit(stem: str, parts: dict[str, Part]) -> PackedUnit:
    metadata = {name.encode(): text.encode() for name, text in parts["run"].metadata.items()}
    mark = mark_of(metadata)
    if mark is None:
        raise ValueError(f"the mark of {stem} cannot be read")
    return PackedUnit(stem, mark, parts)


def remove_files(stems: Collection[str], out: Path) -> None:
    """Remove the Parquet files of some units or packs, those of table run first."""
    for table in TABLES:
        for stem in stems:
            (out / table / f"{stem}.parquet").unlink(missing_ok=True)


def remove_pack(stem: str, out: Path) -> None:
    """Remove the files of a pack whose run file has gone."""
    remove_files([stem], out)
    marks_file(out, stem).unlink(missing_ok=True)
    with suppress(OSError):
        (out / MARKS).rmdir()
