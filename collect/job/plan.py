"""What a run would write and need, said before it starts. No weight is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from collect.errors import InputError
from collect.instruments.quantities import about
from collect.job import estimate
from collect.job.outcome import Outcome, Refusal, noted, raise_if_refused
from collect.job.run import Job, judged, name_of, prepare
from collect.job.settings import Settings
from collect.job.subject import is_too_large
from collect.job.task import Task
from collect.model.checkpoint import memory
from collect.model.checkpoint.checkpoint import Checkpoint
from collect.model.checkpoint.load import DTYPES
from collect.record.inventory import Inventory
from collect.record.units import quantities_of
from collect.schema.counting import counted


@dataclass(frozen=True, slots=True)
class Planned:
    """One unit of a run that has not begun.

    Attributes
    ----------
    unit
        Stem of its files.
    run_id
        Identity of its run; of no meaning where the hash of the weights is not known yet.
    state
        ``to do``; ``complete``, if the weights are still those it was measured with; ``as`` and
        a unit before it that has the same content, measured once; or ``measured otherwise``,
        which a run refuses.
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
    quantities
        What is measured.
    """

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
        As ``run.run`` does before it measures; of the weights only names and shapes are judged,
        from headers, or, of files that are still on the hub, from the index where there is one.
    """
    found = drawn(models, prompt_sets, out, **options)
    found.raise_if_refused()
    return found.units


@dataclass(frozen=True, slots=True)
class Drawn:
    """A plan: what would be measured, and the models that a run would refuse.

    Attributes
    ----------
    units
        One entry per unit, in the order of the run.
    refusals, n_models
        As `run.Job` has them.
    """

    units: list[Planned]
    refusals: list[Refusal]
    n_models: int

    def raise_if_refused(self) -> None:
        """Raise RefusedError if a model is refused."""
        raise_if_refused(Outcome(refusals=self.refusals), self.n_models)


def drawn(
    models: Sequence[str], prompt_sets: Sequence[str | Path], out: Path | None, **options: Any
) -> Drawn:
    """Return a plan that names the models that are refused besides; see `plan`.

    Raises
    ------
    CollectError
        If nothing can be planned at all.
    """
    job = prepare(models, prompt_sets, None, needs_weights=False, **options)
    settings = job.settings
    throughput = estimate.calibrate(settings.dtype, settings.device)
    hashed = _hashed(job)
    first: dict[str, str] = {}
    planned: list[Planned] = []
    refusals = [*job.refusals]
    for _, checkpoint in job.checkpoints:
        digest = hashed.get(checkpoint.directory)
        with noted(name_of(checkpoint), refusals, goes_on=job.goes_on):
            for found in _of_checkpoint(checkpoint, job, out, throughput, digest):
                same = first.setdefault(found.run_id, found.unit) if digest else found.unit
                is_repeated = same != found.unit and found.state == "to do"
                planned.append(_repeated(found, same) if is_repeated else found)
    return Drawn(planned, refusals, job.n_models)


def _repeated(found: Planned, same: str) -> Planned:
    """Return what becomes of a unit whose weights another has: nothing is measured or written."""
    return replace(found, state=f"as {same}", n_rows={}, n_bytes=0, duration_s=0.0)


def _hashed(job: Job) -> dict[Path, str]:
    """Return the hash of the weights of each checkpoint that is known before it is measured.

    A listing of the hub tells it. Files of a local directory are read for it when several of its
    checkpoints are asked for, so that weights that are there twice are measured once.
    """
    names = [checkpoint.model_id for _, checkpoint in job.checkpoints]
    found = {}
    for _, checkpoint in job.checkpoints:
        digest = checkpoint.listed_weights_sha256()
        if digest is None and checkpoint.weight_files and names.count(checkpoint.model_id) > 1:
            digest = checkpoint.weights_sha256()
        if digest is not None:
            found[checkpoint.directory] = digest
    return found


def _of_checkpoint(
    checkpoint: Checkpoint, job: Job, out: Path | None, throughput: float, digest: str | None
) -> list[Planned]:
    settings = job.settings
    skeleton, asked = judged(checkpoint, job, weights_sha256=digest)
    embedding: Any = skeleton.embedding
    shape = estimate.shape_of(skeleton, int(embedding.weight.shape[0]))
    streamed = not job.sets or settings.stream or is_too_large(skeleton, settings)
    planned = []
    for whole in asked:
        task, state = _left(whole, out)
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
    asked = quantities_of(task.unit.determinants)
    rows = estimate.n_rows(shape, lengths, asked)
    how: dict[str, Any] = {"dtype": settings.dtype, "batch_size": settings.batch_size}
    return Planned(
        unit=task.unit.stem,
        run_id=task.unit.run_id,
        state=state,
        execution=("streamed" if streamed else "loaded") if is_of_prompts else "shards",
        n_rows=rows,
        n_bytes=estimate.n_bytes(rows, shape.d_model * DTYPES[settings.dtype].itemsize),
        quantities=tuple(asked),
        peak_bytes=estimate.peak_bytes(shape, lengths, streamed=streamed, **how),
        duration_s=estimate.duration_s(shape, lengths, rows, throughput=throughput, **how),
        download_bytes=download_bytes,
    )


def _left(task: Task, out: Path | None) -> tuple[Task, str]:
    """Return what the output lacks of a unit, and in which state it is.

    Where the hash of the weights is not known, that of the unit that is there is taken for it.
    """
    if out is None:
        return task, "to do"
    unit, inventory = task.unit, Inventory(out)
    mark = inventory.mark(unit)
    if unit.determinants["weights_sha256"] is None and mark is not None:
        known = {"weights_sha256": mark.determinants.get("weights_sha256")}
        unit = replace(unit, determinants={**unit.determinants, **known})
        unit = replace(unit, labels=mark.labels)
    try:
        placed = inventory.missing(unit)
    except InputError:
        return task, "measured otherwise"
    if placed is None:
        return task, "complete"
    return replace(task, unit=placed.unit), "to do"


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
    to_do = [unit for unit in units if unit.state in ("to do", "measured otherwise")]
    total_s = estimate.START_S + sum(unit.duration_s for unit in to_do)
    lines = [table.to_string(index=False), "", "rows per table"]
    for unit in (unit for unit in units if unit.n_rows):
        rows = ", ".join(f"{table} {n:,}" for table, n in unit.n_rows.items())
        lines.append(f"  {unit.unit}: {rows}")
    lines += ["", "quantities"]
    for name in dict.fromkeys(name for unit in units for name in unit.quantities):
        lines.append(f"  {name}: {about(name)}")
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
