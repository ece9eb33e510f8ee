"""Claim 7 in simulated papers: the lab decides the sign, by Fisher's test and by suites."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats

from analysis.audit import evidence
from analysis.audit.evidence.checks import Check
from analysis.tidy.defaults import BAND
from analysis.tidy.frame import Floats
from tests.proofs.simulated.design import Bools, Design

#: Sets of `sets` in which labels are exchanged between suites.
SUITES = ("hunt", "every", "joined")


def heritage_checks(design: Design, log_gains: Floats) -> list[list[Check]]:
    """Return the checks of claim 7, each over all papers: two p-values below .001."""
    gains = np.exp(log_gains)
    below = gains < 1
    columns = []
    for name, chosen in sets(design).items():
        clear = np.abs(log_gains) >= BAND if "clear" in name else np.ones_like(below)
        p_values = fisher_p(below, chosen & clear, design.ours)
        columns.append([_small(f"Fisher; {name}", p) for p in p_values])
    for name in SUITES:
        p_values = exchanged_p(below, design, sets(design)[name])
        columns.append([_small(f"suites; {name}", p) for p in p_values])
    return columns


def sets(design: Design) -> dict[str, Bools]:
    """Return which models are in each reading of claim 7, as `readings.model_sets` has them."""
    every, joined = design.penultimate, design.known
    return {
        "hunt": design.hunted,
        "hunt, kept": design.hunted & design.kept,
        "hunt, clear": design.hunted,
        "every": every,
        "every, kept": every & design.kept,
        "joined": joined,
        "joined, kept": joined & design.kept,
        "joined, clear": joined,
    }


def _small(condition: str, p: float) -> Check:
    part = "the lab decides the sign"
    if np.isnan(p):
        return evidence.missing(part, condition, "the table has an empty margin")
    return Check(part, condition, bool(p < 0.001), p_value=float(p))


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


def exchanged_p(below: Bools, design: Design, chosen: Bools) -> Floats:
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
