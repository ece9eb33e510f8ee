"""The one command line as who types ``python -m collect`` has it; see `collect.process.cli`."""

from __future__ import annotations

from collections.abc import Sequence

from collect.process.cli import main as of_both


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    return of_both(arguments, program="python -m collect")
