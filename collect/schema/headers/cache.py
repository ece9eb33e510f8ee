"""Headers of a store's files, kept between processes in the user's folder of caches.

To open a Parquet file costs ten times what it costs to ask for its size. A kept header is taken
only while the path, size, times of change and inode of its file are those with which it was read:
a file that was written over, in place or not, has another time, which no program can set back
(``st_ctime``). What was changed less than two seconds before it was read is never kept, since a
file system may give two changes one time. Nothing depends on a cache: one that is damaged, of
another version, or cannot be written is as none.

A store has one cache that a reader left, and parts that processes left which wrote into it. Who
opens it next puts them together.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import groupby
from pathlib import Path

import pyarrow as pa

from collect.process import shipped
from collect.schema.headers.header import Header, Layout
from collect.schema.paths import is_local

#: What is written into a cache and must stand there.
_FORMAT = {b"format": f"1 of Arrow {pa.__version__}".encode()}

#: Files from which on a store has a cache, share of unknown ones from which on it is written
#: again, and stores whose caches are held.
MANY, _SHARE, _MOST = 256, 0.02, 16

#: How long before it was read a file must have been changed last [ns].
SETTLED = 2_000_000_000

_STATE = ("size", "modified", "changed", "inode", "device")
_COLUMNS = pa.schema(
    [
        ("name", pa.string()),
        *((name, pa.uint64() if name in ("inode", "device") else pa.int64()) for name in _STATE),
        ("layout", pa.int32()),
        ("n_rows", pa.int64()),
        ("has_rows", pa.bool_()),
        ("metadata", pa.string()),
        ("run_bounds", pa.list_(pa.string())),
    ],
    metadata=_FORMAT,
)

#: What reading a cache raises that another program, or a full disk, left.
_UNUSABLE = (pa.ArrowException, OSError, ValueError, KeyError, IndexError, TypeError)


def recalled(
    directory: Path, paths: Sequence[Path], layouts: dict[pa.Schema, Layout]
) -> dict[Path, Header]:
    """Return the kept headers of those files that are still as they were read.

    Parameters
    ----------
    directory
        The store, whose files lie in it at any depth.
    paths
        Its files.
    layouts
        Those known, to which those of the cache are added.
    """
    if not _is_kept(directory, paths):
        return {}
    by_name, found = {_name(directory, path): path for path in paths}, dict[Path, Header]()
    for place in (_place(directory), *_parts(directory)):
        with suppress(*_UNUSABLE), pa.memory_map(str(place)) as source:
            found |= _read(source, by_name, layouts)
    return found


def keep(directory: Path, headers: Mapping[Path, Header], n_known: int, since: int) -> None:
    """Keep the headers of a store in one cache, unless nearly all were recalled from one.

    Parameters
    ----------
    directory
        The store.
    headers
        Headers of its files.
    n_known
        How many of them were recalled.
    since
        When the first of the others was read [ns since 1970].
    """
    if not _is_kept(directory, [*headers]):
        return
    parts = _parts(directory)
    if not parts and n_known >= len(headers) * (1 - _SHARE):
        return
    if _put(_place(directory), directory, headers, dict.fromkeys(headers, since)):
        for part in parts:
            with suppress(OSError):
                part.unlink()


def keep_part(directory: Path, headers: Mapping[Path, Header], read: Mapping[Path, int]) -> None:
    """Keep the headers of some files of a store, beside what is kept of it.

    Parameters
    ----------
    directory
        The store.
    headers
        Headers of these files.
    read
        When each was read [ns since 1970].
    """
    if headers:
        place = _place(directory)
        _put(place.with_name(f"{place.stem}-{time.time_ns()}.arrow"), directory, headers, read)


def _put(
    place: Path, directory: Path, headers: Mapping[Path, Header], read: Mapping[Path, int]
) -> bool:
    """Write a cache, complete or not at all, and remove the oldest; return whether it is there.

    A store's caches are as old as its newest.
    """
    with suppress(*_UNUSABLE):
        place.parent.mkdir(parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(dir=place.parent, prefix=".", suffix=".tmp")
        temporary = Path(name)
        try:
            with os.fdopen(number, "wb") as sink:
                _write(sink, directory, headers.values(), read)
            temporary.replace(place)
        finally:
            temporary.unlink(missing_ok=True)
        newest = sorted(place.parent.glob("*.arrow"), key=lambda path: -path.stat().st_mtime)
        held = [*dict.fromkeys(map(_store, newest))][:_MOST]
        for path in newest:
            if _store(path) not in held:
                path.unlink(missing_ok=True)
        return True
    return False


def _is_kept(directory: Path, paths: Sequence[Path]) -> bool:
    """Return whether a store is on this machine and has files enough to be worth it."""
    return len(paths) >= MANY and is_local(directory)


def _place(directory: Path) -> Path:
    digest = sha256(os.fsencode(directory.resolve())).hexdigest()
    return shipped.results() / "headers" / f"{digest[:24]}.arrow"


def _store(cache: Path) -> str:
    """Return of which store a cache or a part of it is."""
    return cache.stem.partition("-")[0]


def _parts(directory: Path) -> list[Path]:
    """Return what processes left that wrote into a store."""
    place = _place(directory)
    return sorted(place.parent.glob(f"{place.stem}-*.arrow"))


def _name(directory: Path, path: Path) -> str:
    return str(path)[len(str(directory)) :]


def state(path: Path) -> tuple[int, ...]:
    """Return what tells a file from one that was changed: size, times, inode and device."""
    state = os.stat(path)  # noqa: PTH116, half the time of Path.stat
    return state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino, state.st_dev


def _read(
    source: pa.NativeFile, paths: Mapping[str, Path], layouts: dict[pa.Schema, Layout]
) -> dict[Path, Header]:
    table = pa.ipc.open_stream(source).read_all()
    if table.schema != _COLUMNS or table.schema.metadata != _FORMAT:
        return {}
    kept = [column.to_pylist() for column in table.columns]
    parts = []
    for _ in range(max(kept[-5], default=-1) + 1):
        rows = pa.ipc.open_stream(source).read_all()
        parts.append((layouts.setdefault(rows.schema, Layout(rows.schema)), rows))
    done, headers = [0] * len(parts), {}
    states = zip(*kept[1 : 1 + len(_STATE)], strict=True)
    rest = zip(*kept[1 + len(_STATE) :], strict=True)
    for name, kept_state, (place, n_rows, has_rows, metadata, bounds) in zip(
        kept[0], states, rest, strict=True
    ):
        layout, all_rows = parts[place]
        rows = all_rows.slice(done[place], n_rows) if has_rows else None
        done[place] += n_rows if has_rows else 0
        path = paths.get(name)
        if path is not None and kept_state == state(path):
            headers[path] = Header(
                path, layout, n_rows, json.loads(metadata), frozenset(bounds), rows
            )
    return headers


def _write(
    sink: object, directory: Path, headers: Iterable[Header], read: Mapping[Path, int]
) -> None:
    """Write what is known of the files that had not changed for a while when they were read."""
    states: dict[Path, tuple[int, ...]] = {}
    settled = []
    for header in headers:
        with suppress(FileNotFoundError):  # replaced by another name since
            states[header.path] = state(header.path)
            if max(states[header.path][1:3]) < read[header.path] - SETTLED:
                settled.append(header)
    places: dict[int, int] = {}
    for header in settled:
        places.setdefault(id(header.layout), len(places))
    settled.sort(key=lambda header: places[id(header.layout)])
    columns = [
        [_name(directory, header.path) for header in settled],
        *([states[header.path][i] for header in settled] for i in range(len(_STATE))),
        [places[id(header.layout)] for header in settled],
        [header.n_rows for header in settled],
        [header.rows is not None for header in settled],
        [json.dumps(header.metadata) for header in settled],
        [sorted(header.run_bounds) for header in settled],
    ]
    arrays = [pa.array(c, f.type) for c, f in zip(columns, _COLUMNS, strict=True)]
    with pa.ipc.new_stream(sink, _COLUMNS) as stream:
        stream.write_table(pa.Table.from_arrays(arrays, schema=_COLUMNS))
    for _, group in groupby(settled, key=lambda header: places[id(header.layout)]):
        alike = list(group)
        with pa.ipc.new_stream(sink, alike[0].columns) as stream:
            rows = [header.rows for header in alike if header.rows is not None]
            if rows:
                stream.write_table(pa.concat_tables(rows).combine_chunks())
