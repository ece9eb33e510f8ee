"""Rules by the posterior of lab, suite, shape, depth and scale under the report's middle prior."""

from __future__ import annotations

import numpy as np

from analysis.heritage.sign.sources import MIDDLE, NODES, design
from analysis.heritage.sign.sources import OF_NEW_LEVELS as SIDES
from analysis.heritage.tournament import criterion
from analysis.inference.posterior import hierarchy
from analysis.inference.posterior.hierarchy import Prior, Quadrature
from analysis.tidy.frame import Floats, Integers
from tests.proofs.competing.layouts import Layout

SEED = 20260122
#: Papers taken together: bounds the memory.
TOGETHER = 25


def quadrature(layout: Layout, n_nodes: int = NODES) -> Quadrature:
    """Return the quadrature of a layout."""
    rng = np.random.default_rng(SEED)
    return hierarchy.quadrature(design(layout.models), Prior(MIDDLE), rng=rng, n_nodes=n_nodes)


def of_new_levels(nodes: Quadrature, responses: Floats) -> dict[str, Integers]:
    """Return the answers of the posterior of new levels.

    Responses have about one standard deviation; the prior's residual is scaled to it.
    """
    larger = {name: _larger(nodes, *sides) for name, sides in SIDES.items()}
    result: dict[str, list[Floats]] = {name: [] for name in SIDES}
    for some in np.array_split(responses, max(1, -(-len(responses) // TOGETHER))):
        weights = hierarchy.weights(nodes, some)
        for name, parts in result.items():
            parts.append(larger[name] @ weights)
    return _decided(result)


def _larger(nodes: Quadrature, first: tuple[str, ...], second: tuple[str, ...]) -> Floats:
    squares = dict(zip(nodes.sources.names, np.square(nodes.ratios).T, strict=True))
    one, other = (sum(squares[name] for name in side) for side in (first, second))
    return np.asarray(one > other, dtype=np.float64)


def _decided(result: dict[str, list[Floats]]) -> dict[str, Integers]:
    answers = {}
    for name, parts in result.items():
        probability = np.concatenate(parts)
        answers[name] = (probability > 1 - criterion.LEVEL).astype(np.intp) - (
            probability < criterion.LEVEL
        )
    return answers
