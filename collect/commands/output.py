"""What every verb's options share: paths on this machine, where to write, how much to print."""

from __future__ import annotations

import argparse
from pathlib import Path


def local(typed: str) -> Path:
    """Return the path of what is written; see `collect.schema.paths.local_path`."""
    from collect.schema.paths import local_path  # the help needs nothing of the schema

    return local_path(typed)


def add_output(parser: argparse.ArgumentParser, *, is_required: bool = True) -> None:
    """Add where to write, and how much to print."""
    output = parser.add_argument_group("output")
    output.add_argument(
        "--out", type=local, required=is_required, metavar="DIR", help="where to write"
    )
    output.add_argument("--overwrite", action="store_true", help="do again what is there already")
    output.add_argument("--quiet", action="store_true", help="print nothing but errors")
