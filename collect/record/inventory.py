"""What an output holds, by run: which quantities of a unit are there, and where the rest goes.

A run may be measured in several units, each with quantities of its own. A unit is compared with
those of its model and of its prompt set, whose files are known by their names, and no other file
is opened: what it costs to write one does not grow with the output. No torch here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from collect.errors import InputError
from collect.record.units import (
    Unit,
    differences,
    is_of_model,
    is_of_prompt_set,
    run_file,
    run_id,
    variant_of,
)
from collect.schema.files import read_rows
from collect.schema.headers import is_pack
from collect.schema.marks import Mark, read_mark, run_as_marked, stored_prompts_sha256
from collect.schema.run_files import is_intact


@dataclass(frozen=True, slots=True)
class Entry:
    """One unit: its run file, what that says, and the run it belongs to."""

    path: Path
    mark: Mark
    run_id: str

    @property
    def has_conformance(self) -> bool:
        """Whether the examination of the model is kept with this unit."""
        return any(name.startswith("conformance/") for name in self.mark.rows)


@dataclass(frozen=True, slots=True)
class Complete:
    """That nothing is pending of a unit, in a sentence: it is there, or its weights' twin is."""

    sentence: str


class Inventory:
    """The run files of an output, of which those that are asked about are read.

    Parameters
    ----------
    out
        Directory of measurements.
    if_other_weights
        What to do where it holds a unit of other weights; without one, of a checkpoint.
    """

    def __init__(self, out: Path, *, if_other_weights: str = "") -> None:
        self.out, self._if_other_weights = out, if_other_weights or _OTHER_WEIGHTS
        if self._paths(is_pack):
            raise InputError(
                f"{out} is a compact copy: nothing is measured into it.",
                "Choose another --out; a store is opened from several directories.",
            )

    def units_of_model(self, unit: Unit) -> list[Entry]:
        """Return the units that may be of the same model, sorted by the name of their run file."""
        return self._entries(partial(is_of_model, unit.determinants["model_id"]))

    def neighbours(self, unit: Unit) -> list[Entry]:
        """Return the units that a unit may contradict: those of its model, and of its prompt set.

        Where the file of the prompts holds those of the unit, units of other models were measured
        on them too.
        """
        entries = {entry.path: entry for entry in self.units_of_model(unit)}
        name, digest = (unit.determinants.get(n) for n in ("prompt_set", "prompt_set_sha256"))
        stored = self.out / "prompt" / f"{name}.parquet"
        if name is not None and stored_prompts_sha256(stored) != digest:
            on_set = self._entries(partial(is_of_prompt_set, name))
            entries |= {entry.path: entry for entry in on_set}
        return [entries[path] for path in sorted(entries)]

    def _entries(self, is_asked: Callable[[str], bool]) -> list[Entry]:
        """Return the units of chosen names whose marks can be read, sorted."""
        entries = map(_known, self._paths(is_asked))
        return sorted((e for e in entries if e is not None), key=lambda entry: entry.path)

    def _paths(self, is_asked: Callable[[str], bool]) -> list[Path]:
        """Return the run files of chosen names, without suffix; none is opened."""
        suffix, names = ".parquet", list[str]()
        with suppress(FileNotFoundError, NotADirectoryError):
            names = os.listdir(self.out / "run")  # noqa: PTH208, a path of each costs more
        stems = [n.removesuffix(suffix) for n in names if n.endswith(suffix) and n[0] != "."]
        return [self.out / "run" / f"{stem}{suffix}" for stem in stems if is_asked(stem)]

    def compared(
        self, asked: Sequence[Unit], *, overwrites: bool
    ) -> tuple[list[Unit | Complete | InputError], InputError | None]:
        """Return what is pending of some units, and the first refusal of any of them.

        A refusal stands for a unit that is measured otherwise.
        """
        states: list[Unit | Complete | InputError] = []
        for unit in map(self._add_weights_hash, asked):
            try:
                states.append(self.instead(unit) if overwrites else self.missing(unit))
            except InputError as error:
                states.append(error)
        refusals = [state for state in states if isinstance(state, InputError)]
        try:
            refuse_mixtures([unit for unit in states if isinstance(unit, Unit)], self)
        except InputError as error:
            refusals.append(error)
        return states, next(iter(refusals), None)

    def missing(self, asked: Unit) -> Unit | Complete:
        """Return the pending part of a unit, with what it replaces."""
        unit = asked.part(asked.quantities)
        of_model = self.units_of_model(unit)
        same = [entry for entry in of_model if entry.run_id == unit.run_id]
        for entry in same:
            unit.refuse_otherwise(entry.mark, self.out, self._if_other_weights)
        intact = [entry for entry in same if is_intact(entry.path, entry.mark, self.out)]
        complete = {name for entry in intact for name in entry.mark.quantities}
        pending = [name for name in unit.quantities if name not in complete]
        if not pending:
            names = [entry.path.stem for entry in same]
            is_here = unit.variant in map(variant_of, names)
            state = "already complete" if is_here else f"the same weights as {names[0]}"
            return Complete(f"{asked.title}: {state}, skipped")
        first = next((e for e in of_model if e.path == run_file(self.out, unit)), None)
        if first is None:
            return unit.part(pending)
        if first not in same and run_as_marked(first.path, first.mark) is not None:
            unit.refuse_otherwise(first.mark, self.out, self._if_other_weights)
        if first in intact:
            return unit.part(pending, is_later=True)
        broken = [name for name in first.mark.quantities if name not in {*pending, *complete}]
        return unit.part([*pending, *broken], replaces=(first.path,))

    def _add_weights_hash(self, unit: Unit) -> Unit:
        """Return a unit with the hash of its weights: where open, that of the same revision."""
        if unit.determinants["weights_sha256"] is not None:
            return unit
        of_revision = ("model_id", "revision_name")
        for entry in self.units_of_model(unit):
            known = entry.mark.determinants
            if all(known.get(name) == unit.determinants[name] for name in of_revision):
                weights = {"weights_sha256": known.get("weights_sha256")}
                return replace(unit, determinants={**unit.determinants, **weights})
        return unit

    def instead(self, unit: Unit) -> Unit:
        """Return a unit that is measured whatever the output holds of it, with what it replaces.

        What the units that it replaces hold besides is measured again too, so that nothing is
        lost.
        """
        asked, of_model = unit.quantities, self.units_of_model(unit)
        touched = [
            entry
            for entry in of_model
            if (entry.run_id == unit.run_id or variant_of(entry.path.stem) == unit.variant)
            and {*asked} & {*entry.mark.quantities}
        ]
        besides = dict.fromkeys(name for entry in touched for name in entry.mark.quantities)
        wanted = [*asked, *(name for name in besides if name not in asked)]
        replaces = tuple(entry.path for entry in touched)
        plain = run_file(self.out, unit)
        is_free = plain in replaces or plain not in [e.path for e in of_model]
        return unit.part(wanted, is_later=not is_free, replaces=replaces)

    def is_examined(self, unit: Unit) -> bool:
        """Return whether another unit of the same run keeps the examination of the model."""
        return any(
            entry.run_id == unit.run_id
            and entry.has_conformance
            and entry.path not in unit.replaces
            for entry in self.units_of_model(unit)
            if entry.path != run_file(self.out, unit)
        )


_OTHER_WEIGHTS = (
    "If these are two checkpoints, name one by a model_id in thermoscope.json beside its weights, "
    "or choose another --out; revisions, with --revision, stand side by side. --overwrite would "
    "remove what was measured of the first."
)


def _known(path: Path) -> Entry | None:
    """Return the unit of a run file; one that cannot be read is none."""
    try:
        state = path.stat()
    except OSError:
        return None
    return _read(path, (state.st_dev, state.st_ino, state.st_mtime_ns, state.st_size))


@lru_cache(maxsize=65_536)
def _read(path: Path, _stamp: tuple[int, ...]) -> Entry | None:
    """Return the unit of a run file, read once in a process as long as it does not change."""
    mark = read_mark(path)
    return None if mark is None else Entry(path, mark, run_id(mark.determinants))


def refuse_mixtures(
    units: Sequence[Unit], inventory: Inventory, gone: Collection[Path] = ()
) -> None:
    """Refuse to put units beside others of the same model or prompt set that contradict them.

    Revisions, number formats, devices, renderings and policies of special tokens may stand side
    by side; other weights under one name, other versions of the code, and other prompts under
    one name may not.
    """
    replaced = {path for unit in units for path in (run_file(inventory.out, unit), *unit.replaces)}
    for unit in units:
        for entry in inventory.neighbours(unit):
            if entry.path in replaced or entry.path in gone:
                continue
            conflicts = unit.conflicts(entry.mark.determinants)
            if conflicts:
                raise InputError(
                    f"The output {inventory.out} must not mix measurements; {entry.path.name} was "
                    f"measured differently from {unit.title}: {conflicts}.",
                    "Choose another --out, or measure that unit again in the same command.",
                )


def refuse_other_shape(
    unit: Unit, shape: Mapping[str, Any], inventory: Inventory, gone: Collection[Path] = ()
) -> None:
    """Refuse a unit of another shape than those of the same model, which no store could open.

    Two revisions of one model may differ in their weights, and not in the shape that ``shape``
    gives by column of table ``model``.
    """
    replaced = {run_file(inventory.out, unit), *unit.replaces, *gone}
    for entry in inventory.units_of_model(unit):
        path = inventory.out / "model" / entry.path.name
        is_same = entry.mark.determinants.get("model_id") == unit.determinants["model_id"]
        if not is_same or entry.path in replaced or not path.is_file():
            continue
        (stored,) = read_rows(path, "model").select([*shape]).to_pylist()
        others = differences(stored, shape)
        if others:
            raise InputError(
                f"The revisions of a model must have one shape; {path} describes another: "
                f"{others}.",
                "Give this model another name, or choose another --out.",
            )
        return


def repeated_by(unit: Unit, inventory: Inventory) -> Entry | None:
    """Return the unit of another name that holds some of the same, put down meanwhile."""
    its_files = {run_file(inventory.out, unit), *unit.replaces}
    asked = {*unit.quantities}
    for entry in inventory.units_of_model(unit):
        is_same = entry.run_id == unit.run_id and entry.path not in its_files
        if is_same and asked & {*entry.mark.quantities}:
            return entry
    return None
