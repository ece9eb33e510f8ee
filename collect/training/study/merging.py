"""A study's rows: one file per run while it goes on, one file per table when they are merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from collect.errors import InputError
from collect.process.interruption import interruptible
from collect.record.writer import write_tables
from collect.training.study.design import Design, read_design
from collect.training.study.plan import Run, runs
from collect.training.study.training import TABLES, is_complete, run_file

#: Table of what a design asks for.
PLAN = "study_plan"


@interruptible()
def merge(path: Path, out: Path, into: Path) -> dict[str, int]:
    """Write the rows of a design's complete runs as one file per table, and return their numbers.

    The runs that the design asks for are written beside them, complete or not.
    """
    design = read_design(path)
    complete = [run for run in runs(design) if is_complete(out, run)]
    if not complete:
        raise InputError(f"{out} must hold a complete run of {path}; found none.", "Run it first.")
    rows = {table: _rows(out, table, complete) for table in TABLES} | {PLAN: plan_rows(design)}
    return write_tables(rows, lambda table: into / table / f"{design.head.name}.parquet")


def _rows(out: Path, table: str, complete: Sequence[Run]) -> pd.DataFrame:
    parts = [pq.read_table(run_file(out, table, run)).to_pandas() for run in complete]
    rows: pd.DataFrame = pd.concat([part.dropna(axis=1, how="all") for part in parts])
    return rows


def plan_rows(design: Design) -> pd.DataFrame:
    """Return one row per run that a design asks for, as table `study_plan` has them."""
    return pd.DataFrame(
        {
            **run.named(design),
            "n_layers": run.recipe.geometry.n_layers,
            "d_model": run.recipe.geometry.d_model,
            "n_steps": run.recipe.schedule.steps,
            "planned_s": run.seconds,
        }
        for run in runs(design)
    )


@interruptible()
def restore(path: Path, merged: Path, out: Path) -> int:
    """Write the merged rows of a design's runs as files of their own, and return how many runs.

    A study goes on where it was left although only its merged rows were kept. Runs that are there
    already stay as they are; runs that others train on are left out, since their networks are not
    among the rows.
    """
    design = read_design(path)
    files = {table: merged / table / f"{design.head.name}.parquet" for table in TABLES}
    missing = [file for file in files.values() if not file.is_file()]
    if missing:
        raise InputError(
            f"{merged} must hold merged rows of {path}; {missing[0]} is missing.",
            "Leave --resume out to begin the design anew.",
        )
    rows = {table: pq.read_table(file) for table, file in files.items()}
    held = set(rows["study_run"]["study_run_id"].to_pylist())
    planned = runs(design)
    parents = {run.parent.run_id for run in planned if run.parent is not None}
    wanted = [run for run in planned if run.run_id in held - parents and not is_complete(out, run)]
    for run in wanted:
        _restore_run(rows, run, out)
    return len(wanted)


def _restore_run(rows: Mapping[str, pa.Table], run: Run, out: Path) -> None:
    tables = {
        table: rows[table].filter(pc.equal(rows[table]["study_run_id"], run.run_id)).to_pandas()
        for table in TABLES
    }
    write_tables(tables, lambda table: run_file(out, table, run))
