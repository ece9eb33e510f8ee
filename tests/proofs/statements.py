"""Hostile statements: every kind that DuckDB has, in every place where one can hide."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

#: Statements by kind, functions that must not be reached, and places around a statement.
STATEMENTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def statement(rng: np.random.Generator, files: Sequence[str], tables: Sequence[str]) -> str:
    """Return one statement, drawn: a kind, a form of it, and a place to hide it in."""
    file = str(rng.choice(list(files))).replace("'", "''")
    words = {"file": file, "table": str(rng.choice(list(tables))), "name": f"n{rng.integers(100)}"}
    shape = rng.random()
    if shape < 0.7:
        kinds = STATEMENTS["kinds"]
        core = str(rng.choice(kinds[str(rng.choice(list(kinds)))])).format(**words)
    elif shape < 0.9:
        core = "SELECT * FROM " + str(rng.choice(STATEMENTS["calls"])).format(**words)
    else:
        core = "SELECT " + str(rng.choice(STATEMENTS["scalars"])).format(**words)
    if rng.random() < 0.1:
        core = core.swapcase() if "'" not in core else core
    place = str(rng.choice(STATEMENTS["places"]))
    return place.replace("{s}", core).replace("{q}", core.replace("'", "''")).replace("{f}", file)
