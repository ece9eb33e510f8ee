"""What a run wrote: its files, their bytes, rows of a table; closed directories, full disks."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest


def frame(out: Path, table: str) -> pd.DataFrame:
    parts = sorted((out / table).glob("*.parquet"))
    return pd.concat([pq.read_table(part).to_pandas() for part in parts], ignore_index=True)


def files(out: Path) -> list[str]:
    return sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())


def contents(out: Path) -> dict[str, bytes]:
    """Return the bytes of every file but those of table ``run``, which hold the time."""
    return {name: (out / name).read_bytes() for name in files(out) if not name.startswith("run/")}


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
