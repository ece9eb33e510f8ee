"""A command run in this process with its output captured, or as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryFile

from analysis.commands.cli import main as analysis_main
from collect.commands.cli import main as collect_main

ROOT = Path(__file__).parents[2]
MAINS: dict[str, Callable[[Sequence[str] | None], int]] = {
    "analysis": analysis_main,
    "collect": collect_main,
}


def called(package: str, arguments: Sequence[str]) -> tuple[int, str]:
    """Return exit code and standard error of ``main``, run here.

    Both streams are files, because a command may take their descriptors.
    """
    with (
        TemporaryFile("w+", encoding="utf-8") as out,
        TemporaryFile("w+", encoding="utf-8", errors="backslashreplace") as err,
    ):
        kept = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = out, err
        try:
            code = MAINS[package](list(arguments))
        except SystemExit as end:  # argparse ends so
            code = end.code if isinstance(end.code, int) else 1
        finally:
            sys.stdout, sys.stderr = kept
        err.seek(0)
        return code, err.read()


def started(package: str, arguments: Sequence[str]) -> tuple[int, str]:
    """Return exit code and standard error of ``python -m`` in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", package, *arguments],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        timeout=120,
    )
    return done.returncode, done.stderr.decode("utf-8", "replace")
