"""Where each registered statement stands, as the report shows it and `reports/study.csv` has it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.delia2026.study import registered
from analysis.store import Store

#: Draws the bootstrap of every page and file that shows the outcomes.
SEED = 2026

#: What identifies a row, and what is compared of it.
KEYS = ("claim_id", "condition")
COLUMNS = ("statement", "rule", "predicted", "verdict", *registered.NUMBERS, "note")


def statements(store: Store, *, rng: np.random.Generator) -> pd.DataFrame:
    """Return every registered statement at both horizons: `KEYS` and `COLUMNS`.

    See `registered.outcomes`. Shares are of the `n_groups` recipes whose every run reaches the
    horizon.
    """
    return registered.outcomes(store, rng=rng)[[*KEYS, *COLUMNS]]
