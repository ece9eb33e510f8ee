"""One specification of a curve, found by what was chosen."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.heritage.specification.curve import SpecificationCurve


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def one(result: SpecificationCurve, **chosen: str) -> pd.Series:
    """Return the specification with these choices, others at their first level."""
    defaults = {
        "gain": "penultimate block",
        "figure": "most prompts",
        "models": "base",
        "left_out": "none",
        "outcome": "mean below 1",
        "unit": "model",
        "groups": "EleutherAI / other labs",
        "estimator": "difference",
    }
    rows = result.specifications
    for name, level in (defaults | chosen).items():
        rows = rows[rows[name] == level]
    assert len(rows) == 1
    return rows.iloc[0]
