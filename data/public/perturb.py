"""State what quantisation leaves open: ``python data/public/perturb.py [FILE.gguf ...]``.

Each public model is measured as it is, then again with one more rounding error of its file's own
size, by several seeds; `perturbation.csv` has what that does to the gains on one prompt set.
Models that are not named keep their rows. Files come from `make.py`; units stay in
``.cache/public/perturbed``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from analysis.heritage.public import rounding
from analysis.store import open_store
from analysis.tidy.spreadsheet import to_csv

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import make  # noqa: E402

#: The prompt set, and how often a model is perturbed.
PROMPTS, SEEDS = "A_grand_unified", "3"


def main(files: list[str]) -> None:
    """Measure models, where that was not done, and write the table."""
    path, parts = HERE / "perturbation.csv", []
    for file in files or [row["file"] for row in make.table("gguf_file")]:
        units = make.CACHE / "perturbed" / file
        asked = ("--quantities", "stream", "--perturb", "step", "--seeds", SEEDS)
        make.collect("run", make.fetched(file), "--prompts", PROMPTS, *asked, "--out", units)
        parts.append(rounding.effects(open_store(units)))
    table = pd.concat(parts)
    if path.is_file():
        known = pd.read_csv(path)
        table = pd.concat([known[~known["model_id"].isin(table["model_id"])], table])
    path.write_text(to_csv(table.sort_values("model_id", kind="stable")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
