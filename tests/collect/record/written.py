"""What a run wrote: its files, their bytes and the rows of a table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq


def frame(out: Path, table: str) -> pd.DataFrame:
    parts = sorted((out / table).glob("*.parquet"))
    return pd.concat([pq.read_table(part).to_pandas() for part in parts], ignore_index=True)


def files(out: Path) -> list[str]:
    return sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())


def contents(out: Path) -> dict[str, bytes]:
    """Return the bytes of every file but those of table ``run``, which hold the time."""
    return {name: (out / name).read_bytes() for name in files(out) if not name.startswith("run/")}
