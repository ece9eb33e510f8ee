"""Cut out of the measurements what travels in the wheel: ``python data/excerpt/make.py``.

Of the public models that is the length of the stream on one prompt set, and which token is the last
of each prompt, with the start token as each tokenizer has it: enough for every gain of
``model_gain``. Of their weights, and of the networks of eight blocks in ``data/sample``, it is that
they were measured, in ``data/listed``, so that their rows of ``model_gain`` and ``coverage`` are
there and say what is missing. The rest takes more room than a wheel has.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from analysis.store import open_store
from collect.record.writer import write_table

HERE = Path(__file__).resolve().parent
DATA = HERE.parent
SET = "A_grand_unified"

#: What travels of a run: rows of each table, without the stream within a block.
OF_RUN = {
    "run": "true",
    "conformance": "true",
    "residual_norm": "site <> 'block_mid'",
    "next_token": "true",
}


def excerpt() -> dict[tuple[str, str], pd.DataFrame]:
    """Return the rows of public models that travel, by table and name of the file."""
    store = open_store(DATA / "public")
    result = {("prompt", SET): store.query("FROM prompt WHERE prompt_set = $name", name=SET)}
    runs = store.query("FROM run WHERE prompt_set = $name AND special_tokens = 'default'", name=SET)
    for run_id, model_id in zip(runs["run_id"], runs["model_id"], strict=True):
        stem = f"{model_id.replace('/', '--')}@{SET}"
        result["model", stem] = store.query("FROM raw.model WHERE model_id = $id", id=model_id)
        for table, condition in OF_RUN.items():
            rows = store.query(f"FROM {table} WHERE run_id = $id AND {condition}", id=run_id)
            result[table, stem] = rows
    return result


def listed() -> dict[tuple[str, str], pd.DataFrame]:
    """Return models and runs of which nothing else travels, by table and name of the file."""
    store = open_store(DATA / "sample", DATA / "public")
    result = {("prompt", SET): store.query("FROM prompt WHERE prompt_set = $name", name=SET)}
    runs = store.query(
        "FROM run WHERE model_id LIKE '%-l8-%' "
        "OR (starts_with(model_id, 'local/') AND kind = 'weights')"
    )
    for row in runs.itertuples():
        stem = row.model_id.replace("/", "--") + (f"@{SET}" if row.kind == "prompts" else "")
        result["model", stem] = store.query("FROM raw.model WHERE model_id = $id", id=row.model_id)
        result["run", stem] = runs[runs["run_id"] == row.run_id]
    return result


def main() -> None:
    """Write each table as files, those of one model beside this script."""
    for place, tables in ((HERE, excerpt()), (DATA / "listed", listed())):
        for (table, stem), rows in tables.items():
            write_table(table, rows, place / table / f"{stem}.parquet")


if __name__ == "__main__":
    main()
