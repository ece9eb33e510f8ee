"""The profile of the restricted likelihood of lab, suite, geometry and scale; see `restricted`."""

from __future__ import annotations

import numpy as np
from scipy import stats

from analysis.delia2026.sign.sources import SIDES
from analysis.delia2026.tournament import criterion
from analysis.inference.partition import restricted
from analysis.inference.partition.restricted import PARTS, TOGETHER, Lattice
from analysis.tidy.frame import Floats, Integers
from tests.proofs.competing.layouts import PRESENT, Layout

SOURCES = ("lab", "suite", "geometry", "scale")
#: Parts that the whole variance is cut into where columns are many.
PARTS_OF_MANY = 10


def lattice(layout: Layout) -> Lattice:
    """Return the lattice of a layout; numbers add one variance together, as levels do."""
    blocks = layout.blocks
    widths = {name: np.sqrt(blocks[name].shape[1]) for name in ("geometry", "scale")}
    n_parts = PARTS if layout.name == PRESENT else PARTS_OF_MANY
    scaled = {name: blocks[name] / widths.get(name, 1.0) for name in SOURCES}
    return restricted.lattice(scaled, n_parts)


def profile_likelihood(result: Lattice, responses: Floats) -> dict[str, Integers]:
    """Return yes (1), no (-1) or neither (0) of each statement by the profile of the likelihood."""
    line = stats.chi2.isf(2 * criterion.LEVEL, 1)
    decided: dict[str, list[Integers]] = {name: [] for name in SIDES}
    for some in _chunks(responses):
        criteria = result.criteria(some)
        best = criteria.argmin(axis=1)
        least = criteria.min(axis=1)
        for name, answers in decided.items():
            leads = result.leads(*SIDES[name])
            rise = criteria[:, leads == 0].min(axis=1) - least
            answers.append(np.sign(leads[best]) * (rise > line))
    return {name: np.concatenate(answers) for name, answers in decided.items()}


def _chunks(responses: Floats) -> list[Floats]:
    return np.array_split(responses, max(1, -(-len(responses) // TOGETHER)))
