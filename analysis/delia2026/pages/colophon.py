"""How a page was made: code, data, versions, seeds, time."""

from __future__ import annotations

import hashlib
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pandas as pd

from analysis.audit.pages.revision import commit
from analysis.delia2026.sign import claims_ranking as ranking
from analysis.store import Store
from analysis.store.remote import RemotePath

PACKAGES = ("altair", "duckdb", "numpy", "pandas", "pingouin", "pyarrow", "scipy", "statsmodels")


def colophon(store: Store) -> pd.DataFrame:
    """Return one row per fact about the making of the page: `item` and `value`."""
    facts = {
        "thermoscope": _version("thermoscope"),
        "git commit": commit(),
        "data": ", ".join(f"{path.name} {data_hash(path)}" for path in store.sources),
        "measured files": store.comparison.words,
        "Python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
        "seed of the bootstrap": f"{ranking.SEED}, {ranking.RESAMPLES:,} resamples",
        "made at": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }
    return pd.DataFrame({"item": list(facts), "value": list(facts.values())})


def data_hash(directory: Path | RemotePath) -> str:
    """Return the first 12 hex digits of a hash over names and contents of a directory's tables.

    At an address the hashes are those that the store's description lists.
    """
    digest = hashlib.sha256()
    if isinstance(directory, RemotePath):
        for file in directory.contents():
            if file.name.endswith((".csv", ".parquet")):
                digest.update(f"{directory.name}/{file.name}".encode())
                digest.update(bytes.fromhex(file.sha256))
        return digest.hexdigest()[:12]
    files = [directory] if directory.is_file() else sorted(directory.rglob("*"))
    for path in files:
        if path.suffix in {".csv", ".parquet", ".duckdb"}:
            digest.update(path.relative_to(directory.parent).as_posix().encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
