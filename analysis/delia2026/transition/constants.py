"""Where the three constants of the formula for L* come from: least squares on every set of values.

The formula says L* / L = a + b L + c / H. No file says to which values it was fitted, so all sets
of the published ones are tried.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from analysis.audit import evidence
from analysis.audit.evidence import quoted
from analysis.delia2026.transition.published import stated
from analysis.store import Store
from analysis.tidy.frame import Floats

#: The file that states L* of five larger models, read with four-bit weights.
EXTENDED = "H4_v2_extended_20260106_012606.json"

#: The constants as printed in section 5.3: of 1, of L and of 1 / H.
PRINTED = ("0.11", "0.012", "4.9")

#: Values that are no turn of a trace: an onset of NaN, and packed bytes read as weights.
ARTEFACTS = {
    "EleutherAI/pythia-6.9b": "the layer from which its trace is NaN",
    "google/gemma-2b": "bytes of packed four-bit weights read as numbers",
}


def published_values(store: Store) -> pd.DataFrame:
    """Return the nine published L* of a largest step; fewer rows where the store lacks some.

    Columns: `model_id`, `suite`, `n_layers`, `n_heads`, `estimate` (L*), `file`, `caveats` and
    `is_artefact`.
    """
    first = stated(store, evidence.TRACES)
    later = quoted.at(store, EXTENDED)[["subject", "printed"]]
    shapes = store.query("SELECT model_id, suite, n_layers, n_heads FROM raw.model")
    larger = later.merge(shapes, left_on="subject", right_on="model_id").assign(
        estimate=lambda rows: rows["printed"].astype("float64"), file=EXTENDED, caveats="B9"
    )
    columns = ["model_id", "suite", "n_layers", "n_heads", "estimate", "file", "caveats"]
    both = pd.concat([first[columns], larger[columns]], ignore_index=True)
    return both.assign(is_artefact=both["model_id"].isin(list(ARTEFACTS)))


def least_squares(values: pd.DataFrame) -> Floats:
    """Return a, b and c of L* / L = a + b L + c / H, shape (3,); NaN where they are not determined.

    ``values`` has one row per model: `n_layers`, `n_heads`, `estimate` (L*).
    """
    return _solve(*_equations(values))


def _equations(values: pd.DataFrame) -> tuple[Floats, Floats]:
    """Return the design, shape (models, 3), and L* / L, shape (models,)."""
    depth, heads, layer = (
        values[name].to_numpy(dtype=np.float64) for name in ("n_layers", "n_heads", "estimate")
    )
    return np.column_stack([np.ones_like(depth), depth, 1 / heads]), layer / depth


def _solve(design: Floats, shares: Floats) -> Floats:
    result, _, rank, _ = np.linalg.lstsq(design, shares, rcond=None)
    return np.asarray(result if rank == len(PRINTED) else np.full(len(PRINTED), np.nan))


def every_set(values: pd.DataFrame) -> pd.DataFrame:
    """Return one row per set of values that determines the constants.

    Columns: `models` (their names, joined), `n_models`, `constant`, `by_depth`, `by_heads` (a, b,
    c), `prints` (whether all three print as in the paper) and `is_artefact` (whether a value that
    is no turn of a trace is in the set).
    """
    rows = []
    design, shares = _equations(values)
    names = values["model_id"].str.partition("/")[2].to_numpy()
    artefacts = values["is_artefact"].to_numpy(dtype=bool)
    for size in range(len(PRINTED), len(values) + 1):
        for chosen in map(list, combinations(range(len(values)), size)):
            fitted = _solve(design[chosen], shares[chosen])
            if np.isnan(fitted).any():
                continue
            rows.append(
                {
                    "models": ", ".join(names[chosen]),
                    "n_models": size,
                    **dict(zip(("constant", "by_depth", "by_heads"), fitted, strict=True)),
                    "prints": all(map(evidence.prints_as, fitted, PRINTED)),
                    "is_artefact": bool(artefacts[chosen].any()),
                    "n_artefacts": int(artefacts[chosen].sum()),
                }
            )
    return pd.DataFrame(rows)
