"""The paper's result files, invented and spoilt, to be imported."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

import numpy as np

from collect.published import catalogue
from collect.published.importer import import_results
from tests.fuzz import mutation
from tests.fuzz.trial import Case

DOCUMENT = {
    "timestamp": "2026-01-05",
    "models": {
        "EleutherAI/pythia-160m": {"n_layers": 12, "gain": 1.05, "gains": [1.0, 1.1, None]},
        "gpt2": {"L_star": 7, "rho": 0.5, "by_prompt": {"The capital": {"gain": 0.9}}},
    },
    "results": [{"model": "gpt2", "gain": 1.0}, {"model": "facebook/opt-125m", "gain": "0.9"}],
    "summary": {"r": -0.9, "p": 1e-5, "is_true": True},
}
TABLE = "model,lab,n_layers,gain\ngpt2,OpenAI,12,0.95\nEleutherAI/pythia-160m,EleutherAI,12,1.1\n"


def draw(rng: np.random.Generator, folder: Path) -> Case:
    """Return a directory of result files to be imported, over what an earlier import left."""
    source = folder / "raw"
    source.mkdir()
    name = str(rng.choice(sorted(catalogue.files())))
    if name.endswith(".csv"):
        content = mutation.raw(rng, TABLE)
    elif rng.random() < 0.6:
        content = json.dumps(mutation.document(rng, DOCUMENT)).encode()
    else:
        content = mutation.raw(rng, json.dumps(DOCUMENT))
    (source / name).write_bytes(content)
    before = folder / "out" / "published_value" / "results.parquet"
    if rng.random() < 0.5:
        before.parent.mkdir(parents=True)
        before.write_bytes(b"what an earlier import left")

    def act() -> None:
        with contextlib.redirect_stderr(io.StringIO()):
            import_results(source, folder / "out")

    return Case(f"{name} as {content!r}", act, writes=("out/",))
