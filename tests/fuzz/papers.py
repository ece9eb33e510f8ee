"""Folders of another paper, one file of which is spoilt, to be judged."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from tests.fuzz import mutation
from tests.fuzz.command import called
from tests.fuzz.trial import Case

PAPER = Path(__file__).parents[1] / "analysis" / "second_paper"
VERBS = (
    ("claims",), ("claims", "--csv"), ("claims", "--json"), ("claims", "--write"),
    ("claims", "--adjusted"), ("claims", "--check"), ("claim", "1"), ("claim", "2", "--json"),
    ("signs",), ("l-star",), ("stated",),
)  # fmt: skip

#: What `claims --write` writes.
WRITTEN = ("paper/verdict.csv", "paper/verdict_check.csv", "paper/verdicts.csv")


def draw(rng: np.random.Generator, folder: Path) -> Case:
    """Return a folder of a paper and a verb that reads it."""
    place = folder / "paper"
    shutil.copytree(PAPER, place, ignore=shutil.ignore_patterns("__pycache__"))
    files = sorted(place.glob("*"), key=lambda path: path.suffix)
    path = files[int(rng.integers(len(files)))]
    if rng.random() < 0.1:
        path.unlink()
        content = b""
    elif path.suffix == ".csv" and rng.random() < 0.7:
        content = _other_cell(rng, path.read_text()).encode("utf-8", "replace")
        path.write_bytes(content)
    else:
        content = mutation.raw(rng, path.read_text())
        path.write_bytes(content)
    verb = VERBS[int(rng.integers(len(VERBS)))]

    def act() -> tuple[int, str]:
        return called("analysis", ["--paper", str(place), *verb])

    shown = f"analysis --paper DIR {' '.join(verb)} with {path.name} as {content!r}"
    return Case(shown, act, writes=WRITTEN)


def _other_cell(rng: np.random.Generator, whole: str) -> str:
    lines = whole.splitlines()
    row = int(rng.integers(len(lines)))
    cells = lines[row].split(",")
    cells[int(rng.integers(len(cells)))] = mutation.piece(rng)
    lines[row] = ",".join(cells)
    return "\n".join(lines) + "\n"
