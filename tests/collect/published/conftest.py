"""The paper's raw files, read once, and the facts the repository keeps about them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from collect.published import importer
from collect.published.values import published_values

ROOT = Path(__file__).resolve().parents[3]
RESULTS = ROOT.parent / "shared" / "published" / "Results"


@pytest.fixture(scope="session")
def results() -> Path:
    if not RESULTS.is_dir():
        pytest.skip(f"the paper's raw files are not at {RESULTS}")
    return RESULTS


@pytest.fixture(scope="session")
def values(results: Path) -> pd.DataFrame:
    return published_values(results, importer.present(results))


@pytest.fixture(scope="session")
def facts() -> Callable[[str], pd.DataFrame]:
    """Return the reader of a table of data/published."""

    def read(table: str) -> pd.DataFrame:
        return pd.read_csv(ROOT / "data" / "published" / f"{table}.csv", keep_default_na=False)

    return read
