"""What a run wrote: its files, their bytes, rows of a table; closed directories, full disks."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from collect.record.queue import DIRECTORY

SAMPLE = Path(__file__).parents[3] / "data/sample"


def frame(out: Path, table: str) -> pd.DataFrame:
    parts = sorted((out / table).glob("*.parquet"))
    return pd.concat([pq.read_table(part).to_pandas() for part in parts], ignore_index=True)


def files(out: Path) -> list[str]:
    return sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())


def contents(out: Path) -> dict[str, bytes]:
    """Return the bytes of every file but those that hold the time: table ``run``, the queue."""
    timed = ("run/", f"{DIRECTORY}/")
    return {name: (out / name).read_bytes() for name in files(out) if not name.startswith(timed)}


def copy_sample(directory: Path, *stems: str) -> Path:
    """Copy the files of some units of the shipped sample, and its prompts."""
    for path in SAMPLE.glob("*/*.parquet"):
        if path.stem in (*stems, "A_grand_unified"):
            (directory / path.parent.name).mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, directory / path.parent.name)
    return directory


def rewrite(path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    """Replace the rows of a file, its metadata left as they are."""
    rows = pq.ParquetFile(path).read()
    pq.write_table(change(rows).replace_schema_metadata(rows.schema.metadata), path)


def change_column(path: Path, name: str, values: pa.Array | Callable[[pa.Array], pa.Array]) -> None:
    """Replace one column of a file, its metadata left as they are."""

    def changed(rows: pa.Table) -> pa.Table:
        place = rows.column_names.index(name)
        column = values(rows.column(name)) if callable(values) else values
        return rows.set_column(place, rows.schema.field(name), column)

    rewrite(path, changed)


def flip(path: Path, place: int) -> None:
    """Invert a byte of a file."""
    content = bytearray(path.read_bytes())
    content[place] ^= 0xFF
    path.write_bytes(content)


def close(monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
    """Let the system say that nothing may be written into a directory, which it lets root do."""
    access = os.access

    def said(path: Path, mode: int) -> bool:
        return Path(path) != directory and access(path, mode)

    monkeypatch.setattr("os.access", said)


def fill_disk(monkeypatch: pytest.MonkeyPatch, n_files: int) -> None:
    """Let the system say that there is no room left, once some files were written."""
    fsync, n_left = os.fsync, n_files

    def said(handle: int) -> None:
        nonlocal n_left
        n_left -= 1
        if n_left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(handle)

    monkeypatch.setattr("os.fsync", said)
