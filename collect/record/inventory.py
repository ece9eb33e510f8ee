"""What an output holds, by run: which quantities of a unit are there, and where the rest goes.

A run may be measured in several units, each with quantities of its own. No torch here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from collect.errors import InputError
from collect.record.units import (
    Mark,
    Unit,
    differences,
    is_intact,
    quantities_of,
    read_mark,
    run_as_marked,
    run_file,
    run_id,
    variant_of,
)
from collect.schema.files import read_rows
from collect.schema.headers import is_pack


@dataclass(frozen=True, slots=True)
class Entry:
    """One unit: its run file, what that says, and the run it belongs to."""

    path: Path
    mark: Mark
    run_id: str

    @property
    def quantities(self) -> tuple[str, ...]:
        """What the unit holds of its run."""
        return quantities_of(self.mark.determinants)

    @property
    def has_conformance(self) -> bool:
        """Whether the examination of the model is kept with this unit."""
        return any(name.startswith("conformance/") for name in self.mark.rows)


class Inventory:
    """The run files of an output, each read once as long as it does not change.

    Parameters
    ----------
    out
        Directory of measurements.
    if_other_weights
        What to do where it holds a unit of other weights; without one, of a checkpoint.
    """

    def __init__(self, out: Path, *, if_other_weights: str = "") -> None:
        self.out, self._if_other_weights = out, if_other_weights or _OTHER_WEIGHTS
        self._known: dict[Path, tuple[tuple[int, int], Entry | None]] = {}
        if any(is_pack(path.stem) for path in (out / "run").glob("*.parquet")):
            raise InputError(
                f"{out} is a compact copy: nothing is measured into it.",
                "Choose another --out; a store is opened from several directories.",
            )

    def entries(self) -> list[Entry]:
        """Return the units whose marks can be read, sorted by the name of their run file."""
        return sorted(self._by_path().values(), key=lambda entry: entry.path)

    def _entry(self, path: Path) -> Entry | None:
        return self._by_path().get(path)

    def _by_path(self) -> dict[Path, Entry]:
        """Return the units by their run files."""
        entries = map(self._read_again, (self.out / "run").glob("*.parquet"))
        return {entry.path: entry for entry in entries if entry is not None}

    def _read_again(self, path: Path) -> Entry | None:
        """Return the unit of a run file, which is read if it has changed."""
        try:
            state = path.stat()
        except OSError:
            return None
        stamp = (state.st_mtime_ns, state.st_ino)
        if self._known.get(path, (None, None))[0] != stamp:
            self._known[path] = (stamp, _read(path))
        return self._known[path][1]

    def compared(
        self, asked: Sequence[Unit], *, overwrites: bool
    ) -> tuple[list[Unit | InputError | None], InputError | None]:
        """Return what is pending of some units, and the first refusal of any of them.

        None stands for a unit that is complete, a refusal for one that is measured otherwise.
        """
        states: list[Unit | InputError | None] = []
        for unit in map(self._with_known_weights, asked):
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

    def missing(self, unit: Unit) -> Unit | None:
        """Return the pending part of a unit, with what it replaces; None when it is complete."""
        unit = unit.part(quantities_of(unit.determinants))
        same = [entry for entry in self.entries() if entry.run_id == unit.run_id]
        for entry in same:
            self._refuse_otherwise(unit, entry)
        intact = [entry for entry in same if is_intact(entry.path, entry.mark, self.out)]
        complete = {name for entry in intact for name in entry.quantities}
        pending = [name for name in quantities_of(unit.determinants) if name not in complete]
        if not pending:
            return None
        first = self._entry(run_file(self.out, unit))
        if first is not None and run_as_marked(first.path, first.mark) is not None:
            self._refuse_otherwise(unit, first)
        if first is None or first not in intact:
            broken = () if first is None else first.quantities
            wanted = [*pending, *(name for name in broken if name not in {*pending, *complete})]
            return unit.part(wanted, replaces=() if first is None else (first.path,))
        return unit.part(pending, is_later=True)

    def _with_known_weights(self, unit: Unit) -> Unit:
        """Return a unit with the hash of its weights: where open, that of the same revision."""
        if unit.determinants["weights_sha256"] is not None:
            return unit
        of_revision = ("model_id", "revision_name")
        for entry in self.entries():
            known = entry.mark.determinants
            if all(known.get(name) == unit.determinants[name] for name in of_revision):
                weights = {"weights_sha256": known.get("weights_sha256")}
                return replace(unit, determinants={**unit.determinants, **weights})
        return unit

    def twin(self, unit: Unit) -> str | None:
        """Return the name of a unit of the same run, of another revision with the same weights.

        None where a unit of this revision is there itself.
        """
        names = [entry.path.stem for entry in self.entries() if entry.run_id == unit.run_id]
        if not names or any(variant_of(name) == unit.variant for name in names):
            return None
        return names[0]

    def instead(self, unit: Unit) -> Unit:
        """Return a unit that is measured whatever the output holds of it, with what it replaces.

        What the units that it replaces hold besides is measured again too, so that nothing is
        lost.
        """
        asked = quantities_of(unit.determinants)
        unit = unit.part(asked)
        touched = [
            entry
            for entry in self.entries()
            if (entry.run_id == unit.run_id or variant_of(entry.path.stem) == unit.variant)
            and {*asked} & {*entry.quantities}
        ]
        besides = dict.fromkeys(name for entry in touched for name in entry.quantities)
        wanted = [*asked, *(name for name in besides if name not in asked)]
        replaces = tuple(entry.path for entry in touched)
        plain = run_file(self.out, unit)
        is_free = plain in replaces or self._entry(plain) is None
        return unit.part(wanted, is_later=not is_free, replaces=replaces)

    def is_examined(self, unit: Unit) -> bool:
        """Return whether another unit of the same run keeps the examination of the model."""
        return any(
            entry.run_id == unit.run_id
            and entry.has_conformance
            and entry.path not in unit.replaces
            for entry in self.entries()
            if entry.path != run_file(self.out, unit)
        )

    def _refuse_otherwise(self, unit: Unit, entry: Entry) -> None:
        reasons, known = unit.otherwise(entry.mark), entry.mark.determinants
        if reasons:
            is_same = known.get("weights_sha256") == unit.determinants["weights_sha256"]
            raise InputError(
                f"A unit must be measured in one way only; {self.out} holds {unit.title} measured "
                f"otherwise: {reasons}.",
                _ANOTHER_WAY if is_same else self._if_other_weights,
            )


_ANOTHER_WAY = (
    "Add --overwrite to measure it again, or choose another --out; prompts under another name "
    "stand side by side."
)
_OTHER_WEIGHTS = (
    "If these are two checkpoints, name one by a model_id in thermoscope.json beside its weights, "
    "or choose another --out; revisions, with --revision, stand side by side. --overwrite would "
    "remove what was measured of the first."
)


def _read(path: Path) -> Entry | None:
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
    for entry in inventory.entries():
        if entry.path in replaced or entry.path in gone:
            continue
        for unit in units:
            contradictions = unit.contradictions(entry.mark.determinants)
            if contradictions:
                raise InputError(
                    f"The output {inventory.out} must not mix measurements; {entry.path.name} was "
                    f"measured otherwise than {unit.title}: {contradictions}.",
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
    for entry in inventory.entries():
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
    asked = {*quantities_of(unit.determinants)}
    for entry in inventory.entries():
        is_same = entry.run_id == unit.run_id and entry.path not in its_files
        if is_same and asked & {*entry.quantities}:
            return entry
    return None
