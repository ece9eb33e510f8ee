"""The plan of a run, unit by unit, and the models that it would refuse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from collect.errors import InputError, OutputError
from collect.job.not_measured import lacking
from collect.job.outcome import Outcome, Refusal, noted, raise_if_refused
from collect.job.pending import compared
from collect.job.planning import estimate
from collect.job.planning.planned import Planned
from collect.job.resolve import Job, Judged, Model, judge, resolve, unused_tensors
from collect.job.subject import is_too_large
from collect.job.task import COMPLETE, TO_DO, Task
from collect.model.checkpoint.gguf import facts
from collect.model.checkpoint.load import DTYPES
from collect.record.commit import refuse_within_store
from collect.record.units import quantities_of


def plan(
    models: Sequence[str], prompt_sets: Sequence[str | Path], out: Path | None, **options: Any
) -> list[Planned]:
    """Return what ``run.run`` with the same arguments would do, unit by unit.

    Parameters
    ----------
    models, prompt_sets, **options
        As for `resolve.resolve`.
    out
        Directory to look for complete units in, or None.

    Returns
    -------
    One entry per unit, in the order of the run. Rows are exact, but for a row of ``not_measured``
    for each matrix that holds one number throughout, which only the weights tell; bytes, memory
    and time are estimates (see `estimate`), the time from products of matrices that are timed now.
    """
    plans = drawn(models, prompt_sets, out, **options)
    plans.raise_if_refused()
    return plans.units


@dataclass(frozen=True, slots=True)
class Drawn:
    """A plan: what would be measured, and the models that a run would refuse.

    Attributes
    ----------
    units
        One entry per unit, in the order of the run.
    refusals, n_models
        As `resolve.Job` has them.
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
    """Return a plan that names the models that are refused besides; see `plan`."""
    if out is not None and out.exists() and not out.is_dir():
        raise OutputError(
            f"The output must be a directory; {out} is none.", "Choose another --out."
        )
    if out is not None:
        refuse_within_store(out)
    job = resolve(models, prompt_sets, out, is_planned=True, **options)
    settings = job.settings
    throughput = estimate.calibrate(settings.dtype, settings.device)
    hashed = _hashed(job)
    first: dict[str, str] = {}
    planned: list[Planned] = []
    refusals = [*job.refusals]
    for model in job.models:
        digest = hashed.get(model.checkpoint.directory)
        with noted(model.title, refusals, goes_on=job.goes_on):
            units, refusal = _of_model(model, job, throughput, digest)
            for unit in units:
                same = first.setdefault(unit.run_id, unit.unit) if digest else unit.unit
                is_repeated = same != unit.unit and unit.state == TO_DO
                planned.append(_repeated(unit, same) if is_repeated else unit)
            if refusal is not None:
                raise refusal
    return Drawn(planned, refusals, job.n_models)


def _repeated(unit: Planned, same: str) -> Planned:
    """Return what becomes of a unit whose weights another has: nothing is measured or written."""
    return replace(unit, state=f"as {same}", n_rows={}, not_measured=(), n_bytes=0, duration_s=0.0)


def _hashed(job: Job) -> dict[Path, str]:
    """Return the hash of the weights of each checkpoint that is known before it is measured.

    A listing of the hub tells it. Files of a local directory are read for it when several of its
    checkpoints are asked for, so that weights that are there twice are measured once.
    """
    names = [model.checkpoint.model_id for model in job.models]
    hashed = {}
    for checkpoint in (model.checkpoint for model in job.models):
        digest = checkpoint.listed_weights_sha256()
        if digest is None and checkpoint.weight_files and names.count(checkpoint.model_id) > 1:
            digest = checkpoint.weights_sha256()
        if digest is not None:
            hashed[checkpoint.directory] = digest
    return hashed


def _of_model(
    model: Model, job: Job, throughput: float, digest: str | None
) -> tuple[list[Planned], InputError | None]:
    """Return the units of a model, and why a run refuses it for what the output holds."""
    settings, gguf = job.settings, model.checkpoint.gguf
    judged = judge(model, job, weights_sha256=digest)
    embedding: Any = judged.skeleton.embedding
    slower = 1.0 if gguf is None or gguf.seed is None else estimate.PERTURBED
    costs = _Costs(
        judged,
        unused_tensors(model.checkpoint, judged.skeleton),
        estimate.shape_of(judged.skeleton, int(embedding.weight.shape[0])),
        not job.sets or settings.stream or is_too_large(judged.skeleton, settings),
        throughput,
        model.checkpoint.download_bytes,
        0.0 if gguf is None else facts.n_quantised(gguf) * slower,
    )
    tasks, refusal = judged.tasks, None
    if job.inventory is not None:
        tasks, refusal = compared(tasks, job.inventory, overwrites=settings.overwrite)
    return [_planned(task, costs, job) for task in tasks], refusal


@dataclass(frozen=True, slots=True)
class _Costs:
    """What the plan of a unit depends on besides the unit."""

    judged: Judged
    unused: dict[str, int]
    shape: estimate.Shape
    is_streamed: bool
    throughput: float
    download_bytes: int
    n_dequantised: float


def _planned(task: Task, model: _Costs, job: Job) -> Planned:
    settings, shape, streamed = job.settings, model.shape, model.is_streamed
    is_first = not (
        job.inventory is not None
        and task.state != COMPLETE
        and job.inventory.is_examined(task.unit)
    )
    lengths = [len(prompt) for prompt in task.encoded]
    prompts = 0 if task.prompt_set is None else len(task.prompt_set.prompts)
    asked = quantities_of(task.unit.determinants)
    rows = estimate.n_rows(shape, lengths, asked, n_prompts=prompts, is_first=is_first)
    filled = [table for table, n in rows.items() if n]
    gaps = lacking(
        task,
        model.judged.skeleton,
        settings.quantities,
        filled,
        unused=model.unused,
        is_first=is_first,
    )
    rows |= {"not_measured": len(gaps)} if gaps else {}
    how: dict[str, Any] = {"dtype": settings.dtype, "batch_size": settings.batch_size}
    return Planned(
        unit=task.unit.stem,
        run_id=task.unit.run_id,
        state=task.state,
        execution=("streamed" if streamed else "loaded") if prompts else "shards",
        n_rows=rows,
        n_bytes=estimate.n_bytes(rows, shape.d_model * DTYPES[settings.dtype].itemsize),
        quantities=tuple(asked),
        peak_bytes=estimate.peak_bytes(shape, lengths, streamed=streamed, **how),
        duration_s=estimate.duration_s(
            shape,
            lengths,
            rows,
            asked=asked,
            throughput=model.throughput,
            n_dequantised=model.n_dequantised,
            **how,
        ),
        download_bytes=model.download_bytes,
        not_measured=tuple(gaps),
    )
