"""What an output would leave to measure of a model, as a run finds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from collect.errors import InputError
from collect.job.task import Task
from collect.record.inventory import Inventory, Placed, refuse_mixtures
from collect.record.units import Unit


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of a unit, its state, and whether it tells of the model itself."""

    task: Task
    state: str
    is_first: bool = True


def left(
    tasks: Sequence[Task], inventory: Inventory, *, overwrites: bool
) -> tuple[list[Left], InputError | None]:
    """Return what is to be measured of a model, and the refusal of a run where it refuses."""
    lefts: list[Left] = []
    placed_units: list[Placed] = []
    refusal: InputError | None = None
    for task in tasks:
        unit = _with_known_weights(task.unit, inventory)
        try:
            placed = inventory.instead(unit) if overwrites else inventory.missing(unit)
        except InputError as error:
            refusal = refusal or error
            lefts.append(Left(task, "to do"))
            continue
        if placed is None:
            lefts.append(Left(task, "complete"))
            continue
        placed_units.append(placed)
        is_first = not inventory.is_examined(placed.unit, placed.replaced)
        lefts.append(Left(replace(task, unit=placed.unit), "to do", is_first))
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
