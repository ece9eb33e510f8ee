"""The files of table ``revision`` in one, and written out again; they are of no unit.

A pack of them is one file, so it is there or it is not. A row may lie in a pack and in a file of
its own, as a process that was killed leaves it: rows of one key count once, and the next change
of the directory removes the one or the other.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from collect.errors import InputError, OutputError
from collect.record.atomic.files import write_atomically
from collect.record.packed.packs import UNDECODABLE, Part, as_given, decoded, encoded
from collect.record.packed.rows import file_of, is_same, rows_of, typed
from collect.record.writer import layout, write_parquet
from collect.schema import arrow_schema, read_rows
from collect.schema.packs import is_pack, pack_name

TABLE = "revision"

#: Keys of the metadata of a pack: what its files were, and the hash of them with its rows.
_FILES, _HASH = b"files", b"content_sha256"


def revision_packs(out: Path) -> list[Path]:
    """Return the packs of an output's revisions, sorted by name."""
    return [path for path in sorted((out / TABLE).glob("*.parquet")) if is_pack(path.stem)]


def is_packed(stem: str, out: Path) -> bool:
    """Return whether a pack of an output holds the file of a name, without suffix."""
    return stem in _held(out)


def is_intact(path: Path) -> bool:
    """Return whether a pack can be read, and holds what was hashed."""
    return _content(path) is not None


def pack_revisions(out: Path) -> int:
    """Put the files of revisions into one; return how many, 0 where there are not several.

    The caller holds the lock of the marks.

    Raises
    ------
    ContractError
        If a file is damaged, or its columns are not those of the table.
    InputError
        If a file holds other rows than a pack holds by its name.
    OutputError
        If the pack cannot be written, or the rows read back are not those of the files, which
        remain as they were.
    """
    held, loose = _held(out), []
    for path in [
        path for path in sorted((out / TABLE).glob("*.parquet")) if not is_pack(path.stem)
    ]:
        rows = read_rows(path, TABLE)
        if path.stem not in held:
            loose.append(path)
            continue
        _check_same(path, rows, held[path.stem])
        path.unlink()
    if len(loose) < 2:
        return 0
    names = [path.stem for path in loose]
    target = out / TABLE / f"{pack_name(hashlib.sha256(repr(names).encode()).hexdigest())}.parquet"
    write_atomically(target, partial(_write, loose))
    content = _content(target)
    if content is None or not all(
        is_same(as_given(_of(content[1], part), part), rows_of(path).cast(part.schema))
        for path, part in zip(loose, content[0].values(), strict=True)
    ):
        target.unlink()
        raise OutputError(
            f"Packed rows must be those of their files; {target} was read back otherwise.",
            "The files stay as they are; run `collect check` on the directory.",
        )
    for path in loose:
        path.unlink()
    return len(loose)


def unpack_revisions(out: Path) -> int:
    """Write the files of all packs of revisions out again; return how many.

    The caller holds the lock of the marks.

    Raises
    ------
    ContractError
        If a file that bears the name of a packed one is damaged.
    InputError
        If a pack is not as it was written, or a file holds other rows than it by the same name.
    OutputError
        If a file cannot be written; the pack remains.
    """
    n_files = 0
    for path in revision_packs(out):
        content = _content(path)
        if content is None:
            raise InputError(
                f"Packed revisions must be as they were written; {path} is not.",
                "Restore the directory from a copy; `collect check` names the file.",
            )
        parts, rows = content
        for stem, part in parts.items():
            own, target = as_given(_of(rows, part), part), out / TABLE / f"{stem}.parquet"
            if target.exists():
                _check_same(target, read_rows(target, TABLE), own)
            write_atomically(target, partial(write_parquet, TABLE, own))
        path.unlink()
        n_files += len(parts)
    return n_files


def _held(out: Path) -> dict[str, pa.Table]:
    """Return the rows of the files that packs of an output hold, by name without suffix."""
    contents = filter(None, map(_content, revision_packs(out)))
    return {
        stem: as_given(_of(rows, part), part)
        for parts, rows in contents
        for stem, part in parts.items()
    }


def _check_same(path: Path, rows: pa.Table, packed: pa.Table) -> None:
    """Refuse a file whose rows are not those that a pack holds by its name."""
    if not rows.equals(typed(packed, arrow_schema(TABLE))):
        raise InputError(
            f"A file of revisions must hold the rows that a pack holds by its name; {path} holds "
            "others.",
            "It was copied here: move it to a directory of its own.",
        )


def _write(loose: Sequence[Path], path: Path) -> None:
    columns = arrow_schema(TABLE)
    parts: dict[str, dict[str, Part]] = {}
    rows: list[pa.Table] = []
    for source in loose:
        own = rows_of(source)
        parts[source.stem] = {TABLE: Part(sum(map(len, rows)), len(own), *file_of(source))}
        rows.append(typed(own, columns))
    together, files = pa.concat_tables(rows), base64.b64encode(encoded(parts))
    metadata = {_FILES: files, _HASH: _hash(together, files).encode()}
    pq.write_table(together.replace_schema_metadata(metadata), path, **layout(columns, ()))


def _content(path: Path) -> tuple[dict[str, Part], pa.Table] | None:
    """Return the parts of a pack by name, and its rows; None if it is not as it was written."""
    try:
        rows = rows_of(path)
        metadata = rows.schema.metadata or {}
        if metadata[_HASH].decode() != _hash(rows, metadata[_FILES]):
            return None
        files = decoded(base64.b64decode(metadata[_FILES]))
        return {stem: parts[TABLE] for stem, parts in files.items()}, rows
    except UNDECODABLE:
        return None


def _of(rows: pa.Table, part: Part) -> pa.Table:
    return rows.slice(part.offset, part.n_rows)


def _hash(rows: pa.Table, files: bytes) -> str:
    return hashlib.sha256(repr(rows.to_pylist()).encode() + files).hexdigest()
