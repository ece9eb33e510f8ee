"""What each level of a group does to the fixed effects: the fit without it.

Every level is left out of the sums, and the model is fitted again from where it ended. Cook's
distance is (b - b_i)' inv(V) (b - b_i) / p with the covariance V of the whole fit (Demidenko and
Stukel 2005, Statistics in Medicine 24, 893), as R's HLMdiag has it.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.mixed.inference.fitted import Fitted
from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError, DesignError
from analysis.tidy.frame import nearest
from analysis.tidy.progress import progress


def influence(model: Fitted, group: str) -> pd.DataFrame:
    """Return the fixed effects without each level of a factor; see `Answers.influence`."""
    factors = model.statistics.factors
    if group not in factors:
        raise DesignError(
            f"A group must be a factor that was collected; the nearest to {group!r} is "
            f"{nearest(group, list(factors))!r}.",
            f"Name it when fitting: units=[{group!r}].",
        )
    factor = factors[group]
    inverse = np.linalg.inv(model.inference.plain_covariance)
    rows = []
    for code, level in progress(list(enumerate(factor.levels)), "levels left out"):
        kept = factor.codes != code
        estimates, note = np.full(len(model.terms), np.nan), ""
        try:
            left = model.solved(
                model.formula,
                model.statistics.within(kept),
                reml=model.reml,
                contrasts=model.contrasts,
                aliased=model.aliased,
                start=model.optimum.theta,
            )
            if left.terms == model.terms:
                estimates = left.coefficients
            else:
                note = "Without the level the fixed part has other columns."
        except AnalysisError as error:
            note = str(error).partition("\n")[0]
        change = estimates - model.coefficients
        distance = float(change @ inverse @ change) / len(change)
        n_obs = round(float(model.statistics.counts[kept].sum()))
        rows += [
            (group, level, term, estimate, moved, distance, n_obs, note)
            for term, estimate, moved in zip(model.terms, estimates, change, strict=True)
        ]
    columns = ["group", "level", "term", "estimate", "change", "cooks_distance", "n_obs", "note"]
    return glossary.table(rows, columns, method="Fit without the level")
