"""Claim 16 in simulated papers: rho goes with the gain, and its rule tells the signs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from analysis.audit import evidence
from analysis.audit.evidence.checks import Check
from analysis.heritage.sign import claims_density as density
from analysis.tidy.frame import Floats
from tests.proofs.simulated.correlation import correlated, falling
from tests.proofs.simulated.design import Bools, Design


def density_checks(design: Design, log_gains: Floats) -> list[list[Check]]:
    """Return the checks of claim 16, each over all papers, from the gains of its definition."""
    meant = design.penultimate & design.kept
    gains = np.exp(log_gains[:, meant])
    models = design.models[meant].reset_index(drop=True)
    pythia = np.asarray(models["suite"] == "Pythia")
    rho, depth = (models[name].to_numpy(dtype=np.float64) for name in ("rho", "n_layers"))
    columns = []
    for name, rows in (("Pythia", pythia), ("others", ~pythia)):
        for given in (None, depth[rows]):
            found = correlated(rho[rows], gains[:, rows], given)
            condition = f"{name}, {'depth held' if given is not None else 'alone'}"
            columns.append(falling("goes with rho", condition, found, int(rows.sum())))
    dense, sparse = _matched(models)
    smaller: Bools = np.all(gains[:, dense] < gains[:, sparse], axis=1)
    columns.append(
        [Check("goes with rho", "pairs", bool(all_), kind="universal") for all_ in smaller]
    )
    right = (rho >= density.THRESHOLD) == (gains < 1)
    for name, rows in (("Pythia", pythia), ("others", ~pythia)):
        hits, below = right[:, rows].sum(axis=1), (gains[:, rows] < 1).sum(axis=1)
        better = hits > np.maximum(below, rows.sum() - below)
        columns.append([Check("rule", name, bool(one), kind="universal") for one in better])
    untested = evidence.missing("rho alone", "pairs", "no such pair")
    return [*columns, [untested] * len(gains)]


def _matched(models: pd.DataFrame) -> tuple[list[int], list[int]]:
    """Return the pairs of one suite and depth: places of the denser and of the other model."""
    places = [
        (one, other)
        for one, other in combinations(range(len(models)), 2)
        if all(models[name][one] == models[name][other] for name in ("suite", "n_layers"))
        and models["rho"][one] != models["rho"][other]
    ]
    ordered = [
        pair if models["rho"][pair[0]] > models["rho"][pair[1]] else pair[::-1] for pair in places
    ]
    return [dense for dense, _ in ordered], [sparse for _, sparse in ordered]
