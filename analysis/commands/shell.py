"""Where a statement comes from: the command line, standard input, or DuckDB's own shell."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from analysis.tidy.errors import QueryError
from collect.process.parser import as_typed
from collect.process.requests import temporary_folder
from collect.process.verbs import PROGRAM as COMMAND

#: The shell's program, and the name of the database that `thermoscope database` builds.
PROGRAM, DATABASE = "duckdb", "measurements.duckdb"

_HINT = 'Give one: thermoscope sql "FROM model LIMIT 3"'


def statement(given: str | None) -> str | None:
    """Return the statement to run; None where the shell is to be opened instead.

    Parameters
    ----------
    given
        What stands on the command line; ``-`` means standard input, and so does nothing where
        that is no terminal.

    Raises
    ------
    QueryError
        If standard input holds no statement.
    """
    if given is not None and given != "-":
        return given
    if given is None and sys.stdin.isatty():
        return None
    text = sys.stdin.read()
    if not text.strip():
        raise QueryError("Standard input must hold a statement; it is empty.", _HINT)
    return text


def open_shell(
    sources: Sequence[Path | str], *, are_shipped: bool = False, command: str = COMMAND
) -> int:
    """Run DuckDB's shell on a database of the measurements, read-only, and return its exit code.

    Parameters
    ----------
    sources
        What is to be opened: one ``.duckdb`` file, or directories, of which a database is made
        that lasts as long as the shell.
    are_shipped
        Whether they are all that the project ships: then the project's own database is opened,
        if it was made later than every file of theirs.
    command
        What the person calls the command line.

    Raises
    ------
    QueryError
        If the shell is not installed, or a source does not lie on this machine.
    """
    program = shutil.which(PROGRAM)
    if program is None:
        raise QueryError(
            f"Without a query DuckDB's shell is opened; no program {PROGRAM} is installed.", _HINT
        )
    missing = [str(source) for source in sources if not Path(source).exists()]
    if missing:
        raise QueryError(
            f"DuckDB's shell must be given files on this machine; {missing[0]} is not there.",
            "Name directories of measurements, or one database file.",
        )
    places = [Path(source) for source in sources]
    if len(places) == 1 and places[0].is_file():
        return _run([program, "-readonly", str(places[0])])
    built = places[0].parent / DATABASE
    if are_shipped and _holds(built, places):
        return _run([program, "-readonly", str(built)])
    with temporary_folder("thermoscope-") as folder:
        database = folder / DATABASE
        note = "is made for this shell alone; thermoscope database makes one that stays"
        message = f"note: a database of {', '.join(map(str, places))} {note}"
        print(as_typed(message, command), file=sys.stderr)
        words = ["database", *map(str, places), "--out", str(database)]
        made = [sys.executable, "-m", "collect", *words]
        code = subprocess.run(made, check=False, stdout=subprocess.DEVNULL).returncode
        return code or _run([program, "-readonly", str(database)])


def _run(command: Sequence[str]) -> int:
    """Run a program until it ends, and return 1 if with an error; an interruption is its alone."""
    with subprocess.Popen(command) as process:
        while True:
            try:
                return int(process.wait() != 0)
            except KeyboardInterrupt:
                continue


def _holds(database: Path, places: Sequence[Path]) -> bool:
    """Return whether a database is there that is later than every file of some directories."""
    if not database.is_file():
        return False
    files = (path for place in places for path in place.rglob("*") if path.is_file())
    return max(path.stat().st_mtime for path in files) < database.stat().st_mtime
