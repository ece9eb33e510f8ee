"""Claim 4 in simulated papers: gain falls with depth in Pythia."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from analysis.audit.evidence.checks import Check
from analysis.tidy.frame import Floats
from tests.proofs.simulated.correlation import correlated, falling
from tests.proofs.simulated.design import Design


def depth_checks(design: Design, log_gains: Mapping[str, Floats]) -> list[list[Check]]:
    """Return the checks of claim 4, each over all papers; what is printed moves no law."""
    pythia = np.asarray(design.models["suite"] == "Pythia") & design.penultimate
    depth, n = design.numbers("n_layers")[pythia], int(pythia.sum())
    return [
        falling("falls", name, correlated(depth, np.exp(log_gains[name][:, pythia])), n)
        for name in ("penultimate", "largest")
    ]
