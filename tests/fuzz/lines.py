"""The command line: verbs, options and values in any order, right ones among wrong ones."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from tests.fuzz import mutation
from tests.fuzz.command import called, started
from tests.fuzz.configs import CONFIGS, weights
from tests.fuzz.trial import Case

ROOT = Path(__file__).parents[2]
PAPER = ROOT / "tests" / "analysis" / "second_paper"

#: By package: verbs with what each may be given. Nothing here trains or reaches the network.
VERBS: dict[str, dict[str, tuple[str, ...]]] = {
    "analysis": {
        "claims": ("--csv", "--json", "--check", "--adjusted"),
        "claim": ("1", "2", "99", "--json"),
        "sql": ("FROM raw.model", "SELECT 1", "--csv", "DROP TABLE model"),
        "l-star": ("--profile", "trace_multi_head", "--csv"),
        "signs": ("--gain", "gain_body", "--band", "0.1", "--csv"),
        "stated": ("--csv",),
        "forensics": ("paper/claim.csv", "--alpha", "0.05", "--csv"),
        "report": ("--examine", "paper/claims.py", "paper"),
    },
    "collect": {
        "plan": ("model", "--prompts", "A_grand_unified", "--json", "--dtype", "float32", "--out"),
        "run": ("paper", "--prompts", "paper/claim.csv", "--quiet", "--batch-size", "0", "--out"),
        "status": ("paper", "store", "--json"),
        "check": ("paper", "store"),
        "train": ("paper/claim.csv", "--quiet", "--out", "new"),
        "study": ("paper/claim.csv", "--plan", "--processes", "2", "--out", "new"),
        "published": ("paper", "--out", "new", "--figures"),
        "database": ("paper", "store", "--out", "new/x.duckdb", "paper/claim.csv"),
        "gauge": ("model", "--out", "new", "--seed", "1", "--lower"),
        "codebook": ("--check",),
        "models": ("--json",),
    },
}
#: Where `database` and `analysis --paper FOLDER report` write unless told otherwise.
UNTOLD = ("data/measurements.duckdb", "paper/report/")

PLACES = ("paper", "store", "model", "new", "paper/claim.csv", "paper/claims.py", "none", ".", "")


def draw(rng: np.random.Generator, folder: Path) -> Case:
    """Return a line of arguments to be run, now and then in a process of its own."""
    shutil.copytree(PAPER, folder / "paper", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "store").mkdir()
    _model(rng, folder / "model")
    package = str(rng.choice(list(VERBS)))
    verb = str(rng.choice(list(VERBS[package])))
    arguments = _arguments(rng, package, verb)
    is_process = rng.random() < 0.02

    def act() -> tuple[int, str]:
        return (started if is_process else called)(package, arguments)

    return Case(f"python -m {package} {arguments!r}", act, writes=("new", *UNTOLD))


def _arguments(rng: np.random.Generator, package: str, verb: str) -> list[str]:
    known = VERBS[package][verb]
    chosen = [str(rng.choice(known)) for _ in range(int(rng.integers(0, 5)))]
    for place, one in enumerate(chosen):
        shape = rng.random()
        if shape < 0.1:
            chosen[place] = str(rng.choice(PLACES))
        elif shape < 0.2:
            chosen[place] = mutation.text(rng, one, most=1)
        elif shape < 0.25:
            chosen[place] = mutation.piece(rng)
    if verb == "codebook":
        chosen = ["--check", *chosen]  # without it the project's own file would be written
    opened = ["--paper", "paper"] if package == "analysis" and rng.random() < 0.8 else []
    if package == "analysis" and rng.random() < 0.2:
        opened = ["--data", str(rng.choice(PLACES))]
    # No process can be started with a zero byte in its arguments.
    return [one.replace("\0", "") for one in (*opened, verb, *chosen)]


def _model(rng: np.random.Generator, place: Path) -> None:
    import json

    place.mkdir()
    config = CONFIGS[int(rng.integers(len(CONFIGS)))]
    (place / "config.json").write_text(json.dumps(config))
    (place / "model.safetensors").write_bytes(weights())
