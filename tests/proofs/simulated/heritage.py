"""Claim 7 in simulated papers: the lab decides the sign, by Fisher's test on the hunt."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats

from analysis.audit import evidence
from analysis.audit.evidence.checks import Check
from analysis.tidy.frame import Floats
from tests.proofs.simulated.design import Bools, Design


def heritage_checks(design: Design, log_gains: Floats) -> list[list[Check]]:
    """Return the check of claim 7 over all papers: a p-value below .001."""
    part, condition = "the lab decides the sign", "Fisher; hunt"
    p_values = fisher_p(log_gains < 0, design.hunted, design.ours)
    return [
        [
            evidence.missing(part, condition, "the table has an empty margin")
            if np.isnan(p)
            else Check(part, condition, bool(p < 0.001), p_value=float(p))
            for p in p_values
        ]
    ]


def fisher_p(below: Bools, chosen: Bools, ours: Bools) -> Floats:
    """Return Fisher's p of each paper; NaN where a margin is empty."""
    cells = [
        (chosen & is_ours & side).sum(axis=1)
        for is_ours in (ours, ~ours)
        for side in (below, ~below)
    ]
    return np.array([_fisher_p(*map(int, table)) for table in zip(*cells, strict=True)])


@cache
def _fisher_p(a: int, b: int, c: int, d: int) -> float:
    if not min(a + b, c + d, a + c, b + d):
        return float("nan")
    return float(stats.fisher_exact(np.array([[a, b], [c, d]])).pvalue)


def exchanged_p(below: Floats | Bools, design: Design, chosen: Bools) -> Floats:
    """Return the exact p of the difference in dampening with labs exchanged between suites."""
    models, below = design.models[chosen], below[:, chosen]
    codes, suites = pd.factorize(models["suite"])
    of_suite = np.eye(len(suites))[codes]
    shares = below @ (of_suite / of_suite.sum(axis=0))
    is_ours = models.groupby(codes)["lab"].first().to_numpy() == "EleutherAI"
    n_ours = int(is_ours.sum())
    ways = np.zeros((len(suites), 0))
    for named in combinations(range(len(suites)), n_ours):
        way = np.full(len(suites), -1 / (len(suites) - n_ours))
        way[list(named)] = 1 / n_ours
        ways = np.column_stack([ways, way])
    observed = shares @ np.where(is_ours, 1 / n_ours, -1 / (len(suites) - n_ours))
    return np.asarray((np.abs(shares @ ways) >= np.abs(observed)[:, None] - 1e-9).mean(axis=1))
