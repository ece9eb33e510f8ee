"""Where the project's own files lie: in the working directory, else in the clone of the code."""

from __future__ import annotations

import csv
from pathlib import Path

import analysis
from analysis.tidy.errors import AnalysisError, StoreError


def project_root() -> Path:
    """Return the directory that holds ``data/``: the working directory, else the checkout."""
    here = Path.cwd()
    return here if (here / "data" / "published").is_dir() else Path(analysis.__file__).parents[1]


def is_clone() -> bool:
    """Tell whether this code lies in a clone of the project, and not among installed packages."""
    return (Path(analysis.__file__).parents[1] / "data" / "published").is_dir()


def refuse_unknown(claim_id: int) -> None:
    """Refuse a number that no claim bears, before anything large is imported.

    Raises
    ------
    AnalysisError
        If the table of claims that the project ships does not have it.
    """
    statements = project_root() / "data" / "published" / "claim.csv"
    if not statements.is_file():
        return
    with statements.open(encoding="utf-8", newline="") as handle:
        numbers = sorted(int(row["claim_id"]) for row in csv.DictReader(handle))
    if claim_id not in numbers:
        raise AnalysisError(
            f"A claim must be one of those that can be judged; {claim_id} is not.",
            f"Choose from {numbers[0]} to {numbers[-1]}.",
        )


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


def project_of_pages() -> Path:
    """Return the directory of the report's sources, which an installed copy does not have.

    Raises
    ------
    StoreError
        If there is no clone of the project.
    """
    project = project_root() / "quarto"
    if not (project / "_quarto.yml").is_file():
        raise StoreError(
            "The pages' sources must lie in quarto/ of a clone of the project; "
            "this is an installed copy, run outside of one.",
            "Run it in a clone, or install the clone itself: pip install -e '.[report]'",
        )
    return project


def home() -> Path:
    """Return the folder of the paper that is judged unless another is named.

    Raises
    ------
    StoreError
        If the project's data are not where it puts them.
    """
    return default_sources()[0]


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
