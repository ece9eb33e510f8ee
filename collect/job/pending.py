"""What an output lacks of the tasks of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from collect.errors import InputError
from collect.job.task import COMPLETE, CONTRADICTED, TO_DO, Task
from collect.record.inventory import Inventory, refuse_mixtures
from collect.record.units import Unit


def compared(
    tasks: Sequence[Task], inventory: Inventory, *, overwrites: bool
) -> tuple[list[Task], InputError | None]:
    """Return tasks with their state in an output, and why a run refuses them where it does.

    Returns
    -------
    The tasks, those that are to do reduced to what is pending; and the refusal.
    """
    states: list[Task] = []
    refusal: InputError | None = None
    for task in tasks:
        try:
            states.append(_compared(task, inventory, overwrites=overwrites))
        except InputError as error:
            refusal = refusal or error
            states.append(replace(task, state=CONTRADICTED))
    pending = [task.unit for task in states if task.state == TO_DO]
    try:
        refuse_mixtures(pending, inventory)
    except InputError as error:
        refusal = refusal or error
    if refusal is not None:
        states = [replace(t, state=CONTRADICTED) if t.state == TO_DO else t for t in states]
    return states, refusal


def _compared(task: Task, inventory: Inventory, *, overwrites: bool) -> Task:
    unit = _with_known_weights(task.unit, inventory)
    pending = inventory.instead(unit) if overwrites else inventory.missing(unit)
    return replace(task, state=COMPLETE) if pending is None else replace(task, unit=pending)


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
            weights = {"weights_sha256": known.get("weights_sha256")}
            return replace(unit, determinants={**unit.determinants, **weights})
    return unit
