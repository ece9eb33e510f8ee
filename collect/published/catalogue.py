"""The facts the project keeps about the published files, read from ``data/published``."""

from __future__ import annotations

import csv
from functools import cache

from collect.errors import InputError
from collect.process import shipped

#: Where the facts lie.
DIRECTORY = shipped.root() / "data" / "published"


@cache
def files() -> dict[str, dict[str, str]]:
    """Return the row of ``published_file.csv`` by file name; an empty cell is an empty string."""
    return {row["file"]: row for row in _rows("published_file")}


@cache
def units() -> dict[str, str]:
    """Return the unit of every metric by name."""
    return {row["metric"]: row["unit"] for row in _rows("metric")}


@cache
def n_layers() -> dict[str, int]:
    """Return the number of blocks of every model by ``model_id``."""
    return {row["model_id"]: int(row["n_layers"]) for row in _rows("model")}


def _rows(table: str) -> list[dict[str, str]]:
    path = DIRECTORY / f"{table}.csv"
    if not path.is_file():
        raise InputError(
            f"The published files are described in {path}, which is not there.",
            "Install the package again, or run from a whole clone.",
        )
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))
