"""How often the verdict rule says what of papers with planted truths; writes the shipped table.

``python -m tests.proofs.verdict_rates 1000`` writes ``data/published/verdict_rate.csv`` and a dated
text; the exit code is 1 where nothing rules and more than `MOST_REPRODUCED` are reproduced.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd

from analysis import audit as claims
from analysis.delia2026.pages.register import CLAIMS
from analysis.delia2026.pages.verdict_rule import MOST_REPRODUCED
from analysis.delia2026.sign import calibrated
from analysis.delia2026.tournament import choice
from analysis.store import open_store
from analysis.tidy.spreadsheet import to_csv
from tests.proofs.simulated import rates as planted
from tests.proofs.simulated.design import design_of

ROOT = Path(__file__).parents[2]
SEED = 20261122


def rates(n_papers: int, seed: int = SEED) -> pd.DataFrame:
    """Return the rates of `tests.proofs.simulated.rates` on the shipped models."""
    store = open_store(ROOT / "data/published")
    design = design_of(store)
    kinds = {claim_id: claims.claim(claim_id, CLAIMS).kind for claim_id in planted.JUDGED}
    return planted.rates(
        design, n_papers, np.random.default_rng(seed), kinds, calibrated.rules(store)
    )


def too_often(result: pd.DataFrame) -> pd.DataFrame:
    """Return the rows where a nothing-rules paper is clearly reproduced more often than stated."""
    wrong = result[(result["truth"] == "nothing") & (result["verdict"] == "reproduced")]
    shares, sizes = wrong["probability"].to_numpy(), wrong["n_papers"].to_numpy()
    return wrong[choice.least(shares, sizes) > MOST_REPRODUCED]


def main(n_papers: int) -> int:
    """Write the table and the dated text; 1 where the rule errs more often than stated."""
    result = rates(n_papers)
    (ROOT / "data/published/verdict_rate.csv").write_text(to_csv(result), encoding="utf-8")
    shown = result.pivot_table(
        index=["claim_id", "truth", "wrong_labels"], columns="verdict", values="probability"
    )
    day = datetime.now(UTC).date().isoformat()
    text = f"{n_papers} papers of each truth, seed {SEED}, {day}\n\n{shown.to_string()}\n"
    Path(__file__).with_name(f"verdict_rates_{day}.txt").write_text(text, encoding="utf-8")
    print(text)
    return int(len(too_often(result)) > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
