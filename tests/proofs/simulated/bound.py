"""Claim 5 in simulated papers: no gain exceeds 10^(1/L), and the largest follows that law."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy import stats

from analysis.audit.evidence import decision
from analysis.audit.evidence.checks import Check
from analysis.delia2026.depth import claims_law as law
from analysis.inference.association.sandwich import cr2
from analysis.tidy.frame import Floats
from tests.proofs.simulated.design import Bools, Design
from tests.proofs.simulated.papers import of_level

BOUND, FOLLOWS = "no model exceeds 10^(1/L)", "b = 1"


def bound_checks(design: Design, log_gains: Mapping[str, Floats]) -> list[list[Check]]:
    """Return the checks of claim 5, each over all papers, readings in the order of the claim."""
    base = design.penultimate & design.pre_norm
    pythia = base & np.asarray(design.models["suite"] == "Pythia")
    readings: dict[str, tuple[str, Bools]] = {
        "largest, Pythia": ("largest", pythia),
        "largest, base": ("largest", base),
        "penultimate, Pythia": ("penultimate", pythia),
        "penultimate, base": ("penultimate", base),
        "last, base": ("last", design.last),
    }
    depth = design.numbers("n_layers")
    exceeds, follows = [], []
    for name, (definition, chosen) in readings.items():
        logs = log_gains[of_level(definition)][:, chosen] / np.log(10)
        above = (logs > 1 / depth[chosen]).any(axis=1)
        exceeds.append([Check(BOUND, name, not one, kind="universal") for one in above])
        slope, reach = slopes(1 / depth[chosen], logs, design.models["suite"][chosen])
        follows.append(
            [
                Check(
                    FOLLOWS,
                    name,
                    decision.within(b - half, b + half, 1 - law.MARGIN, 1 + law.MARGIN),
                    b,
                    b - half,
                    b + half,
                    kind="equality",
                )
                for b, half in zip(slope, reach, strict=True)
            ]
        )
    return [*exceeds, *follows]


def slopes(x: Floats, y: Floats, suites: pd.Series) -> tuple[Floats, Floats]:
    """Return the slope through the origin of each row of y on x, and half its 95 % interval.

    Classical errors where all models are of one suite; else CR2 by suite, which for one column
    divides the score of a suite by the root of one less its leverage, with Satterthwaite's t.
    """
    square = float(x @ x)
    slope = y @ x / square
    left = y - slope[:, None] * x
    codes, names = pd.factorize(suites)
    if len(names) == 1:
        df = len(x) - 1.0
        error = np.sqrt((left**2).sum(axis=1) / df / square)
    else:
        df = float(cr2(x[:, None], left[0], codes).df[0])
        of_suite = np.eye(len(names))[codes]
        leverage = (x**2) @ of_suite / square
        error = np.sqrt((((left * x) @ of_suite) ** 2 / (1 - leverage)).sum(axis=1)) / square
    return slope, float(stats.t.isf(0.025, df)) * error
