"""What every verb's options share: where they are added, and the output."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TypeAlias

Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add where to write, and how much to say."""
    output = parser.add_argument_group("output")
    output.add_argument("--out", type=Path, required=True, metavar="DIR", help="where to write")
    output.add_argument("--overwrite", action="store_true", help="do again what is there already")
    output.add_argument("--quiet", action="store_true", help="say nothing but errors")
    output.add_argument(
        "--progress", action="store_true", help="show progress even when not at a terminal"
    )
