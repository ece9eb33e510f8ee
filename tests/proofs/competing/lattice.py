"""Rules by the restricted likelihood of lab, suite, geometry and scale; see `restricted`."""

from __future__ import annotations

import numpy as np
from scipy import stats

from analysis.delia2026.sign.sources import SIDES
from analysis.delia2026.tournament import criterion
from analysis.inference.partition import restricted
from analysis.inference.partition.restricted import PARTS_OF_MANY, TOGETHER, Drawn, Lattice
from analysis.tidy.frame import Floats, Integers
from tests.proofs.competing.layouts import PRESENT, Layout

SOURCES = ("lab", "suite", "geometry", "scale")
#: Draws from every tie, at the present layout and at larger ones.
DRAWS, DRAWS_OF_MANY = 399, 199


def lattice(layout: Layout) -> Lattice:
    """Return the lattice of a layout; numbers add one variance together, as levels do."""
    blocks = layout.blocks
    widths = {name: np.sqrt(blocks[name].shape[1]) for name in ("geometry", "scale")}
    n_parts = None if layout.name == PRESENT else PARTS_OF_MANY
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


def ties(result: Lattice, rng: np.random.Generator) -> Drawn:
    """Return papers drawn at the ties of every statement."""
    n_draws = DRAWS if result.n_parts > PARTS_OF_MANY else DRAWS_OF_MANY
    every = sorted({int(point) for sides in SIDES.values() for point in result.ties(*sides)})
    return restricted.drawn_at(result, every, n_draws, rng)


def parametric_bootstrap(result: Lattice, tied: Drawn, responses: Floats) -> dict[str, Integers]:
    """Return the answers by the difference of shares, drawn at the likeliest tie of each paper."""
    answers = {}
    for name, sides in SIDES.items():
        estimates, above, below = restricted.differences(result, tied, responses, *sides)
        is_above = (above <= criterion.LEVEL) & (estimates > 0)
        is_below = (below <= criterion.LEVEL) & (estimates < 0)
        answers[name] = is_above.astype(np.intp) - is_below
    return answers


def _chunks(responses: Floats) -> list[Floats]:
    return np.array_split(responses, max(1, -(-len(responses) // TOGETHER)))
