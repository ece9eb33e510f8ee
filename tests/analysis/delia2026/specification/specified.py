"""One specification of a curve, found by what was chosen."""

import numpy as np


def rng():
    return np.random.default_rng(1)


def one(result, **chosen):
    """Return the specification with these choices, others at their first level."""
    defaults = {"gain": "penultimate block", "figure": "most prompts", "models": "base"}
    defaults |= {"left_out": "none", "outcome": "mean below 1", "unit": "model"}
    defaults |= {"groups": "EleutherAI / other labs", "estimator": "difference"}
    rows = result.specifications
    for name, level in (defaults | chosen).items():
        rows = rows[rows[name] == level]
    assert len(rows) == 1
    return rows.iloc[0]
