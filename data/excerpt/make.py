"""Cut out of ``data/public`` what travels in the wheel: ``python data/excerpt/make.py``.

That is the length of the stream on one prompt set, and which token is the last of each prompt, with
the start token as each tokenizer has it: enough for every gain of ``model_gain``. The rest of
``data/public`` takes more room than a wheel has.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from analysis.store import open_store
from collect.record.writer import write_table

HERE = Path(__file__).resolve().parent
PUBLIC = HERE.parent / "public"
SET = "A_grand_unified"

#: What travels of a run: rows of each table, without the stream within a block.
OF_RUN = {
    "run": "true",
    "conformance": "true",
    "residual_norm": "site <> 'block_mid'",
    "next_token": "true",
}


def excerpt() -> dict[tuple[str, str], pd.DataFrame]:
    """Return the rows that travel, by table and name of the file."""
    store = open_store(PUBLIC)
    result = {("prompt", SET): store.query("FROM prompt WHERE prompt_set = $name", name=SET)}
    runs = store.query("FROM run WHERE prompt_set = $name AND special_tokens = 'default'", name=SET)
    for run_id, model_id in zip(runs["run_id"], runs["model_id"], strict=True):
        stem = f"{model_id.replace('/', '--')}@{SET}"
        result["model", stem] = store.query("FROM raw.model WHERE model_id = $id", id=model_id)
        for table, condition in OF_RUN.items():
            rows = store.query(f"FROM {table} WHERE run_id = $id AND {condition}", id=run_id)
            result[table, stem] = rows
    return result


def main() -> None:
    """Write each table as files beside this script, one per model."""
    for (table, stem), rows in excerpt().items():
        write_table(table, rows, HERE / table / f"{stem}.parquet")


if __name__ == "__main__":
    main()
