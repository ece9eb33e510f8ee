"""Stores made by hand from published figures, small enough to see what a claim must conclude."""

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from analysis import audit as claims
from analysis.audit.claim import verdict
from analysis.delia2026.pages.register import CLAIMS
from analysis.store import open_store
from collect import schema
from tests.analysis.places import PUBLISHED, SHARED

RAW = SHARED / "published/Results"

#: Rows of a table, as far as they say anything.
Rows = Iterable[dict[str, Any]]


@pytest.fixture
def made_store(tmp_path):
    """Return a function from rows of published tables to a store with the paper's own models."""

    def made(**tables):
        directory = tmp_path / f"made-{len(list(tmp_path.iterdir()))}"
        directory.mkdir()
        for name in ("claim.csv", "metric.csv", "model.csv"):
            shutil.copy(PUBLISHED / name, directory / name)
        for table, rows in tables.items():
            _write(directory, table, pd.DataFrame(list(rows)))
        return open_store(directory)

    return made


@pytest.fixture(scope="session", params=["excerpt", "all"])
def imported(request, tmp_path_factory):
    """Return a folder of the paper's raw values: the shipped excerpt, and all, imported."""
    if request.param == "excerpt":
        folder = tmp_path_factory.mktemp("excerpt")
        columns = [column.name for column in schema.tables()["published_value"].columns]
        rows = pd.read_csv(PUBLISHED / "published_excerpt.csv", dtype=str, keep_default_na=False)
        rows.reindex(columns=columns).to_csv(folder / "published_value.csv", index=False)
        return folder
    if not RAW.is_dir():
        pytest.skip(f"the paper's raw files are not at {RAW}")
    from collect import published

    folder = tmp_path_factory.mktemp("imported")
    published.import_results(RAW, folder)
    return folder


@pytest.fixture
def facts(tmp_path):
    """Return a folder of published facts that a test may change."""
    return Path(shutil.copytree(PUBLISHED, tmp_path / "published"))


@pytest.fixture
def changed():
    """Return a function that changes the rows of one table of a folder and opens the folder."""

    def open_changed(folder, table, change):
        path = folder / f"{table}.csv"
        rows = pd.read_csv(path, keep_default_na=False, dtype={"caveats": str})
        change(rows).to_csv(path, index=False)
        return open_store(folder)

    return open_changed


@pytest.fixture
def judge():
    """Return a function from a store and a claim to its verdict."""
    return lambda store, claim_id: verdict(
        claims.claim(claim_id, CLAIMS).examine(store), claims.claim(claim_id, CLAIMS).kind
    )


@pytest.fixture
def check():
    """Return a function that finds the one check of a claim with a condition (and a part)."""

    def chosen(store, claim_id, condition, part=""):
        rows = claims.checks(store, claim_id, CLAIMS)
        is_part = rows["term"].str.contains(part, regex=False)
        result = rows[rows["condition"].eq(condition) & is_part]
        assert len(result) == 1
        return result.iloc[0]

    return chosen


def _write(directory, table, rows):
    """Write rows in the columns of the contract; what is not said gets a neutral value.

    A figure has the unit of its metric.
    """
    columns = [column.name for column in schema.tables()[table].columns]
    nothing = {"unit": "1", "caveats": "", "prompt_set": "S", "dtype": "fp32", "path": "$"}
    nothing |= {"statistic": "value", "n_heads": 1, "n_kv_heads": 1, "d_head": 1, "d_model": 1}
    if "metric" in rows and len(rows):
        units = pd.read_csv(directory / "metric.csv").set_index("metric")["unit"]
        nothing["unit"] = rows["metric"].map(units).fillna("1")
    whole = rows.assign(**{k: v for k, v in nothing.items() if k in columns and k not in rows})
    destination = directory / f"{table}.csv"
    if table == "model":
        whole = pd.concat([pd.read_csv(destination, dtype=str), whole.astype(str)])
    whole.reindex(columns=columns).to_csv(destination, index=False)
