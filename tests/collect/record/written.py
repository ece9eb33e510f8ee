"""What a run wrote: its files, their bytes and the rows of a table; a directory closed to it."""

from __future__ import annotations

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
