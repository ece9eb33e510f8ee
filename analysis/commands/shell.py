"""Where a statement comes from: the command line, standard input, or DuckDB's own shell."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from analysis.tidy.errors import QueryError

#: The shell's program, and the database it opens: what `collect database` builds.
PROGRAM = "duckdb"
DATABASE = Path("data/measurements.duckdb")

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


def open_shell(sources: Sequence[Path | str]) -> int:
    """Run DuckDB's shell on a database of the measurements, read-only, and return its exit code.

    Parameters
    ----------
    sources
        What ``--data`` names: one ``.duckdb`` file is opened; with none, the project's database.

    Raises
    ------
    QueryError
        If the shell is not installed, or there is no database file to open.
    """
    database = Path(sources[0]) if len(sources) == 1 else DATABASE
    program = shutil.which(PROGRAM)
    if program is None:
        raise QueryError(
            f"Without a query DuckDB's shell is opened; no program {PROGRAM} is installed.", _HINT
        )
    if not database.is_file():
        raise QueryError(
            f"DuckDB's shell must be given one database file; {database} is none.",
            "Build it with: thermoscope collect database",
        )
    return subprocess.run([program, "-readonly", str(database)], check=False).returncode
