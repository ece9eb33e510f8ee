"""Quarto runs this before it renders: the Python that it will use must have what chunks need.

Only the standard library is used here, so that this message comes before any other.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

NEEDED = ("nbformat", "nbclient", "ipykernel", "yaml", "duckdb", "altair", "vl_convert", "analysis")
ROOT = Path(__file__).resolve().parents[2]
QUARTO = ROOT / "quarto"

#: Prints the packages that cannot be found, without importing any.
SEARCH = (
    "import importlib.util as u, sys; "
    "print(*[name for name in sys.argv[1:] if u.find_spec(name) is None])"
)


def main() -> int:
    """Return 0 if nothing is missing, else say in two lines what is and what to do."""
    python = os.environ.get("QUARTO_PYTHON") or sys.executable
    problem = _problem(python)
    if not problem:
        return 0
    there = ROOT / ".venv" / "bin" / "python"
    needed = "error: The report needs the Python of the project's environment"
    first = "" if there.exists() else " (after: make install)"
    print(f"{needed}; {problem}.", file=sys.stderr)
    print(f'hint: Run: QUARTO_PYTHON="{there}" quarto render quarto{first}', file=sys.stderr)
    return 1


def _problem(python: str) -> str:
    try:
        result = subprocess.run(
            [python, "-c", SEARCH, *NEEDED], capture_output=True, text=True, check=False, cwd=QUARTO
        )
    except OSError as error:
        return f"{python} cannot be run: {error.strerror}"
    if result.returncode:
        return f"{python} ended with code {result.returncode}"
    missing = result.stdout.split()
    return f"{python} lacks {', '.join(missing)}" if missing else ""


if __name__ == "__main__":
    sys.exit(main())
