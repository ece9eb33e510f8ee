"""Runs of a study trained again: how far they end from their rows, and how far chance would be."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from collect.errors import InputError
from collect.process.interruption import interruptible
from collect.schema import tables
from collect.training.study.design import read_design
from collect.training.study.plan import runs
from collect.training.study.training import perform

#: Largest difference of a response before training, where nothing has enlarged rounding yet.
AT_THE_START = 1e-3

#: Largest difference at the end, over the standard deviation between seeds: training enlarges the
#: rounding in which processors differ, but a run again must be closer than another seed is.
AT_THE_END = 1.0

_KEY = ["step", "tokens"]


@dataclass(frozen=True, slots=True)
class Again:
    """How far a run trained again is from its rows.

    Attributes
    ----------
    run_id, name
        Which run, and its cell and seed.
    start, end
        Largest difference of a response at the first checkpoint and at the last one; infinite
        where checkpoints differ or a response is no number.
    of_chance
        Largest ratio, at the last checkpoint, of a difference to the standard deviation between
        seeds of that response; infinite where seeds do not differ, NaN where the reference has no
        cell with two seeds.
    """

    run_id: str
    name: str
    start: float
    end: float
    of_chance: float

    @property
    def is_close(self) -> bool:
        """Whether the run is the same but for rounding and what training makes of it."""
        if not self.start <= AT_THE_START:
            return False
        return self.end <= AT_THE_START or self.of_chance <= AT_THE_END

    def __str__(self) -> str:
        """Return both differences beside what they may be at most."""
        return (
            f"{self.run_id} {self.name}: largest difference before training {self.start:.1g} "
            f"(at most {AT_THE_START:g}), at the end {self.end:.2g} (at most {AT_THE_START:g}), or "
            f"{self.of_chance:.2f} standard deviations between seeds (at most {AT_THE_END:g})"
        )


@interruptible()
def check(path: Path, reference: Path, n: int) -> list[Again]:
    """Train the n cheapest first-generation runs again and compare them with their rows."""
    design = read_design(path)
    known = _read("study_response", reference)
    of_known = set(known["study_run_id"])
    held = [run for run in runs(design) if run.parent is None and run.run_id in of_known]
    if len(held) < n:
        raise InputError(
            f"{reference} must hold the rows of at least {n} of the runs of {path} to compare; "
            f"found {len(held)}.",
            "Give the directory its rows were merged into.",
        )
    chosen = sorted(held, key=lambda run: run.seconds)[:n]
    scratch = Path(tempfile.mkdtemp())
    try:
        for run in chosen:
            perform(design, run, scratch, keeps_network=False)
        again = _read("study_response", scratch)
    finally:
        shutil.rmtree(scratch)
    trained = _read("study_run", reference)
    spread = spread_of_seeds(known, trained[trained["study"] == design.head.name])
    return [
        compared(run.run_id, f"{run.cell.name} seed {run.seed}", known, again, spread)
        for run in chosen
    ]


def compared(
    run_id: str, name: str, known: pd.DataFrame, again: pd.DataFrame, spread: pd.DataFrame
) -> Again:
    """Return how far the rows of a run trained again are from its own."""
    of_run = [rows[rows["study_run_id"] == run_id] for rows in (known, again)]
    old, new = (of.drop(columns="study_run_id").set_index(_KEY).sort_index() for of in of_run)
    if not old.index.equals(new.index):
        return Again(run_id, name, np.inf, np.inf, np.nan)
    differences = (new - old).abs().fillna(np.inf)
    steps = differences.index.get_level_values("step")
    at_end = differences[steps == steps.max()]
    spread = spread.reindex(index=at_end.index, columns=at_end.columns)
    ratios = (at_end / spread).mask(at_end == 0, 0.0 * spread)
    return Again(
        run_id,
        name,
        start=float(differences[steps == steps.min()].to_numpy().max()),
        end=float(at_end.to_numpy().max()),
        of_chance=float(ratios.to_numpy().max()),
    )


def spread_of_seeds(responses: pd.DataFrame, trained: pd.DataFrame) -> pd.DataFrame:
    """Return the standard deviation between seeds, pooled over the cells that have several.

    Returns
    -------
    One row per (step, tokens), a column per response; without rows where no cell has two seeds.
    """
    cells = trained[["study_run_id", "study", "cell"]]
    rows = responses.merge(cells, on="study_run_id").drop(columns="study_run_id")
    groups = rows.groupby(["study", "cell", *_KEY])
    df = groups.size() - 1
    squares = groups.var().mul(df, axis=0)[df > 0].groupby(level=_KEY).sum()
    variances: pd.DataFrame = squares.div(df[df > 0].groupby(level=_KEY).sum(), axis=0)
    return variances**0.5


def _read(table: str, directory: Path) -> pd.DataFrame:
    files = sorted((directory / table).glob("*.parquet"))
    if not files:
        names = [column.name for column in tables()[table].columns]
        return pd.DataFrame(columns=names)
    rows: pd.DataFrame = pd.concat([pq.read_table(file).to_pandas() for file in files])
    return rows
