"""The Bayesian hierarchy: against the t density and an integral."""

import numpy as np
import pytest
from scipy import integrate, stats

from analysis.inference.posterior import hierarchy
from analysis.tidy.errors import DesignError

LAB = np.repeat([0, 1, 2], [6, 4, 4])
SUITE = np.repeat(range(6), [3, 3, 2, 2, 2, 2])


def levels(codes):
    return (codes[:, None] == np.unique(codes)).astype(float)


def nested():
    x = np.linspace(-1, 1, len(LAB))
    blocks = {"lab": levels(LAB), "suite": levels(SUITE), "x": x[:, None]}
    labels = {"lab": tuple("abc"), "suite": tuple("ABCDEF"), "x": ("x",)}
    return hierarchy.sources(blocks, labels)


def alone(codes):
    block = levels(codes)
    return hierarchy.sources({"group": block}, {"group": tuple(map(str, np.unique(codes)))})


def nodes_of(design, n_nodes=2**11, width=1.0):
    rng = np.random.default_rng(1)
    return hierarchy.quadrature(design, hierarchy.Prior(width), rng=rng, n_nodes=n_nodes)


def drawn(seed=5):
    rng = np.random.default_rng(seed)
    return 0.05 * rng.normal(size=14) + 0.1 * rng.normal(size=6)[SUITE]


def test_the_weights_of_nodes_are_multivariate_t_densities():
    design, y = nested(), drawn()
    nodes = nodes_of(design, 2**4)
    prior = nodes.prior
    densities = []
    for ratios in nodes.ratios:
        shape = np.eye(14) + prior.centre**2
        for name, ratio in zip(design.names, ratios, strict=True):
            columns = design.columns[:, design.of(name)]
            shape += ratio**2 * columns @ columns.T
        scale = prior.residual**2 / prior.shape * shape
        density = stats.multivariate_t.pdf(y, np.zeros(14), scale, df=2 * prior.shape)
        densities.append(density)
    expected = np.array(densities) / np.sum(densities)
    np.testing.assert_allclose(hierarchy.weights(nodes, y[None])[:, 0], expected, rtol=1e-9)


def test_the_quadrature_is_the_integral_over_one_ratio():
    design, y = alone(SUITE), drawn()
    prior = hierarchy.Prior(1.0)
    columns = design.columns[:, 1:]

    def weight(u, power):
        ratio = np.tan(np.pi * u / 2)
        shape = np.eye(14) + prior.centre**2 + ratio**2 * columns @ columns.T
        density = stats.multivariate_t.pdf(y, np.zeros(14), prior.residual**2 * shape, df=2)
        return float(density * (ratio**2 / (1 + ratio**2)) ** power / 1e6)

    total, first = (integrate.quad(weight, 0, 1, (power,), epsrel=1e-9)[0] for power in (0, 1))
    nodes = nodes_of(design, 2**12)
    share = nodes.ratios[:, 0] ** 2 / (1 + nodes.ratios[:, 0] ** 2)
    mean = hierarchy.weights(nodes, y[None])[:, 0] @ share
    assert mean == pytest.approx(first / total, rel=1e-3)


def test_an_overwhelming_source_leads():
    x = np.linspace(-1, 1, 14)
    y = 5 * x + 0.01 * np.random.default_rng(2).normal(size=14)
    nodes = nodes_of(nested(), 2**13)
    weights = hierarchy.weights(nodes, np.array([y, y[::-1]]))
    leads = nodes.ratios.argmax(axis=1) == 2
    assert (leads @ weights > 0.95).all()
    assert leads.mean() == pytest.approx(1 / 3, abs=0.01)
    with pytest.raises(DesignError, match="same number of rows"):
        hierarchy.sources({"a": np.ones((2, 1)), "b": np.ones((3, 1))}, {"a": ("a",), "b": ("b",)})
