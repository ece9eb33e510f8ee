"""Stores made by hand from published figures, small enough to see what a claim must conclude."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from analysis.store import Store, open_store
from collect import schema

PUBLISHED = Path(__file__).parents[2] / "data/published"

#: Rows of a table, as far as they say anything.
Rows = Iterable[dict[str, Any]]


@pytest.fixture
def made_store(tmp_path: Path) -> Callable[..., Store]:
    """Return a function from rows of published tables to a store with the paper's own models."""

    def made(**tables: Rows) -> Store:
        directory = tmp_path / f"made-{len(list(tmp_path.iterdir()))}"
        directory.mkdir()
        for name in ("claim.csv", "metric.csv", "model.csv"):
            shutil.copy(PUBLISHED / name, directory / name)
        for table, rows in tables.items():
            _write(directory, table, pd.DataFrame(list(rows)))
        return open_store(directory)

    return made


def _write(directory: Path, table: str, rows: pd.DataFrame) -> None:
    """Write rows in the columns of the contract; what is not said gets a neutral value."""
    columns = [column.name for column in schema.tables()[table].columns]
    nothing = {"unit": "1", "caveats": "", "prompt_set": "S", "dtype": "fp32", "path": "$"}
    nothing |= {"statistic": "value", "n_heads": 1, "n_kv_heads": 1, "d_head": 1, "d_model": 1}
    whole = rows.assign(**{k: v for k, v in nothing.items() if k in columns and k not in rows})
    destination = directory / f"{table}.csv"
    if table == "model":
        whole = pd.concat([pd.read_csv(destination, dtype=str), whole.astype(str)])
    whole.reindex(columns=columns).to_csv(destination, index=False)
