"""A run: names are resolved, and each model is planned, examined, measured and written.

The five steps stand here in their order. Names become a job, a list of subjects; a subject gives
its tasks; it is examined; a task gives rows; rows become the files of a unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from collect.job.measurement import measure
from collect.job.outcome import Done, Outcome, RefusedError
from collect.job.resolve import resolve
from collect.job.subject import Subject
from collect.job.task import Task, pending, tasks
from collect.process.interruption import interruptible
from collect.record import queue
from collect.record.atomic import locks
from collect.record.commit import commit, remove_leftovers
from collect.record.inventory import Complete, Inventory
from collect.schema.counting import counted


@interruptible()
def run(
    models: Sequence[str], prompt_sets: Sequence[str | Path], out: Path, **options: Any
) -> Outcome:
    """Measure every model, and every model on every prompt set, into Parquet files.

    A unit is the weights of a model, or a model on a prompt set; the quantities chosen say
    which tables it fills. Each unit ends with its row in ``run``. What the output already holds,
    measured in the same way, is skipped, quantity by quantity, so a run that was killed is resumed
    by starting it again. A unit that another process is measuring is left for later, and waited
    for at the end. A model that is refused stops no other, unless ``fail_fast`` is set.

    Parameters
    ----------
    models, prompt_sets, **options
        As for `resolve`.
    out
        Directory for ``<table>/<unit>.parquet``.

    Returns
    -------
    The units that are there now.
    """
    job = resolve(models, prompt_sets, out, **options)
    remove_leftovers(out)
    inventory, outcome = Inventory(out), Outcome(refusals=[*job.refusals])
    for subject in job.subjects:
        with job.noted(subject.title, outcome.refusals):
            subject.refuse_own_code()
            asked = tasks(subject, subject.weights_sha256())
            todo, complete = pending(asked, subject, inventory)
            outcome.units += complete
            if todo:
                subject.fetch(is_run=any(task.prompt_set is not None for task in todo))
                carry_out(todo, subject, inventory, outcome.units)
            for name in (subject.title, subject.name):
                queue.note_measured(out, name)
        subject.release()
    if outcome.refusals:
        raise RefusedError(outcome, job.n_models)
    return outcome


def carry_out(
    todo: Sequence[Task], subject: Subject, inventory: Inventory, done: list[Done]
) -> None:
    """Measure and write what is to do of a model, and note each unit as soon as it is there.

    A unit that another process is measuring is left for later, and waited for at the end.
    """
    gone = {path for task in todo for path in task.unit.replaces}
    waiting = list(todo)
    for wait in (False, True):
        ended = []
        for task in waiting:
            if wait:
                subject.settings.say(f"{task.unit.title}: waiting for the process that measures it")
            unit = _measure(task, subject, inventory, gone, wait=wait)
            if unit is None:
                subject.settings.say(
                    f"{task.unit.title}: another process measures it, left for later"
                )
            else:
                done.append(unit)
                ended.append(task)
        waiting = [task for task in waiting if task not in ended]


def _measure(
    task: Task, subject: Subject, inventory: Inventory, gone: set[Path], *, wait: bool
) -> Done | None:
    """Measure and write one unit under its lock; None where another process holds that."""
    settings = subject.settings
    with locks.held(inventory.out, task.unit.variant, wait=wait) as is_held:
        if not is_held:
            return None
        unit = task.unit if settings.overwrite else inventory.missing(task.unit)
        if isinstance(unit, Complete):
            settings.say(unit.sentence)
            return Done(task.unit.stem, task.unit.run_id, "complete")
        stored = {"dtype_weights": subject.checkpoint.dtype_weights}
        unit = replace(unit, determinants={**unit.determinants, **stored})
        is_first = not inventory.is_examined(unit)
        frames, tensors = measure(replace(task, unit=unit), subject, is_first=is_first)
        n_rows = commit(unit, frames, inventory, tensors=tensors, gone=gone)
        duration_s = float(frames["run"]["duration_s"].iloc[0])
        settings.say(f"{unit.title}: {counted(n_rows, 'row')} in {duration_s:.1f} s")
        return Done(unit.stem, unit.run_id, "measured", n_rows, duration_s)
