"""What a run would write and need, said before it starts. No weight is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from collect.job import estimate
from collect.job.run import Job, prepare
from collect.job.settings import Settings
from collect.job.subject import is_too_large
from collect.job.task import Task, tasks
from collect.measure import quantities
from collect.model.checkpoint import memory
from collect.model.checkpoint.checkpoint import Checkpoint
from collect.model.checkpoint.decoder import model_row
from collect.model.checkpoint.load import load_skeleton, load_tokenizer
from collect.prompts.tokens import check_fits
from collect.record.units import has_its_files, read_mark, run_file


@dataclass(frozen=True, slots=True)
class Planned:
    """One unit of a run that has not begun.

    Attributes
    ----------
    unit
        Stem of its files.
    state
        ``to do``; ``complete``, if the weights are still those it was measured with; or
        ``measured otherwise``, which a run refuses.
    execution
        ``loaded``, ``streamed`` or ``shards``.
    n_rows
        Rows by table.
    n_bytes
        About the size of its files [bytes].
    peak_bytes
        About the most memory it takes [bytes].
    duration_s
        About how long it takes [s].
    download_bytes
        Weights to be fetched from the hub first, for all units of the model together [bytes].
    """

    unit: str
    state: str
    execution: str
    n_rows: dict[str, int]
    n_bytes: int
    peak_bytes: int
    duration_s: float
    download_bytes: int


def plan(
    models: Sequence[str], prompt_sets: Sequence[str | Path], out: Path | None, **options: Any
) -> list[Planned]:
    """Return what ``run.run`` with the same arguments would do, unit by unit.

    Parameters
    ----------
    models, prompt_sets, **options
        As for `run.prepare`.
    out
        Directory to look for complete units in, or None.

    Returns
    -------
    One entry per unit, in the order of the run. Rows are exact; bytes, memory and time are
    estimates (see `estimate`), the time from products of matrices that are timed now.

    Raises
    ------
    CollectError
        As ``run.run`` does before it measures; faults of the weights are not found out.
    """
    job = prepare(models, prompt_sets, None, needs_weights=False, **options)
    settings = job.settings
    throughput = estimate.calibrate(settings.dtype, settings.device)
    return [
        planned
        for checkpoint in job.checkpoints.values()
        for planned in _of_checkpoint(checkpoint, job, out, throughput)
    ]


def _of_checkpoint(
    checkpoint: Checkpoint, job: Job, out: Path | None, throughput: float
) -> list[Planned]:
    sets, settings = job.sets, job.settings
    skeleton = load_skeleton(checkpoint, dtype=settings.dtype)
    tokenizer = load_tokenizer(checkpoint) if sets else None
    row = model_row(checkpoint, skeleton).iloc[0]
    n_context = None if pd.isna(row["n_context"]) else int(row["n_context"])
    n_vocabulary = int(row["n_vocabulary"])
    shape = estimate.shape_of(skeleton, n_vocabulary)
    streamed = not sets or settings.stream or is_too_large(skeleton, settings)
    planned = []
    for task in tasks(checkpoint, skeleton, sets, tokenizer, settings, weights_sha256=None):
        check_fits(task.encoded, n_context, n_vocabulary)
        state = _state(task, out)
        planned.append(
            _planned(
                task,
                shape,
                state,
                settings,
                streamed=streamed,
                throughput=throughput,
                download_bytes=checkpoint.download_bytes,
            )
        )
    return planned


def _planned(
    task: Task,
    shape: estimate.Shape,
    state: str,
    settings: Settings,
    *,
    streamed: bool,
    throughput: float,
    download_bytes: int,
) -> Planned:
    lengths = [len(prompt) for prompt in task.encoded]
    is_of_prompts = task.prompt_set is not None
    asked = quantities.of_prompts(settings.quantities) if is_of_prompts else ("weights",)
    rows = estimate.n_rows(shape, lengths, asked)
    how: dict[str, Any] = {"dtype": settings.dtype, "batch_size": settings.batch_size}
    return Planned(
        unit=task.unit.stem,
        state=state,
        execution=("streamed" if streamed else "loaded") if is_of_prompts else "shards",
        n_rows=rows,
        n_bytes=estimate.n_bytes(rows),
        peak_bytes=estimate.peak_bytes(shape, lengths, streamed=streamed, **how),
        duration_s=estimate.duration_s(shape, lengths, rows, throughput=throughput, **how),
        download_bytes=download_bytes,
    )


def _state(task: Task, out: Path | None) -> str:
    """Return whether the output holds a unit, its weights not looked at."""
    mark = None if out is None else read_mark(run_file(out, task.unit))
    if out is None or mark is None or not has_its_files(mark, out):
        return "to do"
    unread = ("weights_sha256", "dtype_weights")
    wanted = {k: v for k, v in task.unit.determinants.items() if k not in unread}
    is_same = all(mark.determinants.get(name) == value for name, value in wanted.items())
    return "complete" if is_same else "measured otherwise"


def as_text(units: Sequence[Planned]) -> str:
    """Return a plan for people: a line per unit, then its rows per table."""
    table = pd.DataFrame(
        {
            "unit": [unit.unit for unit in units],
            "state": [unit.state for unit in units],
            "execution": [unit.execution for unit in units],
            "rows": [f"{sum(unit.n_rows.values()):,}" for unit in units],
            "disk": [memory.as_text(unit.n_bytes) for unit in units],
            "memory": [memory.as_text(unit.peak_bytes) for unit in units],
            "time": [_time(unit.duration_s) for unit in units],
        }
    )
    to_do = [unit for unit in units if unit.state != "complete"]
    total_s = estimate.START_S + sum(unit.duration_s for unit in to_do)
    lines = [table.to_string(index=False), "", "rows per table"]
    for unit in units:
        rows = ", ".join(f"{table} {n:,}" for table, n in unit.n_rows.items())
        lines.append(f"  {unit.unit}: {rows}")
    for unit in units:
        # The weights are a unit of their own, the first of each model.
        if unit.download_bytes and "weight_norm" in unit.n_rows:
            lines.append(f"{unit.unit}: {memory.as_text(unit.download_bytes)} to download first")
    return "\n".join(
        [
            *lines,
            "",
            f"To do: {len(to_do)} of {len(units)} units, about {_time(total_s)} and "
            f"{memory.as_text(sum(unit.n_bytes for unit in to_do))} on disk; "
            f"{memory.as_text(memory.of_machine())} of memory are available.",
            "Rows are exact. Disk and memory are estimates, good to a factor of 2. Times rest on "
            "products of matrices timed just now",
            f"and on weights read at {estimate.READ_RATE / 1e9:g} GB/s, which was not measured: "
            "expect a factor of 3 either way.",
        ]
    )


def as_json(units: Sequence[Planned]) -> list[dict[str, Any]]:
    """Return a plan as objects of JSON, in the units of `Planned`."""
    return [asdict(unit) for unit in units]


def _time(seconds: float) -> str:
    for unit, n_units in (("s", 60), ("min", 60)):
        if seconds < n_units:
            return f"{seconds:.2g} {unit}"
        seconds /= n_units
    return f"{seconds:,.2g} h"
