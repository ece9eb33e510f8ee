"""Where the project's own files lie: in the working directory, else in the clone of the code."""

from __future__ import annotations

from pathlib import Path

import analysis
from analysis.tidy.errors import StoreError


def project_root() -> Path:
    """Return the directory that holds ``data/``: the working directory, else the checkout."""
    here = Path.cwd()
    return here if (here / "data" / "published").is_dir() else Path(analysis.__file__).parents[1]


def writable_root() -> Path:
    """Return the project's root, for writing; an installed copy is never written to.

    Raises
    ------
    StoreError
        If there is no clone of the project.
    """
    root = project_root()
    if not (root / "data" / "published").is_dir():
        raise StoreError(
            f"Verdicts must be written into a clone of the project; {root} is none.",
            "Run this in the clone.",
        )
    return root


def default_sources() -> list[Path]:
    """Return the directories every command reads unless told otherwise.

    Raises
    ------
    StoreError
        If the published figures are not where the project keeps them.
    """
    root = project_root()
    if not (root / "data" / "published").is_dir():
        raise StoreError(
            f"Data must lie in data/ of the working directory; {Path.cwd()} has none.",
            "Run from a clone of the project, or name directories with --data.",
        )
    named = ("data/published", "data/sample", "data/fleet")
    return [root / name for name in named if (root / name).is_dir()]
