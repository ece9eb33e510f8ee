"""One correlation in many papers at once, and the check that it is negative."""

from __future__ import annotations

import numpy as np
from scipy import stats

from analysis.audit.evidence import decision
from analysis.audit.evidence.checks import Check
from analysis.tidy.frame import Floats


def correlated(x: Floats, y: Floats, given: Floats | None = None) -> tuple[Floats, ...]:
    """Return r of x with each row of y, its 95 % interval by Fisher's z, and p; shape (papers,)."""
    n, held = len(x), 0 if given is None else 1
    basis = np.ones((n, 1)) if given is None else np.column_stack([np.ones(n), given])
    basis = np.linalg.qr(basis)[0]
    left_x, left_y = x - basis @ (basis.T @ x), y - (y @ basis) @ basis.T
    r = (left_y @ left_x) / np.sqrt((left_y**2).sum(axis=1) * (left_x @ left_x))
    reach = stats.norm.ppf(0.975) / np.sqrt(n - 3 - held)
    df = n - 2 - held
    p = 2 * stats.t.sf(np.abs(r) * np.sqrt(df / (1 - r**2)), df)
    return r, np.tanh(np.arctanh(r) - reach), np.tanh(np.arctanh(r) + reach), p


def falling(part: str, condition: str, result: tuple[Floats, ...], n: int) -> list[Check]:
    """Return a check a paper that the correlation is below 0, from what `correlated` found."""
    return [
        Check(part, condition, decision.below(low, high, 0), r, low, high, p, n)
        for r, low, high, p in zip(*result, strict=True)
    ]
