"""What a run would write and need, said before it starts. No weight is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from collect.errors import InputError
from collect.instruments.quantities import about
from collect.job import estimate
from collect.job.not_measured import lacking
from collect.job.outcome import Outcome, Refusal, noted, raise_if_refused
from collect.job.run import Job, Judged, judged, name_of, prepare
from collect.job.settings import Settings
from collect.job.subject import is_too_large
from collect.job.task import Task
from collect.model.checkpoint import memory
from collect.model.checkpoint.checkpoint import Checkpoint
from collect.model.checkpoint.description import Missing
from collect.model.checkpoint.load import DTYPES
from collect.record.inventory import Inventory, Placed, refuse_mixtures
from collect.record.units import Unit, quantities_of
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
        ``to do``, also where it replaces what is there; ``complete``, if the weights are still
        those it was measured with; ``as`` and a unit before it that has the same content,
        measured once; or ``measured otherwise``, where the output holds something that
        contradicts it, or another unit of the model, so that a run refuses the model.
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
    not_measured
        What the model or the prompts cannot give of what was asked for, and why; the rows of
        ``not_measured`` but for matrices that hold one number throughout.
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
    not_measured: tuple[Missing, ...] = ()


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
    One entry per unit, in the order of the run. Rows are exact, but for a row of ``not_measured``
    for each matrix that holds one number throughout, which only the weights tell; bytes, memory
    and time are estimates (see `estimate`), the time from products of matrices that are timed now.

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
    inventory = None if out is None else Inventory(out)
    first: dict[str, str] = {}
    planned: list[Planned] = []
    refusals = [*job.refusals]
    for _, checkpoint in job.checkpoints:
        digest = hashed.get(checkpoint.directory)
        with noted(name_of(checkpoint), refusals, goes_on=job.goes_on):
            units, refusal = _of_checkpoint(checkpoint, job, inventory, throughput, digest)
            for found in units:
                same = first.setdefault(found.run_id, found.unit) if digest else found.unit
                is_repeated = same != found.unit and found.state == "to do"
                planned.append(_repeated(found, same) if is_repeated else found)
            if refusal is not None:
                raise refusal
    return Drawn(planned, refusals, job.n_models)


def _repeated(found: Planned, same: str) -> Planned:
    """Return what becomes of a unit whose weights another has: nothing is measured or written."""
    return replace(found, state=f"as {same}", n_rows={}, not_measured=(), n_bytes=0, duration_s=0.0)


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
    checkpoint: Checkpoint,
    job: Job,
    inventory: Inventory | None,
    throughput: float,
    digest: str | None,
) -> tuple[list[Planned], InputError | None]:
    """Return the units of a model, and why a run refuses it for what the output holds."""
    settings = job.settings
    found = judged(checkpoint, job, weights_sha256=digest)
    embedding: Any = found.skeleton.embedding
    model = _Model(
        found,
        estimate.shape_of(found.skeleton, int(embedding.weight.shape[0])),
        not job.sets or settings.stream or is_too_large(found.skeleton, settings),
        throughput,
        checkpoint.download_bytes,
    )
    lefts, refusal = [_Left(whole, "to do") for whole in found.tasks], None
    if inventory is not None:
        lefts, refusal = _left(found.tasks, inventory, overwrites=settings.overwrite)
    return [_planned(left, model, settings) for left in lefts], refusal


@dataclass(frozen=True, slots=True)
class _Model:
    """What the plan of a unit depends on besides the unit."""

    judged: Judged
    shape: estimate.Shape
    is_streamed: bool
    throughput: float
    download_bytes: int


@dataclass(frozen=True, slots=True)
class _Left:
    """What is left of a unit, its state, and whether it tells of the model itself."""

    task: Task
    state: str
    is_first: bool = True


def _planned(left: _Left, model: _Model, settings: Settings) -> Planned:
    task, shape, streamed = left.task, model.shape, model.is_streamed
    lengths = [len(prompt) for prompt in task.encoded]
    prompts = 0 if task.prompt_set is None else len(task.prompt_set.prompts)
    asked = quantities_of(task.unit.determinants)
    rows = estimate.n_rows(shape, lengths, asked, n_prompts=prompts, is_first=left.is_first)
    filled = [table for table, n in rows.items() if n]
    gaps = lacking(
        task,
        model.judged.skeleton,
        settings.quantities,
        filled,
        unused=model.judged.unused,
        is_first=left.is_first,
    )
    rows |= {"not_measured": len(gaps)} if gaps else {}
    how: dict[str, Any] = {"dtype": settings.dtype, "batch_size": settings.batch_size}
    return Planned(
        unit=task.unit.stem,
        run_id=task.unit.run_id,
        state=left.state,
        execution=("streamed" if streamed else "loaded") if prompts else "shards",
        n_rows=rows,
        n_bytes=estimate.n_bytes(rows, shape.d_model * DTYPES[settings.dtype].itemsize),
        quantities=tuple(asked),
        peak_bytes=estimate.peak_bytes(shape, lengths, streamed=streamed, **how),
        duration_s=estimate.duration_s(shape, lengths, rows, throughput=model.throughput, **how),
        download_bytes=model.download_bytes,
        not_measured=tuple(gaps),
    )


def _left(
    tasks: Sequence[Task], inventory: Inventory, *, overwrites: bool
) -> tuple[list[_Left], InputError | None]:
    """Return what is to be measured of a model, and the refusal of a run where it refuses."""
    lefts: list[_Left] = []
    placed_units: list[Placed] = []
    refusal: InputError | None = None
    for task in tasks:
        unit = _with_known_weights(task.unit, inventory)
        try:
            placed = inventory.instead(unit) if overwrites else inventory.missing(unit)
        except InputError as error:
            refusal = refusal or error
            lefts.append(_Left(task, "to do"))
            continue
        if placed is None:
            lefts.append(_Left(task, "complete"))
            continue
        placed_units.append(placed)
        is_first = not inventory.is_examined(placed.unit, placed.replaced)
        lefts.append(_Left(replace(task, unit=placed.unit), "to do", is_first))
    refusal = refusal or _mixture(placed_units, inventory)
    if refusal is None:
        return lefts, None
    return [
        replace(left, state="measured otherwise") if left.state == "to do" else left
        for left in lefts
    ], refusal


def _mixture(placed_units: Sequence[Placed], inventory: Inventory) -> InputError | None:
    """Return why units may not stand beside what the output holds; None where they may."""
    gone = [path for placed in placed_units for path in placed.replaced]
    try:
        refuse_mixtures([placed.unit for placed in placed_units], inventory, gone)
    except InputError as error:
        return error
    return None


def _with_known_weights(unit: Unit, inventory: Inventory) -> Unit:
    """Return a unit with the hash of its weights.

    Where it is not known, that of a unit of the same revision that is there is taken for it: an
    output holds one for each.
    """
    if unit.determinants["weights_sha256"] is not None:
        return unit
    of_revision = ("model_id", "revision_name")
    for entry in inventory.entries():
        known = entry.mark.determinants
        if all(known.get(name) == unit.determinants[name] for name in of_revision):
            found = {"weights_sha256": known.get("weights_sha256")}
            return replace(unit, determinants={**unit.determinants, **found})
    return unit


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
    gaps = list(dict.fromkeys(_said_of_gaps(units)))
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
            f"{memory.as_text(memory.of_machine())} of memory are available.",
            "Rows are exact, but for matrices that hold one number throughout, which not_measured "
            "names after a run. Disk and",
            "memory are estimates, good to a factor of 2. Times rest on products of matrices "
            "timed just now",
            f"and on weights read at {estimate.READ_RATE / 1e9:g} GB/s, which was not measured: "
            "expect a factor of 3 either way.",
        ]
    )


def _said_of_gaps(units: Sequence[Planned]) -> Iterator[str]:
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


def as_json(units: Sequence[Planned]) -> list[dict[str, Any]]:
    """Return a plan as objects of JSON, in the units of `Planned`."""
    return [asdict(unit) for unit in units]


def _time(seconds: float) -> str:
    for unit, n_units in (("s", 60), ("min", 60)):
        if seconds < n_units:
            return f"{seconds:.2g} {unit}"
        seconds /= n_units
    return f"{seconds:,.2g} h"
