"""What every verb's options share: where they are added, and the output."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TypeAlias

Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def local(typed: str) -> Path:
    """Return the path of what is written; see `collect.schema.paths.as_local`."""
    from collect.schema.paths import as_local  # the help needs nothing of the schema

    return as_local(typed)


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add where to write, and how much to say."""
    output = parser.add_argument_group("output")
    output.add_argument("--out", type=local, required=True, metavar="DIR", help="where to write")
    output.add_argument("--overwrite", action="store_true", help="do again what is there already")
    output.add_argument("--quiet", action="store_true", help="say nothing but errors")
