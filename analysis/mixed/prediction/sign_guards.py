"""What is against the numbers of a fit of a binary response, beside what the design says."""

from __future__ import annotations

import numpy as np

from analysis.mixed.frames.guards import GuardRow
from analysis.mixed.prediction.logistic import Logistic

#: Rows a level at which the Laplace approximation is known to be rough.
FEW_ROWS = 2

#: Rows of the rarer outcome per fixed effect that its Wald test wants (Peduzzi et al. 1996).
ENOUGH_OUTCOMES = 10


def of_search(model: Logistic) -> list[GuardRow]:
    """Return what is against every number of the fit."""
    rows: list[GuardRow] = []
    if model.solution.singular:
        note = "The fit is singular: a variance is zero or a correlation is one."
        rows.append(("variance at the boundary", "", "", note))
    if not model.solution.converged:
        note = "The search for the maximum did not converge: do not use the estimates."
        rows.append(("not converged", "", "", note))
    return rows


def rare_outcome(model: Logistic) -> list[GuardRow]:
    """Return a warning where one outcome is rare for as many fixed effects."""
    successes = float(model.statistics.product(0, 1).sum())
    rarer = int(min(successes, model.statistics.n_obs - successes))
    if rarer >= ENOUGH_OUTCOMES * len(model.terms):
        return []
    note = (
        f"The rarer outcome occurs in {rarer} rows for {len(model.terms)} fixed effects: "
        "estimates lean away from zero and Wald tests are unreliable."
    )
    return [("rare outcome", "", "", note)]


def few_rows(model: Logistic) -> list[GuardRow]:
    """Return a warning for every group whose levels hold one row or two, most of them."""
    rows: list[GuardRow] = []
    for block in model.design.blocks:
        n_rows = np.bincount(block.codes, model.statistics.product(0, 0), len(block.levels))
        if np.median(n_rows) <= FEW_ROWS:
            note = (
                f"Half of the levels of {block.group} or more hold at most {FEW_ROWS} rows: the "
                "Laplace approximation is rough there, of its variance most of all. Of one group "
                "glmm.fit(rows, formula, family='binomial', nagq=9) integrates by quadrature."
            )
            rows.append(("few rows a level", "", block.group, note))
    return rows
