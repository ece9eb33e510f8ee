"""The files of several directories, each checked once, as one set of tables."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from collect.schema.contract import MEASURED, ContractError
from collect.schema.files import stored_twice, table_files
from collect.schema.headers import READ_WHOLE, Headers, cache, written
from collect.schema.run_files import Comparison, Measured, RunFile, compare, read_run_file

#: Tables whose files lie in a directory of their own and are listed by the run files of units.
_LISTED = (*MEASURED, "prompt")


class Sources:
    """What to open: the files of each table, of the directories added so far.

    Attributes
    ----------
    files
        Files by table. A unit that two directories hold alike is taken from the first.
    headers
        Their headers.
    vouched
        Those for whose rows a run file vouches.
    comparison
        In what measured files were compared with their run files.
    """

    def __init__(self, *, contents: bool = False) -> None:
        self.files: dict[str, list[Path]] = {}
        self.headers = Headers()
        self.vouched: set[Path] = set()
        self.comparison = Comparison()
        self._contents = contents
        self._runs: dict[str, list[tuple[Measured, Path]]] = {}
        self._ways: dict[tuple[str | None, ...], tuple[str, Path]] = {}

    def add(self, directory: Path) -> None:
        """Add a directory.

        Raises
        ------
        ContractError
            If it holds no table, or one twice; a file is damaged, or not as its run file says;
            or it holds a unit otherwise than another directory.
        """
        by_table = table_files(directory)
        _check_once(directory, by_table)
        if not by_table:
            raise ContractError(
                f"{directory} must hold at least one table of measurements; found none.",
                "Expected <table>.csv, <table>.parquet or <table>/*.parquet in it.",
            )
        marks = [path for path in by_table.get("run", []) if path.parent.name == "run"]
        paths = [path for paths in by_table.values() for path in paths]
        measured = [path for path in paths if path.parent != directory]
        written.leave(directory)
        since = time.time_ns()
        kept = cache.recalled(directory, measured, self.headers.layouts)
        self.headers.add(kept)
        for table in READ_WHOLE:
            paths = [path for path in by_table.get(table, []) if path.parent.name == table]
            self.headers.read_ahead(paths)
        units = [read_run_file(path, self.headers) for path in marks]
        self.comparison += compare(directory, units, self.headers, contents=self._contents)
        listed = {directory / name for unit in units for name in unit.mark.rows}
        cache.keep(directory, self.headers.known(measured), len(kept), since)
        self.vouched |= listed
        repeated = self._register(directory, units)
        for table, paths in by_table.items():
            fresh = [p for p in paths if p.parent.name != table or p.stem not in repeated]
            chosen = _listed_files(table, fresh, units, listed)
            if chosen:
                self.files.setdefault(table, []).extend(chosen)

    def _register(self, directory: Path, run_files: Sequence[RunFile]) -> set[str]:
        """Remember each run; return the stems of files that another directory has too.

        Raises
        ------
        ContractError
            If a unit repeats another otherwise, or a pack repeats a part of another directory.
        """
        repeated = set()
        for files in run_files:
            path = directory / "run" / f"{files.stem}.parquet"
            again = [self._is_repetition(unit, path) for unit in files.units]
            if all(again):
                repeated.add(files.stem)
            elif any(again):
                raise ContractError(
                    f"A pack must repeat all of another directory's units or none; {path} repeats "
                    f"{sum(again)} of its {len(again)}.",
                    "Name its directory first; what others repeat of it is then left out.",
                )
        return repeated

    def _is_repetition(self, unit: Measured, path: Path) -> bool:
        """Remember a unit, and return whether another directory has it too."""
        known_run, known_path = self._ways.setdefault(unit.way, (unit.run_id, path))
        if known_path.parent != path.parent and known_run != unit.run_id:
            raise ContractError(
                f"A unit must be measured in one way within a store; {unit.stem} differs "
                f"between {known_path} and {path}.",
                "Open the directories one at a time.",
            )
        known = self._runs.setdefault(unit.run_id, [])
        others = [(held, place) for held, place in known if held.quantities & unit.quantities]
        if not others:
            known.append((unit, path))
            return False
        held, place = others[0]
        if place.parent == path.parent or held.quantities != unit.quantities:
            shared = ", ".join(sorted(held.quantities & unit.quantities))
            raise ContractError(
                f"Each unit must have a run_id of its own, or quantities of its own; {path} "
                f"shares {shared} of {unit.run_id} with {place}.",
                "Open one at a time, or remove one that repeats the other, with its unit's files.",
            )
        return True


def _check_once(directory: Path, files: Mapping[str, Sequence[Path]]) -> None:
    for table, places in stored_twice(directory, files).items():
        several = " and ".join(str(place.relative_to(directory)) for place in places)
        raise ContractError(
            f"Table {table} must lie in one place of {directory}; found {several}.",
            "Its rows would count twice: move one of them elsewhere.",
        )


def _listed_files(
    table: str, paths: Sequence[Path], units: Sequence[RunFile], listed: set[Path]
) -> list[Path]:
    """Return the files that a run file lists, where run files list any.

    A file that bears the name of a complete unit and is not listed is refused. Prompts that are
    not listed are those of a measurement that was interrupted.
    """
    listing = {unit.stem for unit in units if unit.mark.rows}
    if table not in _LISTED or not listing:
        return list(paths)
    strange = [
        path
        for path in paths
        if path.parent.name == table and path.stem in listing and path not in listed
    ]
    if strange:
        raise ContractError(
            f"{strange[0]} must be listed in its unit's run file; it is not.",
            "Remove it, or measure its unit again with --overwrite.",
        )
    is_every_unit_listed = len(listing) == len(units)
    return [
        path
        for path in paths
        if not (table == "prompt" and path.parent.name == table and is_every_unit_listed)
        or path in listed
    ]
