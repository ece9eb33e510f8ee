"""What commands read and write unless told otherwise; see `collect.process.shipped`."""

from __future__ import annotations

import csv
from pathlib import Path

from analysis.tidy.errors import AnalysisError, StoreError
from collect.process import shipped


def refuse_unknown(claim_id: int) -> None:
    """Refuse a number that no claim bears, before anything large is imported.

    Raises
    ------
    AnalysisError
        If the table of claims that the project ships does not have it.
    """
    statements = shipped.project() / "data" / "published" / "claim.csv"
    if not statements.is_file():
        return
    with statements.open(encoding="utf-8", newline="") as handle:
        numbers = sorted(int(row["claim_id"]) for row in csv.DictReader(handle))
    if claim_id not in numbers:
        raise AnalysisError(
            f"A claim must be one of those that can be judged; {claim_id} is not.",
            f"Choose from {numbers[0]} to {numbers[-1]}; a claim that is new is added by: "
            "thermoscope claims --write",
        )


def writable_root() -> Path:
    """Return the project's root, for writing; an installed copy is never written to.

    Raises
    ------
    StoreError
        If there is no clone of the project.
    """
    root = shipped.project()
    if not shipped.is_clone() and root == shipped.root():
        raise StoreError(
            f"Verdicts must be written into a clone of the project; {Path.cwd()} is not one.",
            "Run this in the clone.",
        )
    return root


def project_of_pages() -> Path:
    """Return the directory of the report's sources.

    Raises
    ------
    StoreError
        If the working directory has data of its own and no sources.
    """
    project = shipped.project() / "quarto"
    if not (project / "_quarto.yml").is_file():
        raise StoreError(
            f"The pages' sources must lie in quarto/ beside data/; {Path.cwd()} has none.",
            "Run it in a clone, or in a folder without data/published, where those that came with "
            "the package are taken.",
        )
    return project


def home() -> Path:
    """Return the folder of the paper that is judged unless another is named.

    Raises
    ------
    StoreError
        If the project's data are not where it puts them.
    """
    from analysis.store.sources import default_sources

    return default_sources()[0]
