"""A Bayesian hierarchy of normal effects, by quadrature on its sufficient statistics.

The response of a model is a mean, the effects of several sources (lab, suite, shape, ...) and an
error,

    y = mu + sum over k of Z_k b_k + e,   b_k ~ N(0, lambda_k^2 sigma^2 I),   e ~ N(0, sigma^2 I),

with proper priors: half-Cauchy of a stated width for every lambda_k (with width 1 and one source
its share of the variance is Beta(1/2, 1/2)), sigma^2 inverse gamma, mu ~ N(0, (c sigma)^2). Given
the ratios lambda all else is conjugate and the marginal likelihood is a multivariate t. Only the
ratios are left; they are summed over a scrambled Sobol set in the prior's quantiles, weighted by
the marginal likelihood. No chain, no tuning: the only error is that of the quadrature.

Gelman (2006), Bayesian Analysis 1, 515, on such priors; Gelman (2005), Annals of Statistics 33,
1, on the variance of the levels at hand (finite population) against that of levels to come
(superpopulation).

>>> sources({"lab": np.eye(3)}, {"lab": ("a", "b", "c")}).columns.shape
(3, 4)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy

from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, generator, seed_of

#: Quadrature nodes, a power of two as a Sobol set must have.
NODES = 2**14

#: Nodes whose matrices are factored together, few enough to stay in a processor's cache.
_TOGETHER = 256

#: Largest quantile that a node stands for: the half-Cauchy's tail beyond it is cut.
LAST_QUANTILE = 1 - 1e-9


@dataclass(frozen=True, slots=True)
class Prior:
    """What is supposed before the data."""

    width: float  #: Median of the ratio of every source's deviation to the residual one.
    #: Scale of the residual deviation: sigma^2 is ``residual^2`` over a gamma variable of `shape`
    #: [unit of the response].
    residual: float = 0.05
    shape: float = 1.0  #: Of that gamma variable.
    centre: float = 10.0  #: Deviation of the mean over the residual one.


@dataclass(frozen=True, slots=True)
class Sources:
    """The design: which columns of effects belong to which source."""

    names: tuple[str, ...]  #: Of the sources.
    #: The mean's column of ones, then the effects of all sources, shape (n, 1 + q).
    columns: Floats
    source: tuple[int, ...]  #: Place of the source of every effect, shape (q,).
    labels: tuple[str, ...]  #: Name of every effect.

    def of(self, name: str) -> list[int]:
        """Return the places among `columns` of the effects of one source."""
        place = self.names.index(name)
        return [1 + each for each, source in enumerate(self.source) if source == place]


@dataclass(frozen=True, slots=True)
class Quadrature:
    """The nodes over the ratios, with what does not depend on the response."""

    #: What they are for.
    sources: Sources
    prior: Prior
    ratios: Floats  #: lambda, shape (nodes, sources).
    #: Inverse Cholesky factor of the effects' conditional precision, shape (nodes, 1 + q, 1 + q):
    #: root' root is their covariance over sigma^2.
    root: Floats
    log_determinant: Floats  #: log |I + Z D Z'| / 2 at every node.
    seed: str = ""  #: Of the scrambling of the nodes, as `analysis.tidy.frame.seed_of` gives it.


def sources(blocks: Mapping[str, Floats], labels: Mapping[str, tuple[str, ...]]) -> Sources:
    """Return the design of named sources, each a matrix with one row per observation.

    Raises
    ------
    DesignError
        If there is no source, or two have different numbers of rows.
    """
    lengths = {len(block) for block in blocks.values()}
    if len(lengths) != 1:
        raise DesignError(
            f"Sources must have the same number of rows each; found {sorted(lengths)}.",
            "Give every source one row per observation.",
        )
    ones = np.ones((lengths.pop(), 1))
    return Sources(
        names=tuple(blocks),
        columns=np.column_stack([ones, *blocks.values()]),
        source=tuple(k for k, block in enumerate(blocks.values()) for _ in range(block.shape[1])),
        labels=tuple(label for name in blocks for label in labels[name]),
    )


def quadrature(
    design: Sources, prior: Prior, *, rng: np.random.Generator | None = None, n_nodes: int = NODES
) -> Quadrature:
    """Return the nodes over the ratios and all that is the same for every response.

    Parameters
    ----------
    design
        The sources.
    prior
        The prior.
    rng
        Of the scrambling of the Sobol set; one of the seed `analysis.tidy.frame.SEED` when None.
    n_nodes
        Number of nodes, a power of two.
    """
    rng = generator(rng, "nodes are scrambled")
    sobol = scipy.stats.qmc.Sobol(len(design.names), rng=rng)
    points = sobol.random(n_nodes).clip(1 - LAST_QUANTILE, LAST_QUANTILE)
    ratios = prior.width * np.tan(np.pi * points / 2)
    gram = design.columns.T @ design.columns
    scale = np.column_stack(
        [np.full(n_nodes, prior.centre), *(ratios[:, source] for source in design.source)]
    )
    root = np.empty((n_nodes, *gram.shape))
    log_determinant = np.empty(n_nodes)
    for first in range(0, n_nodes, _TOGETHER):
        some = slice(first, first + _TOGETHER)
        root[some], log_determinant[some] = _factorise(gram, scale[some])
    return Quadrature(design, prior, ratios, root, log_determinant, seed_of(rng))


def _factorise(gram: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """Return root and log determinant of some nodes, whose effects have these scales.

    With A = I + S Z'Z S the covariance of the effects over sigma^2 is S A^-1 S.
    """
    factor = np.linalg.cholesky(scale[:, :, None] * gram * scale[:, None, :] + np.eye(len(gram)))
    root = scipy.linalg.inv(factor, assume_a="lower triangular") * scale[:, None, :]
    return root, np.log(np.einsum("nii->ni", factor)).sum(axis=1)


def weights(nodes: Quadrature, responses: Floats) -> Floats:
    """Return the nodes' marginal likelihoods of responses, summing to one by response.

    With r^2 = y'y - (root Z'y)'(root Z'y), the likelihood of a node is proportional to
    |I + Z D Z'|^(-1/2) (b + r^2 / 2)^(-(a + n / 2)), a and b those of sigma^2's prior.

    Parameters
    ----------
    nodes
        The quadrature.
    responses
        Shape (responses, n).

    Returns
    -------
    Shape (nodes, responses).
    """
    half = nodes.root @ (nodes.sources.columns.T @ responses.T)
    squares = np.square(responses).sum(axis=1) - np.square(half).sum(axis=1)
    shape = nodes.prior.shape + responses.shape[1] / 2
    scales = nodes.prior.residual**2 + squares / 2
    logs = -nodes.log_determinant[:, None] - shape * np.log(scales)
    likelihoods = np.exp(logs - logs.max(axis=0))
    return np.asarray(likelihoods / likelihoods.sum(axis=0))
