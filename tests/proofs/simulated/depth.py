"""Claim 4 in simulated papers: gain falls with depth in Pythia, and the printed r is right."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from analysis.audit.evidence import decision
from analysis.audit.evidence.checks import Check
from analysis.tidy.frame import Floats
from tests.proofs.simulated.correlation import correlated, falling
from tests.proofs.simulated.design import Design


def depth_checks(
    design: Design, log_gains: Mapping[str, Floats], *, wrong_labels: bool
) -> list[list[Check]]:
    """Return the checks of claim 4, each over all papers, labels right or wrong."""
    pythia = np.asarray(design.models["suite"] == "Pythia") & design.penultimate
    readings = {name: np.exp(log_gains[name][:, pythia]) for name in ("penultimate", "largest")}
    depth, rho = (design.numbers(name)[pythia] for name in ("n_layers", "rho"))
    result = {name: correlated(depth, gains) for name, gains in readings.items()}
    printed = correlated(rho if wrong_labels else depth, readings["penultimate"])[0]
    n = int(pythia.sum())
    falls = [falling("falls", name, rows, n) for name, rows in result.items()]
    quoted = [
        [
            Check("printed", name, decision.prints_as(r, f"{said:.2f}"), kind="value")
            for r, said in zip(rows[0], printed, strict=True)
        ]
        for name, rows in result.items()
    ]
    return [*falls, *quoted[:1]]
