"""State what quantisation leaves open: ``python data/public/perturb.py [FILE.gguf ...]``.

Each public model is measured as it is, then again with one more rounding error of its file's own
size, by several seeds; `perturbation.csv` has what that does to the gains on one prompt set.
Models that are not named keep their rows. Files come from `make.py`; units stay in
``.cache/public/perturbed``.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd

from analysis.heritage.public import rounding
from analysis.store import open_store

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import make  # noqa: E402

#: The prompt set, and how often a model is perturbed.
PROMPTS, SEEDS = "A_grand_unified", "3"


def main(files: list[str]) -> None:
    """Measure models, where that was not done, and write the table."""
    path, found = HERE / "perturbation.csv", []
    for file in files or [row["file"] for row in make.table("gguf_file")]:
        units = make.CACHE / "perturbed" / file
        asked = ("--quantities", "stream", "--perturb", "step", "--seeds", SEEDS)
        command = ("collect", "run", make.fetched(file), "--prompts", PROMPTS, *asked)
        subprocess.run([sys.executable, "-m", *command, "--out", units], cwd=make.ROOT, check=True)  # noqa: S603
        found.append(rounding.effects(open_store(units)))
    table = pd.concat(found)
    if path.is_file():
        known = pd.read_csv(path)
        table = pd.concat([known[~known["model_id"].isin(table["model_id"])], table])
    table.sort_values("model_id", kind="stable").to_csv(path, index=False)


if __name__ == "__main__":
    main(sys.argv[1:])
