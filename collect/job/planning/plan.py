"""The plan of a run, unit by unit, and the models that it would refuse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from collect.errors import InputError, OutputError
from collect.job import estimate
from collect.job.not_measured import lacking
from collect.job.outcome import Outcome, Refusal, noted, raise_if_refused
from collect.job.planning.left import Left, left
from collect.job.planning.planned import Planned
from collect.job.run import Job, Judged, judged, name_of, prepare, under_its_name
from collect.job.settings import Settings
from collect.job.subject import is_too_large
from collect.model.checkpoint.checkpoint import Checkpoint
from collect.model.checkpoint.load import DTYPES
from collect.record.commit import refuse_within_store
from collect.record.inventory import Inventory
from collect.record.units import quantities_of


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
    if out is not None and out.exists() and not out.is_dir():
        raise OutputError(
            f"The output must be a directory; {out} is none.", "Choose another --out."
        )
    if out is not None:
        refuse_within_store(out)
    job = prepare(models, prompt_sets, None, needs_weights=False, **options)
    settings = job.settings
    throughput = estimate.calibrate(settings.dtype, settings.device)
    hashed = _hashed(job)
    inventory = None if out is None else Inventory(out)
    first: dict[str, str] = {}
    planned: list[Planned] = []
    refusals = [*job.refusals]
    for name, found_there in job.checkpoints:
        checkpoint = found_there
        if inventory is not None:
            checkpoint = under_its_name(name, checkpoint, inventory, settings)
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
    lefts, refusal = [Left(whole, "to do") for whole in found.tasks], None
    if inventory is not None:
        lefts, refusal = left(found.tasks, inventory, overwrites=settings.overwrite)
    return [_planned(each, model, settings) for each in lefts], refusal


@dataclass(frozen=True, slots=True)
class _Model:
    """What the plan of a unit depends on besides the unit."""

    judged: Judged
    shape: estimate.Shape
    is_streamed: bool
    throughput: float
    download_bytes: int


def _planned(unit: Left, model: _Model, settings: Settings) -> Planned:
    task, shape, streamed = unit.task, model.shape, model.is_streamed
    lengths = [len(prompt) for prompt in task.encoded]
    prompts = 0 if task.prompt_set is None else len(task.prompt_set.prompts)
    asked = quantities_of(task.unit.determinants)
    rows = estimate.n_rows(shape, lengths, asked, n_prompts=prompts, is_first=unit.is_first)
    filled = [table for table, n in rows.items() if n]
    gaps = lacking(
        task,
        model.judged.skeleton,
        settings.quantities,
        filled,
        unused=model.judged.unused,
        is_first=unit.is_first,
    )
    rows |= {"not_measured": len(gaps)} if gaps else {}
    how: dict[str, Any] = {"dtype": settings.dtype, "batch_size": settings.batch_size}
    return Planned(
        unit=task.unit.stem,
        run_id=task.unit.run_id,
        state=unit.state,
        execution=("streamed" if streamed else "loaded") if prompts else "shards",
        n_rows=rows,
        n_bytes=estimate.n_bytes(rows, shape.d_model * DTYPES[settings.dtype].itemsize),
        quantities=tuple(asked),
        peak_bytes=estimate.peak_bytes(shape, lengths, streamed=streamed, **how),
        duration_s=estimate.duration_s(shape, lengths, rows, throughput=model.throughput, **how),
        download_bytes=model.download_bytes,
        not_measured=tuple(gaps),
    )
