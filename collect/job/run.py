"""A run: names are resolved, and each model is planned, examined, measured and written.

The five steps stand here in their order. Each takes what the one before it gives: names, a job, the
plan of a model, the model examined, the rows of a unit, and what was done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from collect.job.measurement import measure, write
from collect.job.outcome import Done, Outcome, noted, raise_if_refused
from collect.job.pending import compared
from collect.job.resolve import Job, Judged, Model, judge, resolve
from collect.job.settings import Settings
from collect.job.subject import Subject, unless_allowed
from collect.job.task import COMPLETE, TO_DO, Task
from collect.model.checkpoint.checkpoint import Checkpoint
from collect.model.conformance.refusal import refuse_own_code
from collect.model.description import model_row
from collect.record.atomic import locks
from collect.record.commit import remove_leftovers
from collect.record.inventory import Inventory, refuse_another_shape
from collect.record.revision import write_revision
from collect.schema.counting import counted


def run(
    models: Sequence[str], prompt_sets: Sequence[str | Path], out: Path, **options: Any
) -> Outcome:
    """Measure every model, and every model on every prompt set, into Parquet files.

    A unit is the weights of a model, or a model on a prompt set; the quantities chosen say
    which tables it fills (`quantities.TABLES`). Each unit ends with its row in ``run``. What
    the output already holds, measured in the same way, is skipped, quantity by quantity, so a
    run that was killed is resumed by starting it again. A unit that another process is measuring
    is left for later, and waited for at the end. Weights on the hub are fetched when a unit needs
    them, and only then. A model that is refused stops no other, unless ``fail_fast`` is set.

    Returns
    -------
    The units that are there now.
    """
    job = resolve(models, prompt_sets, out, **options)
    remove_leftovers(out)
    inventory, outcome = Inventory(out), Outcome(refusals=[*job.refusals])
    for model in job.models:
        with noted(model.title, outcome.refusals, goes_on=job.goes_on):
            planned = plan(model, job, inventory)
            outcome.units += planned.complete
            if planned.tasks:
                subject = examine(planned, job.settings)
                carry_out(planned.tasks, subject, inventory, outcome.units)
    raise_if_refused(outcome, job.n_models)
    return outcome


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done of one model, and what an output holds of it already.

    Attributes
    ----------
    model, judged
        The model, and it without its weights.
    tasks, complete
        The tasks to do, and the units that are there.
    """

    model: Model
    judged: Judged
    tasks: list[Task]
    complete: list[Done]


def plan(model: Model, job: Job, inventory: Inventory) -> Plan:
    """Return what an output lacks of what is asked of a model.

    Weights that the hub lists no hash of are fetched for it.
    """
    with unless_allowed(model.name, model.checkpoint, job.settings):
        refuse_own_code(model.checkpoint.own_code)
    digest = model.checkpoint.listed_weights_sha256()
    if digest is None:
        model = model.with_weights()
        digest = model.checkpoint.weights_sha256()
    judged = judge(model, job, weights_sha256=digest)
    tasks, complete = pending(judged.tasks, inventory, job.settings, model.checkpoint)
    return Plan(model, judged, tasks, complete)


def pending(
    tasks: Sequence[Task],
    inventory: Inventory,
    settings: Settings,
    checkpoint: Checkpoint,
) -> tuple[list[Task], list[Done]]:
    """Return what an output lacks and holds of some tasks, and note what the revision holds."""
    states, refusal = compared(tasks, inventory, overwrites=settings.overwrite)
    complete = [task for task in states if task.state == COMPLETE]
    for task in complete:
        _say_complete(task, inventory, settings)
    if refusal is not None:
        raise refusal
    write_revision(
        tasks[0].unit,
        inventory.out,
        training_step=checkpoint.training_step,
        training_tokens=checkpoint.training_tokens,
    )
    done = [Done(task.unit.stem, task.unit.run_id, "complete") for task in complete]
    return [task for task in states if task.state == TO_DO], done


def _say_complete(task: Task, inventory: Inventory, settings: Settings) -> None:
    twin = inventory.twin(task.unit)
    state = "already complete" if twin is None else f"the same weights as {twin}"
    settings.say(f"{task.unit.title}: {state}, skipped")


def examine(planned: Plan, settings: Settings) -> Subject:
    """Return the model of a plan with its weights; its conformance is checked when first asked."""
    model, judged = planned.model, planned.judged
    if not model.checkpoint.weight_files:
        model = model.with_weights()
        model.checkpoint.weights_sha256()  # refuses content that is not what the hub lists
    return Subject(
        model.name,
        model.checkpoint,
        judged.skeleton,
        judged.tokenizer,
        settings,
        is_only_examined=all(task.prompt_set is None for task in planned.tasks),
    )


def carry_out(
    tasks: Sequence[Task], subject: Subject, inventory: Inventory, done: list[Done]
) -> None:
    """Measure and write what is pending of a model, unit by unit.

    A unit that another process is measuring is left for later, and waited for at the end.
    """
    gone = {path for task in tasks for path in task.unit.replaces}
    for task in tasks[:1]:
        (row,) = model_row(subject.checkpoint, subject.skeleton).to_dict("records")
        model = {str(name): value for name, value in row.items()}
        refuse_another_shape(model, task.unit.determinants["config_sha256"], inventory, gone)
    busy = []
    for task in tasks:
        unit = _carry_out(task, subject, inventory, gone)
        if unit is None:
            busy.append(task)
        else:
            done.append(unit)
    for task in busy:
        subject.settings.say(f"{task.unit.title}: waiting for the process that measures it")
        unit = _carry_out(task, subject, inventory, gone, wait=True)
        if unit is not None:
            done.append(unit)


def _carry_out(
    task: Task, subject: Subject, inventory: Inventory, gone: set[Path], *, wait: bool = False
) -> Done | None:
    """Measure and write one unit unless another process does; None if that is so."""
    settings, unit = subject.settings, task.unit
    with locks.held(inventory.out, unit.variant, wait=wait) as is_held:
        if not is_held:
            settings.say(f"{unit.title}: another process measures it, left for later")
            return None
        still = unit if settings.overwrite else inventory.missing(unit)
        if still is None:
            _say_complete(task, inventory, settings)
            return Done(unit.stem, unit.run_id, "complete")
        stored = {"dtype_weights": subject.checkpoint.dtype_weights}
        unit = replace(still, determinants={**still.determinants, **stored})
        is_first = not inventory.is_examined(unit)
        measured = measure(replace(task, unit=unit), subject, is_first=is_first)
        n_rows = write(unit, measured, inventory.out, gone)
    duration_s = float(measured["run"]["duration_s"].iloc[0])
    settings.say(f"{unit.title}: {counted(n_rows, 'row')} in {duration_s:.1f} s")
    return Done(unit.stem, unit.run_id, "measured", n_rows, duration_s)
