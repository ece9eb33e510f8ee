"""Rules by the posterior of lab, suite, shape, depth and scale under the report's middle prior."""

from __future__ import annotations

import numpy as np
from scipy import stats
from scipy.special import gammaincinv, ndtri

from analysis.delia2026.sign.sources import MIDDLE, NODES, design
from analysis.delia2026.sign.sources import OF_NEW_LEVELS as SIDES
from analysis.delia2026.tournament import criterion
from analysis.inference.posterior import hierarchy
from analysis.inference.posterior.hierarchy import LAST_QUANTILE, Prior, Quadrature
from analysis.tidy.frame import Floats, Integers
from tests.proofs.competing.layouts import Layout, centred

SEED = 20260122
#: Papers taken together: bounds the memory.
TOGETHER = 25


def quadrature(layout: Layout, n_nodes: int = NODES) -> Quadrature:
    """Return the quadrature of a layout."""
    rng = np.random.default_rng(SEED)
    return hierarchy.quadrature(design(layout.models), Prior(MIDDLE), rng=rng, n_nodes=n_nodes)


def posteriors(
    nodes: Quadrature, responses: Floats
) -> tuple[dict[str, Integers], dict[str, Integers]]:
    """Return the answers of the posterior of new levels, and of the levels at hand.

    Responses have about one standard deviation; the prior's residual is scaled to it.
    """
    n_effects = nodes.sources.columns.shape[1]
    points = stats.qmc.Sobol(1 + n_effects, rng=np.random.default_rng(SEED)).random(
        len(nodes.ratios)
    )
    drawn = points.clip(1 - LAST_QUANTILE, LAST_QUANTILE)
    new = {name: _larger(nodes, *sides) for name, sides in SIDES.items()}
    at_new: dict[str, list[Floats]] = {name: [] for name in SIDES}
    at_hand: dict[str, list[Floats]] = {name: [] for name in SIDES}
    forms = {name: [_columns(nodes, side) for side in sides] for name, sides in SIDES.items()}
    about = nodes.root.transpose(0, 2, 1)
    noise = np.einsum("nij,nj->ni", about, ndtri(drawn[:, 1:]))
    for some in np.array_split(responses, max(1, -(-len(responses) // TOGETHER))):
        half = nodes.root @ (nodes.sources.columns.T @ some.T)
        squares = np.square(some).sum(axis=1) - np.square(half).sum(axis=1)
        shape = nodes.prior.shape + some.shape[1] / 2
        scales = nodes.prior.residual**2 + squares / 2
        logs = -nodes.log_determinant[:, None] - shape * np.log(scales)
        weights = np.exp(logs - logs.max(axis=0))
        weights /= weights.sum(axis=0)
        sigma = np.sqrt(scales / gammaincinv(shape, drawn[:, 0])[:, None])
        effects = about @ half + sigma[:, None, :] * noise[:, :, None]
        for name in SIDES:
            at_new[name].append(new[name] @ weights)
            first, second = (_over_rows(effects, *form) for form in forms[name])
            at_hand[name].append(((first > second) * weights).sum(axis=0))
    return _decided(at_new), _decided(at_hand)


def of_new_levels(nodes: Quadrature, responses: Floats) -> dict[str, Integers]:
    """Return the answers of the posterior of new levels alone."""
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


def _columns(nodes: Quadrature, side: tuple[str, ...]) -> tuple[list[int], Floats]:
    """Return the places of the effects of a side, and the form of their variance over rows."""
    places = [place for name in side for place in nodes.sources.of(name)]
    columns = centred(nodes.sources.columns[:, places])
    sizes, vectors = np.linalg.eigh(columns.T @ columns / len(columns))
    kept = sizes > 1e-9 * sizes.max()
    return places, (vectors[:, kept] * np.sqrt(sizes[kept])).T


def _over_rows(effects: Floats, places: list[int], form: Floats) -> Floats:
    return np.asarray(np.square(form @ effects[:, places]).sum(axis=1))


def _decided(result: dict[str, list[Floats]]) -> dict[str, Integers]:
    answers = {}
    for name, parts in result.items():
        probability = np.concatenate(parts)
        answers[name] = (probability > 1 - criterion.LEVEL).astype(np.intp) - (
            probability < criterion.LEVEL
        )
    return answers
