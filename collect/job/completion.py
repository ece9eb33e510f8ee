"""The tasks of one model completed: what an output lacks of them is measured and put down."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from collect.job.measurement import measure, provenance_of, run_row
from collect.job.outcome import Done
from collect.job.settings import Settings
from collect.job.subject import Subject
from collect.job.task import Task
from collect.model.description import model_row
from collect.record.atomic import locks
from collect.record.commit import commit
from collect.record.inventory import Inventory, refuse_another_shape, refuse_mixtures
from collect.record.revision import write_revision
from collect.record.tensors import write_tensors
from collect.schema.counting import counted


@dataclass(frozen=True, slots=True)
class Pending:
    """A task, of it what is left to measure, and the run files that its unit replaces."""

    task: Task
    replaced: tuple[Path, ...]

    def stored_as(self, dtype_weights: str) -> Pending:
        """Return a task whose unit says in which format the weights are found to be stored."""
        unit = self.task.unit
        known = replace(unit, determinants={**unit.determinants, "dtype_weights": dtype_weights})
        return Pending(replace(self.task, unit=known), self.replaced)


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of some tasks.

    Attributes
    ----------
    pending
        What is to be measured.
    done
        The units that are complete already.
    """

    pending: list[Pending]
    done: list[Done]

    @property
    def gone(self) -> list[Path]:
        """The run files that units will replace."""
        return [path for placed in self.pending for path in placed.replaced]


def left(
    tasks: Sequence[Task],
    inventory: Inventory,
    settings: Settings,
    *,
    training_step: int | None,
    training_tokens: int | None,
) -> Left:
    """Return what an output lacks of the tasks of a model, and note what its revision holds.

    Raises
    ------
    InputError
        If the output holds some of it measured otherwise.
    OutputError
        If the output cannot be written.
    """
    found = Left([], [])
    for task in tasks:
        placed = _to_do(task, inventory, settings)
        if placed is None:
            found.done.append(Done(task.unit.stem, task.unit.run_id, "complete"))
        else:
            found.pending.append(placed)
    refuse_mixtures([placed.task.unit for placed in found.pending], inventory, found.gone)
    write_revision(
        tasks[0].unit,
        inventory.out,
        training_step=training_step,
        training_tokens=training_tokens,
    )
    return found


def complete(
    left_over: Left,
    subject: Subject,
    inventory: Inventory,
    done: list[Done],
) -> None:
    """Measure what is left of the tasks of a model, unit by unit.

    A unit that another process is measuring is left for later, and waited for at the end.

    Parameters
    ----------
    left_over
        What `left` returned.
    subject, inventory
        The model, and where its units go.
    done
        Where each unit is noted as soon as it is there, so that it is known if a later one fails.

    Raises
    ------
    CollectError
        If the model does not conform, the output has it in another shape, or a unit cannot be
        measured or written.
    """
    if left_over.pending:
        (model,) = model_row(subject.checkpoint, subject.skeleton).to_dict("records")
        config_sha256 = left_over.pending[0].task.unit.determinants["config_sha256"]
        known = {str(name): value for name, value in model.items()}
        refuse_another_shape(known, config_sha256, inventory, {*left_over.gone})
    done += left_over.done
    busy = []
    for placed in left_over.pending:
        unit = _measure(placed, subject, inventory, left_over.gone)
        if unit is None:
            busy.append(placed)
        else:
            done.append(unit)
    for placed in busy:
        title = placed.task.unit.title
        subject.settings.say(f"{title}: waiting for the process that measures it")
        unit = _measure(placed, subject, inventory, left_over.gone, wait=True)
        if unit is not None:
            done.append(unit)


def _to_do(task: Task, inventory: Inventory, settings: Settings) -> Pending | None:
    """Return what is left of a task; None if it is complete, which is said."""
    placed = inventory.instead(task.unit) if settings.overwrite else inventory.missing(task.unit)
    if placed is None:
        twin = inventory.twin(task.unit)
        held = "already complete" if twin is None else f"the same weights as {twin}"
        settings.say(f"{task.unit.title}: {held}, skipped")
        return None
    return Pending(replace(task, unit=placed.unit), placed.replaced)


def _measure(
    pending: Pending,
    subject: Subject,
    inventory: Inventory,
    gone: Sequence[Path],
    *,
    wait: bool = False,
) -> Done | None:
    """Measure one unit unless another process does; None if that is so."""
    settings, out = subject.settings, inventory.out
    with locks.held(out, pending.task.unit.variant, wait=wait) as is_held:
        if not is_held:
            title = pending.task.unit.title
            settings.say(f"{title}: another process measures it, left for later")
            return None
        placed = pending if settings.overwrite else _to_do(pending.task, inventory, settings)
        if placed is None:
            return Done(pending.task.unit.stem, pending.task.unit.run_id, "complete")
        return _put_down(placed, subject, inventory, gone)


def _put_down(
    pending: Pending, subject: Subject, inventory: Inventory, gone: Sequence[Path]
) -> Done:
    """Measure one unit, whose lock is held, and write it."""
    task, replaced = pending.task, pending.replaced
    started_at, start = datetime.now(UTC).replace(tzinfo=None), time.perf_counter()
    is_first = not inventory.is_examined(task.unit, replaced)
    frames = measure(task, subject, is_first=is_first)
    duration_s = time.perf_counter() - start
    row = run_row(task, subject) | {"started_at": started_at, "duration_s": duration_s}
    how: dict[str, Any] = {"replaced": replaced, "gone": gone}
    if frames.tensors:
        how["write_vectors"] = partial(write_tensors, frames.tensors)
    mark = pd.DataFrame([row])
    n_rows = commit(task.unit, frames, mark, inventory.out, provenance_of(row), **how)
    subject.settings.say(f"{task.unit.title}: {counted(n_rows, 'row')} in {duration_s:.1f} s")
    return Done(task.unit.stem, task.unit.run_id, "measured", n_rows, duration_s)
