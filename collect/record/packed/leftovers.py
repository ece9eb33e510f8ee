"""Files of packs and packed units that do not count, as a process that was killed leaves them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from collect.record.atomic import locks, placement
from collect.record.packed.packs import TABLES, packs
from collect.schema.packs import MARKS, MARKS_SUFFIX, is_pack


def leftovers(out: Path) -> list[Path]:
    """Return files that do not count: of units that a pack holds, and of packs without run file."""
    complete = {path.stem for path in (out / "run").glob("*.parquet") if is_pack(path.stem)}
    held = {stem for pack in packs(out) for stem in pack.names}
    found = [
        path
        for table in TABLES
        for path in sorted((out / table).glob("*.parquet"))
        if path.stem in held or (is_pack(path.stem) and path.stem not in complete)
    ]
    marks = sorted((out / MARKS).glob(f"*{MARKS_SUFFIX}"))
    return found + [path for path in marks if path.name[: -len(MARKS_SUFFIX)] not in complete]


def remove_leftovers(out: Path) -> None:
    """Remove files that do not count, which a process that was killed left behind.

    Raises
    ------
    OutputError
        If a directory of them may not be changed.
    """
    if not leftovers(out):
        return
    with locks.held(out, locks.OF_MARKS, wait=True):
        found = leftovers(out)
        placement.check_open(path.parent for path in found)
        for path in found:
            path.unlink(missing_ok=True)
        with suppress(OSError):
            (out / MARKS).rmdir()
