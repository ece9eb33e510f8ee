"""The loop: measure each unit, write it, resume where an earlier run stopped."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from collect.errors import InputError
from collect.job.measurement import measure, provenance_of, run_row
from collect.job.settings import Settings
from collect.job.subject import Subject
from collect.job.task import Task, check_chosen, tasks
from collect.model.checkpoint import hub
from collect.model.checkpoint.checkpoint import Checkpoint, Labels, locate
from collect.model.checkpoint.decoder import model_row
from collect.model.checkpoint.load import load_skeleton, load_tokenizer
from collect.model.checkpoint.memory import as_text
from collect.prompts.sets import PromptSet
from collect.prompts.sets import load as load_prompts
from collect.prompts.tokens import check_fits
from collect.record import locks
from collect.record.commit import check_writable, commit, remove_leftovers
from collect.record.units import Unit, is_complete, refuse_mixtures
from collect.record.writer import file_stem


@dataclass(frozen=True, slots=True)
class Job:
    """What a command asks for, found and checked: models by name, prompt sets, settings."""

    checkpoints: dict[str, Checkpoint]
    sets: tuple[PromptSet, ...]
    settings: Settings


def run(
    models: Sequence[str], prompt_sets: Sequence[str | Path], out: Path, **options: Any
) -> None:
    """Measure every model, and every model on every prompt set, into Parquet files.

    A unit is the weights of a model, or a model on a prompt set; the quantities chosen say
    which tables it fills (`quantities.TABLES`). Each unit ends with its row in ``run``. A unit
    that the output already holds, measured in the same way, is skipped, so a run that was
    killed is resumed by starting it again. A unit that another process is measuring is left
    for later, and waited for at the end.

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
    for name, checkpoint in job.checkpoints.items():
        _run_checkpoint(name, checkpoint, job, out)


def prepare(
    models: Sequence[str],
    prompt_sets: Sequence[str | Path],
    out: Path | None,
    *,
    revision: str | None = None,
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
        Branch, tag or commit; for hub identifiers only.
    lab, suite, year
        Labels of the models; they win over what the checkpoints say.
    needs_weights
        False to leave the weights of hub repositories where they are.
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
    where: dict[str, Any] = {"revision": revision, "labels": labels}
    checkpoints = [locate(model, **where, needs_weights=False) for model in models]
    for name in [None, *(prompt_set.name for prompt_set in sets)]:
        for checkpoint in checkpoints:
            file_stem(checkpoint.model_id, name)  # refuses what can be no file's name
    _refuse_repeats([checkpoint.model_id for checkpoint in checkpoints], "model")
    _refuse_repeats([prompt_set.name for prompt_set in sets], "prompt set")
    if needs_weights:
        checkpoints = _with_weights(models, checkpoints, sets, settings, where)
    return Job(dict(zip(models, checkpoints, strict=True)), sets, settings)


def _with_weights(
    models: Sequence[str],
    checkpoints: Sequence[Checkpoint],
    sets: Sequence[PromptSet],
    settings: Settings,
    where: dict[str, Any],
) -> list[Checkpoint]:
    """Fetch the weights that are on the hub, after every model there has been judged without."""
    of_hub = [checkpoint for checkpoint in checkpoints if not checkpoint.weight_files]
    for checkpoint in of_hub:
        load_skeleton(checkpoint, dtype=settings.dtype)
        if sets:
            load_tokenizer(checkpoint)
    for checkpoint in of_hub:
        if checkpoint.download_bytes:
            settings.say(f"{checkpoint.model_id}: {as_text(checkpoint.download_bytes)} to download")
    return [
        checkpoint
        if checkpoint.weight_files
        else locate(model, **where | {"revision": checkpoint.revision})
        for model, checkpoint in zip(models, checkpoints, strict=True)
    ]


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


def _run_checkpoint(name: str, checkpoint: Checkpoint, job: Job, out: Path) -> None:
    sets, settings = job.sets, job.settings
    skeleton = load_skeleton(checkpoint, dtype=settings.dtype, device=settings.main_device)
    tokenizer = load_tokenizer(checkpoint) if sets else None
    digest = checkpoint.weights_sha256()
    found = tasks(checkpoint, skeleton, sets, tokenizer, settings, weights_sha256=digest)
    pending = [task for task in found if settings.overwrite or not _is_done(task, out, settings)]
    refuse_mixtures([task.unit for task in pending], out)
    shape = model_row(checkpoint, skeleton).iloc[0]
    n_context = None if pd.isna(shape["n_context"]) else int(shape["n_context"])
    for task in pending:
        check_fits(task.encoded, n_context, int(shape["n_vocabulary"]))
    subject = Subject(
        name,
        checkpoint,
        skeleton,
        tokenizer,
        settings,
        is_only_examined=all(task.prompt_set is None for task in pending),
    )
    peers = [task.unit for task in pending] if settings.overwrite else []
    busy = [task for task in pending if not _measure(task, subject, out, peers)]
    for task in busy:
        settings.say(f"{task.unit.title}: waiting for the process that measures it")
        _measure(task, subject, out, peers, wait=True)


def _is_done(task: Task, out: Path, settings: Settings) -> bool:
    if not is_complete(task.unit, out):
        return False
    settings.say(f"{task.unit.title}: already complete, skipped")
    return True


def _measure(
    task: Task, subject: Subject, out: Path, peers: Sequence[Unit], *, wait: bool = False
) -> bool:
    """Measure one unit unless another process does; return whether it is done."""
    settings = subject.settings
    with locks.held(out, task.unit.stem, wait=wait) as is_held:
        if not is_held:
            settings.say(f"{task.unit.title}: another process measures it, left for later")
            return False
        if not settings.overwrite and _is_done(task, out, settings):
            return True
        started_at, start = datetime.now(UTC).replace(tzinfo=None), time.perf_counter()
        frames = measure(task, subject)
        duration_s = time.perf_counter() - start
        row = run_row(task, subject) | {"started_at": started_at, "duration_s": duration_s}
        mark = pd.DataFrame([row])
        n_rows = commit(task.unit, frames, mark, out, provenance_of(row), peers=peers)
    settings.say(f"{task.unit.title}: {n_rows} rows in {duration_s:.1f} s")
    return True
