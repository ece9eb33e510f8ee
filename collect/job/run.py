"""The loop: measure each unit, write it, resume where an earlier run stopped."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from collect.errors import InputError
from collect.job.measurement import measure, provenance_of, run_row
from collect.job.settings import Settings
from collect.job.subject import Subject
from collect.job.task import Task, check_chosen, tasks
from collect.model.checkpoint import hub, revisions
from collect.model.checkpoint.checkpoint import Checkpoint, Labels, locate
from collect.model.checkpoint.load import load_skeleton, load_tokenizer
from collect.model.checkpoint.memory import as_text
from collect.prompts.sets import PromptSet
from collect.prompts.sets import load as load_prompts
from collect.record import locks
from collect.record.commit import check_writable, commit, remove_leftovers
from collect.record.inventory import Inventory, refuse_mixtures
from collect.record.revision import write_revision
from collect.record.writer import file_stem


@dataclass(frozen=True, slots=True)
class Job:
    """What a command asks for, found and checked: revisions of models, prompt sets, settings.

    Attributes
    ----------
    checkpoints
        One entry per model and revision: the model as named, and its checkpoint, whose weights
        are not fetched yet where they are on the hub.
    sets, settings, labels
        As given.
    """

    checkpoints: tuple[tuple[str, Checkpoint], ...]
    sets: tuple[PromptSet, ...]
    settings: Settings
    labels: Labels


def run(
    models: Sequence[str], prompt_sets: Sequence[str | Path], out: Path, **options: Any
) -> None:
    """Measure every model, and every model on every prompt set, into Parquet files.

    A unit is the weights of a model, or a model on a prompt set; the quantities chosen say
    which tables it fills (`quantities.TABLES`). Each unit ends with its row in ``run``. What
    the output already holds, measured in the same way, is skipped, quantity by quantity, so a
    run that was killed is resumed by starting it again. A unit that another process is measuring
    is left for later, and waited for at the end. Weights on the hub are fetched when a unit needs
    them, and only then.

    Parameters
    ----------
    models, prompt_sets, **options
        As for `prepare`.
    out
        Directory for ``<table>/<unit>.parquet``.

    Raises
    ------
    CollectError
        If anything given is wrong, unreachable or not writable, or a model does not
        conform. Units finished before remain; nothing half-written does.
    """
    job = prepare(models, prompt_sets, out, **options)
    remove_leftovers(out)
    inventory = Inventory(out)
    for name, checkpoint in job.checkpoints:
        _run_checkpoint(name, checkpoint, job, inventory)


def prepare(
    models: Sequence[str],
    prompt_sets: Sequence[str | Path],
    out: Path | None,
    *,
    revision: str | Sequence[str] | None = None,
    lab: str | None = None,
    suite: str | None = None,
    year: int | None = None,
    needs_weights: bool = True,
    **how: Any,
) -> Job:
    """Return what a command asks for, after checking all that can be checked without weights.

    Parameters
    ----------
    models
        Checkpoint directories or hub identifiers.
    prompt_sets
        Names of shipped sets, or paths of text files.
    out
        Directory that must be writable; None when nothing is written.
    revision
        Branches, tags or commits, or names of checkpoints in a local directory; patterns such as
        ``step*`` stand for all that match. All are resolved before anything runs.
    lab, suite, year
        Labels of the models; they win over what the checkpoints say.
    needs_weights
        False to leave models of the hub unjudged but for their listings.
    **how
        Attributes of `Settings`; quantities named as `quantities.chosen` has it.

    Raises
    ------
    CollectError
        If anything given is wrong, unreachable or not writable.
    """
    settings = Settings.given(how)
    check_chosen(settings, len(prompt_sets))
    if out is not None:
        check_writable(out)
    sets = tuple(load_prompts(name) for name in prompt_sets)
    labels = Labels(lab, suite, year)
    hub.silence(quiet=settings.quiet)
    named = [revision] if isinstance(revision, str) else list(revision or [])
    checkpoints = [
        (model, locate(model, revision=name, labels=labels, needs_weights=False))
        for model in models
        for name in revisions.asked_for(model, named)
    ]
    for prompt_set in [None, *(prompt_set.name for prompt_set in sets)]:
        for _, checkpoint in checkpoints:
            # refuses what can be no file's name
            file_stem(checkpoint.model_id, prompt_set, checkpoint.revision_name)
    _refuse_repeats([_name_of(checkpoint) for _, checkpoint in checkpoints], "model")
    _refuse_repeats([prompt_set.name for prompt_set in sets], "prompt set")
    if needs_weights:
        _judge([checkpoint for _, checkpoint in checkpoints], sets, settings)
    return Job(tuple(checkpoints), sets, settings, labels)


def _name_of(checkpoint: Checkpoint) -> str:
    at = "" if checkpoint.revision_name is None else f" at {checkpoint.revision_name}"
    return f"{checkpoint.model_id}{at}"


def _judge(
    checkpoints: Sequence[Checkpoint], sets: Sequence[PromptSet], settings: Settings
) -> None:
    """Refuse models of the hub that cannot be measured, before the weights of any are fetched."""
    of_hub = [checkpoint for checkpoint in checkpoints if not checkpoint.weight_files]
    for checkpoint in of_hub:
        load_skeleton(checkpoint, dtype=settings.dtype)
        if sets:
            load_tokenizer(checkpoint)
    for checkpoint in of_hub:
        if checkpoint.download_bytes:
            settings.say(
                f"{_name_of(checkpoint)}: {as_text(checkpoint.download_bytes)} to download"
            )


def _refuse_repeats(names: Sequence[str], kind: str) -> None:
    """Refuse a model or prompt set that is named twice, since its files would be the same."""
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(
            f"Every {kind} must be named once; {', '.join(repeated)} comes up more than once.",
            "Local checkpoints are named local/<directory>; a model_id in thermoscope.json "
            "beside the weights gives another name."
            if kind == "model"
            else "Leave the repetition out.",
        )


def _run_checkpoint(name: str, checkpoint: Checkpoint, job: Job, inventory: Inventory) -> None:
    sets, settings = job.sets, job.settings
    checkpoint = _under_its_name(name, checkpoint, inventory, settings)
    skeleton = load_skeleton(checkpoint, dtype=settings.dtype, device=settings.main_device)
    tokenizer = load_tokenizer(checkpoint) if sets else None
    digest = checkpoint.listed_weights_sha256()
    if digest is None:
        checkpoint = _with_weights(name, checkpoint, job)
        digest = checkpoint.weights_sha256()
    found = tasks(checkpoint, skeleton, sets, tokenizer, settings, weights_sha256=digest)
    pending = [placed for task in found for placed in _to_do(task, inventory, settings)]
    gone = [path for placed in pending for path in placed.replaced]
    refuse_mixtures([placed.task.unit for placed in pending], inventory, gone)
    write_revision(
        found[0].unit,
        inventory.out,
        training_step=checkpoint.training_step,
        training_tokens=checkpoint.training_tokens,
    )
    if not pending:
        return
    if not checkpoint.weight_files:
        checkpoint = _with_weights(name, checkpoint, job)
        checkpoint.weights_sha256()  # refuses content that is not what the hub lists
        pending = [_stored_as(placed, checkpoint.dtype_weights) for placed in pending]
    subject = Subject(
        name,
        checkpoint,
        skeleton,
        tokenizer,
        settings,
        is_only_examined=all(placed.task.prompt_set is None for placed in pending),
    )
    busy = [placed for placed in pending if not _measure(placed, subject, inventory, gone)]
    for placed in busy:
        settings.say(f"{placed.task.unit.title}: waiting for the process that measures it")
        _measure(placed, subject, inventory, gone, wait=True)


def _under_its_name(
    name: str, checkpoint: Checkpoint, inventory: Inventory, settings: Settings
) -> Checkpoint:
    """Return a checkpoint under the name that the output knows its repository by.

    A repository that the hub has renamed since its first units were measured keeps its name
    there, so that one output has one model.
    """
    if checkpoint.model_id == name or checkpoint.revision is None or Path(name).is_dir():
        return checkpoint
    known = {entry.mark.determinants["model_id"] for entry in inventory.entries()}
    kept = name if name in known and checkpoint.model_id not in known else checkpoint.model_id
    settings.say(f"{name}: the hub calls it {checkpoint.model_id} now; measured as {kept}")
    return replace(checkpoint, model_id=kept)


def _with_weights(name: str, checkpoint: Checkpoint, job: Job) -> Checkpoint:
    """Return a checkpoint with its weights, fetched at its very commit if need be."""
    if checkpoint.weight_files:
        return checkpoint
    fetched = locate(name, revision=checkpoint.revision, labels=job.labels)
    return replace(
        checkpoint, weight_files=fetched.weight_files, dtype_weights=fetched.dtype_weights
    )


@dataclass(frozen=True, slots=True)
class _Pending:
    """A task, of it what is left to measure, and the run files that its unit replaces."""

    task: Task
    replaced: tuple[Path, ...]


def _stored_as(pending: _Pending, dtype_weights: str) -> _Pending:
    """Return a task whose unit says in which format the weights are found to be stored."""
    unit = pending.task.unit
    known = replace(unit, determinants={**unit.determinants, "dtype_weights": dtype_weights})
    return _Pending(replace(pending.task, unit=known), pending.replaced)


def _to_do(task: Task, inventory: Inventory, settings: Settings) -> list[_Pending]:
    """Return what is left of a task; nothing if it is complete, which is said."""
    placed = inventory.instead(task.unit) if settings.overwrite else inventory.missing(task.unit)
    if placed is None:
        settings.say(f"{task.unit.title}: already complete, skipped")
        return []
    return [_Pending(replace(task, unit=placed.unit), placed.replaced)]


def _measure(
    pending: _Pending,
    subject: Subject,
    inventory: Inventory,
    gone: Sequence[Path],
    *,
    wait: bool = False,
) -> bool:
    """Measure one unit unless another process does; return whether it is done."""
    settings, out = subject.settings, inventory.out
    with locks.held(out, pending.task.unit.variant, wait=wait) as is_held:
        if not is_held:
            settings.say(f"{pending.task.unit.title}: another process measures it, left for later")
            return False
        left = [pending] if settings.overwrite else _to_do(pending.task, inventory, settings)
        for task, replaced in ((placed.task, placed.replaced) for placed in left):
            started_at, start = datetime.now(UTC).replace(tzinfo=None), time.perf_counter()
            is_first = not inventory.is_examined(task.unit, replaced)
            frames = measure(task, subject, is_first=is_first)
            duration_s = time.perf_counter() - start
            row = run_row(task, subject) | {"started_at": started_at, "duration_s": duration_s}
            how: dict[str, Any] = {"replaced": replaced, "gone": gone}
            mark = pd.DataFrame([row])
            n_rows = commit(task.unit, frames, mark, out, provenance_of(row), **how)
            settings.say(f"{task.unit.title}: {n_rows} rows in {duration_s:.1f} s")
    return True
