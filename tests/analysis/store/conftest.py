"""A store whose models were not all measured on the same prompts."""

import shutil

import pytest

from analysis.store import open_store
from collect.record.writer import write_table
from collect.schema import arrow_schema, table_files
from tests.analysis.places import ROOT

GEMMA = "gemma-3-270m-q4_k_m"


@pytest.fixture(scope="session")
def unlike_sets(tmp_path_factory):
    """Return a store of public models on one prompt set, of Gemma on two others instead."""
    place, public = tmp_path_factory.mktemp("unlike"), ROOT / "data/public"
    other = shutil.ignore_patterns(f"*{GEMMA}@*", "*.py")
    shutil.copytree(ROOT / "data/excerpt", place, ignore=other, dirs_exist_ok=True)
    store = open_store(public)
    runs = store.query(
        "FROM primary_run WHERE ends_with(model_id, $name) AND prompt_set IN ($b, $d)",
        name=GEMMA, b="B_pythia_sweep", d="D3_clean_residual",
    )  # fmt: skip
    for name in runs["prompt_set"]:
        shutil.copy2(public / "prompt" / f"{name}.parquet", place / "prompt")
    for run in runs.itertuples():
        for table in ("model", *table_files(public)):
            key = {"model": "model_id"}.get(table, "run_id")
            if key in arrow_schema(table).names:
                sql = f"FROM raw.{table} WHERE {key} = $value"
                rows = store.query(sql, value=getattr(run, key))
                stem = f"local--{GEMMA}@{run.prompt_set}"
                write_table(table, rows, place / table / f"{stem}.parquet")
    return open_store(place)
