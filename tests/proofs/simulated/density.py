"""Claim 16 in simulated papers: log gain falls with rho beside suites and log depth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from analysis.audit.evidence.checks import Check
from analysis.delia2026.weights.claims_mechanism import LEVEL
from analysis.tidy.frame import Floats
from tests.proofs.simulated.design import Design


@dataclass(frozen=True, slots=True)
class Left:
    """What suites and log depth leave of rho, shape (models,), and of gains, (papers, models).

    ``basis`` spans suites and log depth, ``codes`` are the suites' and ``df`` is left for the test.
    """

    rho: Floats
    gains: Floats
    basis: Floats
    codes: Floats
    df: int


def beside_suites(design: Design, log_gains: Floats) -> Left:
    """Return what suites and log depth leave of rho and of log gains, models of the claim."""
    meant = design.penultimate & design.pre_norm
    models = design.models[meant]
    suites = pd.get_dummies(models["suite"], dtype=float).to_numpy()
    fixed = np.column_stack([suites, np.log(models["n_layers"].to_numpy(dtype=np.float64))])
    basis = np.linalg.qr(fixed)[0]
    rho, logs = models["rho"].to_numpy(dtype=np.float64), log_gains[:, meant]
    return Left(
        rho - basis @ (basis.T @ rho),
        logs - (logs @ basis) @ basis.T,
        basis,
        suites.argmax(axis=1),
        len(rho) - fixed.shape[1] - 1,
    )


def falling_p(left: Left) -> Floats:
    """Return the one-sided p of each paper that log gain does not fall with rho."""
    r = (left.gains @ left.rho) / np.sqrt((left.gains**2).sum(axis=1) * (left.rho @ left.rho))
    return np.asarray(stats.t.cdf(r * np.sqrt(left.df / (1 - r**2)), left.df))


def density_checks(design: Design, log_gains: Floats) -> list[list[Check]]:
    """Return the check of claim 16 over all papers, from the gains of its definition."""
    p_values = falling_p(beside_suites(design, log_gains))
    return [
        [
            Check(
                "falls with rho",
                "beside suites and log depth",
                True if p < LEVEL else False if 1 - p < LEVEL else None,
                p_value=float(p),
            )
            for p in p_values
        ]
    ]
