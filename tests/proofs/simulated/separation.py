"""Claim 10 in simulated papers: some threshold on the ratio of norms separates the signs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from analysis.audit import evidence
from analysis.audit.evidence.checks import Check
from analysis.tidy.frame import Floats
from tests.proofs.simulated.design import Bools, Design

PART = "some threshold separates the signs"


def separation_checks(design: Design, log_gains: Mapping[str, Floats]) -> list[list[Check]]:
    """Return the checks of claim 10, each over all papers: measured signs, then labels."""
    below = log_gains["penultimate"] < 0
    labels = np.broadcast_to(design.ours, below.shape)
    measured = design.weighed & design.penultimate
    readings = {
        "measured sign": (below, measured),
        "without the post-norm model": (below, measured & design.pre_norm),
        "labels": (labels, design.weighed),
    }
    return [
        [
            Check(PART, name, bool(one), kind="existence")
            if both
            else evidence.missing(PART, name, "one sign")
            for one, both in zip(
                *separated(log_gains["ratio"][:, chosen], dampens[:, chosen]), strict=True
            )
        ]
        for name, (dampens, chosen) in readings.items()
    ]


def separated(sizes: Floats, dampens: Bools) -> tuple[Bools, Bools]:
    """Return in which papers a threshold on sizes separates the signs, and which have both."""
    order = np.argsort(sizes, axis=1)
    changes = np.diff(np.take_along_axis(dampens, order, axis=1), axis=1).sum(axis=1)
    return np.asarray(changes == 1), np.asarray(changes > 0)
