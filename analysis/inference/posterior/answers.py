"""What a posterior says: shares of variance, orders of sources, and what a new row would be.

Every function takes nodes and weights, so that the same question put to the prior (equal weights)
stands beside its answer. The superpopulation is that of levels to come, from which those at hand
are draws: its shares are functions of the ratios. The finite population are the levels at hand:
its shares are variances of their effects over the rows, which are drawn once a node by a second
Sobol set, given the node's ratios.

>>> quantiles(np.array([1.0, 2.0, 3.0]), np.full(3, 1 / 3), [0.5]).round(6).tolist()
[2.0]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pandas as pd
from scipy import optimize, stats
from scipy.special import gammaincinv, ndtri, stdtr, stdtrit

from analysis.inference.posterior.hierarchy import LAST_QUANTILE, Posterior, Quadrature, Sources
from analysis.tidy import glossary
from analysis.tidy.frame import Floats, require_conf_level

#: What is left when all sources have taken their share.
RESIDUAL = "residual"

#: Nodes with less of the largest weight are left out of predictions.
NEGLIGIBLE = 1e-6

#: Shares and orders of levels to come, and of those at hand.
SUPERPOPULATION, FINITE = "new levels", "levels at hand"


@dataclass(frozen=True, slots=True)
class Belief:
    """Variances of the sources over the nodes, by themselves or weighted by data.

    Attributes
    ----------
    names
        Of the sources.
    variances
        Of every source and of the residual, over sigma^2, shape (nodes, sources + 1).
    weights
        Of the nodes.
    """

    names: tuple[str, ...]
    variances: Floats
    weights: Floats


def superpopulation(nodes: Quadrature, found: Posterior | None = None) -> Belief:
    """Return the variances of levels to come, before or after the data."""
    own = np.column_stack([np.square(nodes.ratios), np.ones(len(nodes.ratios))])
    return Belief(nodes.sources.names, own, _weights(nodes, found))


@dataclass(frozen=True, slots=True)
class Draws:
    """What one set of effects a node is drawn from.

    Attributes
    ----------
    uniform
        Quantile of sigma^2 at every node.
    normal
        Standard normal deviates of the mean and the effects, shape (nodes, 1 + q).
    """

    uniform: Floats
    normal: Floats


def draws(n_nodes: int, n_effects: int, *, rng: np.random.Generator) -> Draws:
    """Return a scrambled Sobol set of draws; `n_effects` counts the mean too."""
    points = stats.qmc.Sobol(1 + n_effects, rng=rng).random(n_nodes)
    inside = points.clip(1 - LAST_QUANTILE, LAST_QUANTILE)
    return Draws(inside[:, 0], ndtri(inside[:, 1:]))


def finite(nodes: Quadrature, drawn: Draws, found: Posterior | None = None) -> Belief:
    """Return the variances of the effects at hand over the rows, before or after the data.

    The residual's is sigma^2. One set of effects is drawn a node.
    """
    design, normal = nodes.sources, drawn.normal
    if found is None:
        sigma = nodes.prior.residual / np.sqrt(gammaincinv(nodes.prior.shape, drawn.uniform))
        scale = np.column_stack([nodes.ratios[:, source] for source in design.source])
        effects = sigma[:, None] * scale * normal[:, 1:]
    else:
        sigma = np.sqrt(found.scales / gammaincinv(found.shape, drawn.uniform))
        about = np.einsum("nij,ni->nj", nodes.root, normal)
        effects = (found.means + sigma[:, None] * about)[:, 1:]
    variances = [_over_rows(design, name, effects) for name in design.names]
    own = np.column_stack([*variances, np.square(sigma)])
    return Belief(design.names, own, _weights(nodes, found))


def shares(belief: Belief, *, conf_level: float = 0.95) -> pd.DataFrame:
    """Return each source's share of the sum of variances, with a central interval.

    Returns
    -------
    One row per source and the residual: `block`, `share` (mean), `conf_low`, `conf_high`,
    `conf_level`, and `probability` that the source has the largest variance of all sources.
    """
    require_conf_level(conf_level)
    parts = belief.variances / belief.variances.sum(axis=1, keepdims=True)
    ends = ((1 - conf_level) / 2, (1 + conf_level) / 2)
    first = belief.variances[:, :-1].argmax(axis=1)
    rows = []
    for place, name in enumerate((*belief.names, RESIDUAL)):
        low, high = quantiles(parts[:, place], belief.weights, ends)
        leads = float(belief.weights[first == place].sum()) if name != RESIDUAL else np.nan
        mean = float(belief.weights @ parts[:, place])
        rows.append((name, mean, low, high, conf_level, leads))
    columns = ["block", "share", "conf_low", "conf_high", "conf_level", "probability"]
    result = pd.DataFrame(rows, columns=columns)
    glossary.checked(result.columns)
    return result


def orders(belief: Belief) -> pd.DataFrame:
    """Return the probability of every order of the sources by variance, the largest first.

    Returns
    -------
    One row per order, the most probable first: `ranking` (the sources, joined by >), `probability`.
    """
    ranked = np.argsort(-belief.variances[:, :-1], axis=1, kind="stable")
    base = len(belief.names) ** np.arange(ranked.shape[1])
    codes = pd.Series(belief.weights).groupby(ranked @ base).sum()
    found = {
        " > ".join(belief.names[place] for place in order): float(
            codes.get(int(np.array(order) @ base), 0.0)
        )
        for order in permutations(range(len(belief.names)))
    }
    result = pd.DataFrame({"ranking": list(found), "probability": list(found.values())})
    glossary.checked(result.columns)
    return result.sort_values("probability", ascending=False, kind="stable", ignore_index=True)


def larger(belief: Belief, first: str, second: str) -> float:
    """Return the probability that the first source's variance is the larger of two."""
    one, other = (belief.variances[:, belief.names.index(name)] for name in (first, second))
    return float(belief.weights[one > other].sum())


@dataclass(frozen=True, slots=True)
class Prediction:
    """A new row as a mixture of t distributions, one a node.

    Attributes
    ----------
    weights, centres, scales
        Of the nodes.
    df
        Degrees of freedom of all.
    """

    weights: Floats
    centres: Floats
    scales: Floats
    df: float

    def below(self, value: float) -> float:
        """Return the probability of a response below a value."""
        return float(self.weights @ stdtr(self.df, (value - self.centres) / self.scales))

    def quantile(self, probability: float) -> float:
        """Return the response with this probability below it."""
        ends = self.centres + self.scales * stdtrit(self.df, probability)
        low, high = float(ends.min()), float(ends.max())
        margin = 1e-9 + high - low
        return float(
            optimize.brentq(
                lambda value: self.below(value) - probability,
                low - margin,
                high + margin,
                xtol=1e-9,
            )
        )


def predict(found: Posterior, row: Floats, new: Mapping[str, float]) -> Prediction:
    """Return the distribution of a new row.

    Parameters
    ----------
    found
        The posterior.
    row
        The row of `Sources.columns`: one, then a value for every effect at hand, zero for the
        effects of levels that it does not have, shape (1 + q,).
    new
        By source, the sum of squares of its effects that are not at hand: 1 for a level to come.
    """
    nodes = found.quadrature
    about = np.square(nodes.root @ row).sum(axis=1)
    unseen = sum(
        square * np.square(nodes.ratios[:, nodes.sources.names.index(name)])
        for name, square in new.items()
    )
    spread = found.scales / found.shape * (1 + about + unseen)
    kept = found.weights > NEGLIGIBLE * found.weights.max()
    weights = found.weights[kept] / found.weights[kept].sum()
    return Prediction(weights, found.means[kept] @ row, np.sqrt(spread[kept]), 2 * found.shape)


def quantiles(values: Floats, weights: Floats, probabilities: Sequence[float]) -> Floats:
    """Return quantiles of weighted values, interpolated between their midpoints."""
    order = np.argsort(values, kind="stable")
    cumulated = np.cumsum(weights[order]) - weights[order] / 2
    return np.interp(probabilities, cumulated, values[order])


def _weights(nodes: Quadrature, found: Posterior | None) -> Floats:
    n_nodes = len(nodes.ratios)
    return np.full(n_nodes, 1 / n_nodes) if found is None else found.weights


def _over_rows(design: Sources, name: str, effects: Floats) -> Floats:
    """Return the variance over rows of what one source adds, shape (nodes,)."""
    places = design.of(name)
    columns = design.columns[:, places]
    centred = columns - columns.mean(axis=0)
    gram = centred.T @ centred / len(columns)
    own = effects[:, [place - 1 for place in places]]
    return np.asarray(np.einsum("ni,ij,nj->n", own, gram, own), dtype=np.float64)
