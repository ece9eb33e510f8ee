"""What an output holds, by run: which quantities of a unit are there, and where the rest goes.

A run may be measured in several units, each with quantities of its own. No torch here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from collect.errors import InputError
from collect.record.units import (
    Mark,
    Unit,
    differences,
    has_its_files,
    is_run_as_marked,
    quantities_of,
    read_mark,
    read_run,
    redefinitions,
    run_file,
    run_id,
    variant_of,
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One run file: where it is, what it says, and the run it belongs to."""

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


@dataclass(frozen=True, slots=True)
class Placed:
    """A unit that is to be measured, and the run files that it replaces."""

    unit: Unit
    replaced: tuple[Path, ...] = ()


class Inventory:
    """The run files of an output, each read once as long as it does not change.

    Parameters
    ----------
    out
        Directory of measurements.
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        self._known: dict[Path, tuple[tuple[int, int], Entry | None]] = {}

    def entries(self) -> list[Entry]:
        """Return the run files that can be read, sorted by name."""
        found = []
        for path in sorted((self.out / "run").glob("*.parquet")):
            entry = self._entry(path)
            if entry is not None:
                found.append(entry)
        return found

    def _entry(self, path: Path) -> Entry | None:
        try:
            state = path.stat()
        except OSError:
            return None
        stamp = (state.st_mtime_ns, state.st_ino)
        if self._known.get(path, (None, None))[0] != stamp:
            mark = read_mark(path)
            entry = None if mark is None else Entry(path, mark, run_id(mark.determinants))
            self._known[path] = (stamp, entry)
        return self._known[path][1]

    def missing(self, unit: Unit) -> Placed | None:
        """Return what is left to measure of a unit, and where it goes; None when nothing is.

        Raises
        ------
        InputError
            If the output holds the unit measured otherwise: other weights, prompts or versions,
            or other labels.
        """
        unit = unit.part(quantities_of(unit.determinants))
        same = [entry for entry in self.entries() if entry.run_id == unit.run_id]
        for entry in same:
            self._refuse_otherwise(unit, entry)
        intact = [entry for entry in same if self._is_intact(entry)]
        held = {name for entry in intact for name in entry.quantities}
        left = [name for name in quantities_of(unit.determinants) if name not in held]
        if not left:
            return None
        first = self._entry(run_file(self.out, unit))
        if first is not None and is_run_as_marked(read_run(first.path), first.mark):
            self._refuse_otherwise(unit, first)
        if first is None or first not in intact:
            broken = () if first is None else first.quantities
            wanted = [*left, *(name for name in broken if name not in {*left, *held})]
            return Placed(unit.part(wanted), () if first is None else (first.path,))
        return Placed(unit.part(left, is_later=True))

    def instead(self, unit: Unit) -> Placed:
        """Return a unit that is measured whatever the output holds of it, and what it replaces.

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
        replaced = tuple(entry.path for entry in touched)
        plain = run_file(self.out, unit)
        is_free = plain in replaced or self._entry(plain) is None
        return Placed(unit.part(wanted, is_later=not is_free), replaced)

    def is_examined(self, unit: Unit, replaced: Sequence[Path] = ()) -> bool:
        """Return whether another unit of the same run keeps the examination of the model."""
        return any(
            entry.run_id == unit.run_id and entry.has_conformance and entry.path not in replaced
            for entry in self.entries()
            if entry.path != run_file(self.out, unit)
        )

    def _is_intact(self, entry: Entry) -> bool:
        run = read_run(entry.path)
        return is_run_as_marked(run, entry.mark) and has_its_files(entry.mark, self.out)

    def _refuse_otherwise(self, unit: Unit, entry: Entry) -> None:
        known = entry.mark.determinants
        otherwise = differences({**known, **entry.mark.labels}, {**unit.identity, **unit.labels})
        found = "; ".join(
            said for said in (otherwise, redefinitions(known, unit.determinants)) if said
        )
        if found:
            raise InputError(
                f"A unit must be measured in one way only; {self.out} holds {unit.title} measured "
                f"otherwise: {found}.",
                "Add --overwrite to measure it again, or choose another --out; with --revision, "
                "revisions of a model stand side by side.",
            )


def refuse_mixtures(
    units: Sequence[Unit], inventory: Inventory, replaced: Sequence[Path] = ()
) -> None:
    """Refuse to put units beside others of the same model or prompt set that contradict them.

    Revisions, number formats, devices, renderings and policies of special tokens may stand side
    by side; other weights under one name, other versions of the code, and other prompts under
    one name may not.

    Parameters
    ----------
    units
        What is about to be measured or put down.
    inventory
        What the output holds.
    replaced
        Run files that are about to go.

    Raises
    ------
    InputError
        If the output holds the same model with other weights or versions, or the same
        prompt set with other prompts, in a unit that is not about to be replaced.
    """
    gone = {*replaced, *(run_file(inventory.out, unit) for unit in units)}
    for entry in inventory.entries():
        if entry.path in gone:
            continue
        for unit in units:
            found = unit.contradictions(entry.mark.determinants)
            if found:
                raise InputError(
                    f"The output {inventory.out} must not mix measurements; {entry.path.name} was "
                    f"measured otherwise than {unit.title}: {found}.",
                    "Choose another --out, or measure that unit again in the same command.",
                )


def repeated_by(unit: Unit, inventory: Inventory, replaced: Sequence[Path] = ()) -> Entry | None:
    """Return the unit of another name that holds some of the same, put down meanwhile."""
    own = {run_file(inventory.out, unit), *replaced}
    asked = {*quantities_of(unit.determinants)}
    for entry in inventory.entries():
        is_same = entry.run_id == unit.run_id and entry.path not in own
        if is_same and asked & {*entry.quantities}:
            return entry
    return None
