"""Cut out of the measurements what travels in the wheel: ``python data/excerpt/make.py``.

Of the public models that is what was measured on the prompt set of ``model_gain``, with the start
token as each tokenizer has it, and their weights: all that the tables of schema main take of them.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from analysis.store import open_store
from collect.record.writer import write_table
from collect.schema import arrow_schema, table_files

HERE = Path(__file__).resolve().parent
PUBLIC = HERE.parent / "public"
SET = "A_grand_unified"


def excerpt() -> dict[tuple[str, str], pd.DataFrame]:
    """Return the rows of public models that travel, by table and name of the file."""
    store = open_store(PUBLIC)
    result = {("prompt", SET): store.query("FROM prompt WHERE prompt_set = $name", name=SET)}
    runs = store.query("FROM primary_run WHERE kind = 'weights' OR prompt_set = $name", name=SET)
    of_runs = [name for name in table_files(PUBLIC) if "run_id" in arrow_schema(name).names]
    for run in runs.itertuples():
        stem = run.model_id.replace("/", "--") + (f"@{SET}" if run.kind == "prompts" else "")
        result["model", stem] = store.query("FROM raw.model WHERE model_id = $id", id=run.model_id)
        for table in of_runs:
            rows = store.query(f"FROM raw.{table} WHERE run_id = $id", id=run.run_id)
            if not rows.empty:
                result[table, stem] = rows
    return result


def main() -> None:
    """Write each table as files beside this script, one for each run."""
    for (table, stem), rows in excerpt().items():
        write_table(table, rows, HERE / table / f"{stem}.parquet")


if __name__ == "__main__":
    main()
