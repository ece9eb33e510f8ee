"""Files of prompts: any text under any name."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from collect.prompts.sets import load
from tests.fuzz import mutation
from tests.fuzz.trial import Case

WHOLE = "# Factual\nThe capital of France is\n\n## a remark\n# Novel\nA line\\nbroken\\t\\\\ and\n"
RECORDS = (
    '{"id": "a", "text": "The sky", "category": "Factual", "n": 3}\n'
    '{"id": 2, "messages": [{"role": "user", "content": "Hi"}]}\n{"token_ids": [1, 2]}\n'
)
TABLE = 'id,text,category\na,"The, sky",Factual\nb,"two ""and"" two",\n'
NAMES = (
    "mine.txt",
    "A_grand_unified.txt",
    "a b.txt",
    ".txt",
    "-x.txt",
    "é.txt",
    "a" * 240,
    "x.csv",
    "x.jsonl",
)


def draw(rng: np.random.Generator, folder: Path) -> Case:
    """Return a spoilt file of prompts to be read."""
    path = folder / str(rng.choice(NAMES, p=[0.5, *[0.04] * 6, 0.13, 0.13]))
    whole = {".csv": TABLE, ".jsonl": RECORDS}.get(path.suffix, WHOLE)
    content = mutation.raw(rng, whole) if rng.random() < 0.9 else rng.bytes(30)
    path.write_bytes(content)
    if rng.random() < 0.05:
        path = folder / f"{mutation.piece(rng)}/none.txt"

    def act() -> None:
        load(path)

    return Case(f"{path.name!r} as {content!r}", act)
