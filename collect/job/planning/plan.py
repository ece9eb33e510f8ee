"""The plan of a run, unit by unit, and the models that it would refuse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from collect.errors import InputError, OutputError
from collect.instruments.quantities import about
from collect.job.not_measured import lacking
from collect.job.outcome import Outcome, RefusedError
from collect.job.planning import estimate
from collect.job.resolve import Job, resolve
from collect.job.subject import Subject, runs_streamed
from collect.job.task import Task, tasks
from collect.model.checkpoint import memory
from collect.model.checkpoint.gguf import facts
from collect.model.checkpoint.load import DTYPES
from collect.model.description import Missing
from collect.process.interruption import interruptible
from collect.process.memory import available_memory
from collect.record import queue
from collect.record.inventory import Complete, Inventory
from collect.record.queue import Queued
from collect.record.units import Unit
from collect.schema.counting import counted

#: States of a unit: pending, there already, and there as measured in another way.
TO_DO, COMPLETE, OTHERWISE = "to do", "complete", "measured otherwise"


@dataclass(frozen=True, slots=True)
class Planned:
    """One unit of a run that has not begun.

    Attributes
    ----------
    model
        Its model, with its revision where it has one.
    unit
        Stem of its files.
    run_id
        Identity of its run; of no meaning where the hash of the weights is not known yet.
    state
        ``to do``, also where it replaces what is there; ``complete``, if the weights are still
        those it was measured with; ``as`` and a unit before it that has the same content,
        measured once; or ``measured otherwise``, where the output holds something that
        contradicts it, or another unit of the model, so that a run refuses the model.
    execution
        ``loaded``, ``streamed`` or ``shards``.
    n_rows
        Rows by table.
    n_bytes, peak_bytes
        About the size of its files, and about the most memory it takes [bytes].
    duration_s
        About how long it takes [s].
    download_bytes
        Weights to be fetched from the hub first, for all units of the model together [bytes].
    quantities
        What is measured.
    not_measured
        What the model or the prompts cannot give of what was asked for, and why; the rows of
        ``not_measured`` but for matrices that hold one number throughout.
    """

    model: str
    unit: str
    run_id: str
    state: str
    execution: str
    n_rows: dict[str, int]
    n_bytes: int
    peak_bytes: int
    duration_s: float
    download_bytes: int
    quantities: tuple[str, ...] = ()
    not_measured: tuple[Missing, ...] = ()


@interruptible()
def plan(
    models: Sequence[str], prompt_sets: Sequence[str | Path], out: Path | None, **options: Any
) -> list[Planned]:
    """Return what ``run.run`` with the same arguments would do, unit by unit, in its order.

    Rows are exact, but for a row of ``not_measured`` for each matrix that holds one number
    throughout, which only the weights tell; bytes, memory and time are estimates (see `estimate`),
    the time from products of matrices that are timed now.
    """
    units, refusal = drawn(models, prompt_sets, out, **options)
    if refusal is not None:
        raise refusal
    return units


@interruptible()
def drawn(
    models: Sequence[str], prompt_sets: Sequence[str | Path], out: Path | None, **options: Any
) -> tuple[list[Planned], RefusedError | None]:
    """Return a plan, and the refusal that a run would end with; see `plan`."""
    if out is not None and out.exists() and not out.is_dir():
        raise OutputError(
            f"The output must be a directory; {out} is not one.", "Choose another --out."
        )
    inventory = None if out is None else Inventory(out)
    job = resolve(models, prompt_sets, out, is_planned=True, **options)
    throughput = estimate.calibrate(job.settings.dtype, job.settings.device)
    hashed = _hash(job)
    first: dict[str, str] = {}
    planned: list[Planned] = []
    refusals = [*job.refusals]
    for subject in job.subjects:
        digest = hashed.get(subject.checkpoint.directory)
        with job.noted(subject.title, refusals):
            units, refusal = units_of(subject, inventory, throughput, digest)
            for unit in units:
                same = first.setdefault(unit.run_id, unit.unit) if digest else unit.unit
                is_repeated = same != unit.unit and unit.state == TO_DO
                planned.append(_repeated(unit, same) if is_repeated else unit)
            if refusal is not None:
                raise refusal
        subject.release()
    outcome = Outcome(refusals=refusals)
    return planned, RefusedError(outcome, job.n_models) if refusals else None


def enqueue(out: Path, units: Sequence[Planned], refusal: RefusedError | None) -> None:
    """Write a plan into the output, for `status`: what is to do, and what a run would refuse."""
    queue.enqueue(out, units_to_do(units))
    for refused in () if refusal is None else refusal.outcome.refusals:
        queue.note_refused(out, refused.model, refused.problem)


def units_to_do(units: Sequence[Planned]) -> dict[str, list[Queued]]:
    """Return what is to do of each model, by its name with its revision."""
    to_do: dict[str, list[Queued]] = {unit.model: [] for unit in units}
    for unit in units:
        if unit.state == TO_DO:
            to_do[unit.model].append(Queued(unit.unit, unit.duration_s, unit.peak_bytes))
    return to_do


def _repeated(unit: Planned, same: str) -> Planned:
    """Return what becomes of a unit whose weights another has: nothing is measured or written."""
    return replace(unit, state=f"as {same}", n_rows={}, not_measured=(), n_bytes=0, duration_s=0.0)


def _hash(job: Job) -> dict[Path, str]:
    """Return the hash of the weights of each checkpoint that is known before it is measured.

    A listing of the hub tells it. Files of a local directory are read for it when several of its
    checkpoints are asked for, so that weights that are there twice are measured once.
    """
    names = [subject.checkpoint.model_id for subject in job.subjects]
    hashed = {}
    for checkpoint in (subject.checkpoint for subject in job.subjects):
        digest = checkpoint.listed_weights_sha256()
        if digest is None and checkpoint.weight_files and names.count(checkpoint.model_id) > 1:
            digest = checkpoint.weights_sha256()
        if digest is not None:
            hashed[checkpoint.directory] = digest
    return hashed


def units_of(
    subject: Subject,
    inventory: Inventory | None,
    throughput: float,
    digest: str | None,
    available_bytes: int | None = None,
) -> tuple[list[Planned], InputError | None]:
    """Return the units of a model, and why a run refuses it for what the output holds.

    Parameters
    ----------
    subject
        The model.
    inventory
        What the output holds; None where nothing is written.
    throughput
        What `estimate.calibrate` returned [1/s].
    digest
        Hash of the weights; None where it is left open.
    available_bytes
        Memory of the machine that is to measure it; None for what this one has to give.
    """
    asked, refusal = tasks(subject, digest), None
    units: Sequence[Unit | Complete | InputError] = [task.unit for task in asked]
    if inventory is not None:
        overwrites = subject.settings.overwrite
        units, refusal = inventory.compared([task.unit for task in asked], overwrites=overwrites)
    unused, shape = subject.unused_beforehand(), estimate.shape_of(subject.bare)
    streamed = not subject.sets or runs_streamed(subject.bare, subject.settings, available_bytes)
    planned = []
    for task, unit in zip(asked, units, strict=True):
        state = TO_DO if refusal is None else OTHERWISE
        is_later = False
        if isinstance(unit, Complete):
            state = COMPLETE
        elif inventory is not None:
            is_later = inventory.is_examined(task.unit if isinstance(unit, InputError) else unit)
        part = replace(task, unit=unit) if isinstance(unit, Unit) else task
        known = _plan(
            part, subject, shape, unused, throughput, streamed=streamed, is_first=not is_later
        )
        planned.append(replace(known, state=state))
    return planned, refusal


def _plan(
    task: Task,
    subject: Subject,
    shape: estimate.Shape,
    unused: dict[str, int],
    throughput: float,
    *,
    streamed: bool,
    is_first: bool,
) -> Planned:
    settings, gguf = subject.settings, subject.checkpoint.gguf
    slower = 1.0 if gguf is None or gguf.seed is None else estimate.PERTURBED
    lengths = [len(prompt) for prompt in task.encoded]
    prompts = 0 if task.prompt_set is None else len(task.prompt_set.prompts)
    asked = task.unit.quantities
    rows = estimate.n_rows(shape, lengths, asked, n_prompts=prompts, is_first=is_first)
    filled = [table for table, n in rows.items() if n]
    gaps = lacking(
        task, subject.bare, settings.quantities, filled, unused=unused, is_first=is_first
    )
    rows |= {"not_measured": len(gaps)} if gaps else {}
    how: dict[str, Any] = {"dtype": settings.dtype, "batch_size": settings.batch_size}
    return Planned(
        model=subject.title,
        unit=task.unit.stem,
        run_id=task.unit.run_id,
        state=TO_DO,
        execution=("streamed" if streamed else "loaded") if prompts else "shards",
        n_rows=rows,
        n_bytes=estimate.n_bytes(rows, shape.d_model * DTYPES[settings.dtype].itemsize),
        quantities=asked,
        peak_bytes=estimate.peak_bytes(
            shape, lengths, streamed=streamed, is_quantised=gguf is not None, **how
        ),
        duration_s=estimate.duration_s(
            shape,
            lengths,
            rows,
            asked=asked,
            throughput=throughput,
            n_dequantised=0.0 if gguf is None else facts.n_quantised(gguf) * slower,
            **how,
        ),
        download_bytes=subject.checkpoint.download_bytes,
        not_measured=tuple(gaps),
    )


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
    to_do = [unit for unit in units if unit.state == "to do"]
    total_s = estimate.START_S + sum(unit.duration_s for unit in to_do)
    lines = [table.to_string(index=False), "", "rows per table"]
    for unit in (unit for unit in units if unit.n_rows):
        rows = ", ".join(f"{table} {n:,}" for table, n in unit.n_rows.items())
        lines.append(f"  {unit.unit}: {rows}")
    lines += ["", "quantities"]
    for name in dict.fromkeys(name for unit in units for name in unit.quantities):
        lines.append(f"  {name}: {about(name)}")
    gaps = list(dict.fromkeys(_lines_of_gaps(units)))
    lines += ["", "not measured", *gaps] if gaps else []
    first_of = {unit.unit.partition("@")[0].partition("+")[0]: unit for unit in reversed(units)}
    for unit in units:
        if unit.download_bytes and unit in first_of.values() and unit.state == "to do":
            lines.append(f"{unit.unit}: {memory.as_text(unit.download_bytes)} to download first")
    return "\n".join(
        [
            *lines,
            "",
            f"To do: {len(to_do)} of {counted(len(units), 'unit')}, about {_time(total_s)} and "
            f"{memory.as_text(sum(unit.n_bytes for unit in to_do))} on disk; "
            f"{memory.as_text(available_memory())} of memory are available.",
            "Rows are exact, but for matrices that hold one number throughout, which not_measured "
            "names after a run. Disk and",
            "memory are estimates, good to a factor of 2. Times rest on products of matrices "
            "timed just now",
            f"and on weights read at {estimate.READ_RATE / 1e9:g} GB/s, which was not measured: "
            "expect a factor of 3 either way on a machine that has nothing else to do.",
        ]
    )


def _lines_of_gaps(units: Sequence[Planned]) -> Iterator[str]:
    """Yield a line for each model and reason: what is not measured of it."""
    for unit in units:
        name = unit.unit.partition("@")[0]
        by_reason: dict[str, list[str]] = {}
        for gap in unit.not_measured:
            if gap.table != "prompt":
                by_reason.setdefault(gap.reason, []).append(f"{gap.table} {gap.quantity}")
        for reason, lacks in by_reason.items():
            yield f"  {name}: {', '.join(lacks)}: {reason}"
        long = [gap.quantity for gap in unit.not_measured if gap.table == "prompt"]
        if long:
            yield f"  {unit.unit}: {counted(len(long), 'prompt')} too long, {long[0]} the first"


def _time(seconds: float) -> str:
    for unit, n_units in (("s", 60), ("min", 60)):
        if seconds < n_units:
            return f"{seconds:.2g} {unit}"
        seconds /= n_units
    return f"{seconds:,.2g} h"
