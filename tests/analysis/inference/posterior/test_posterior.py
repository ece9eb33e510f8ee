"""The Bayesian hierarchy: against the t density, an integral and a case by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from analysis.inference.posterior import answers, hierarchy
from analysis.tidy.errors import DesignError

LAB = np.repeat([0, 1, 2], [6, 4, 4])
SUITE = np.repeat(range(6), [3, 3, 2, 2, 2, 2])


def levels(codes: np.ndarray) -> np.ndarray:
    return (codes[:, None] == np.unique(codes)).astype(float)


def nested() -> hierarchy.Sources:
    x = np.linspace(-1, 1, len(LAB))
    blocks = {"lab": levels(LAB), "suite": levels(SUITE), "x": x[:, None]}
    labels = {"lab": tuple("abc"), "suite": tuple("ABCDEF"), "x": ("x",)}
    return hierarchy.sources(blocks, labels)


def alone(codes: np.ndarray) -> hierarchy.Sources:
    block = levels(codes)
    return hierarchy.sources({"group": block}, {"group": tuple(map(str, np.unique(codes)))})


def nodes_of(design: hierarchy.Sources, n_nodes: int = 2**11, width: float = 1.0):
    rng = np.random.default_rng(1)
    return hierarchy.quadrature(design, hierarchy.Prior(width), rng=rng, n_nodes=n_nodes)


def drawn_for(nodes: hierarchy.Quadrature) -> answers.Draws:
    n_nodes, n_effects, _ = nodes.root.shape
    return answers.draws(n_nodes, n_effects, rng=np.random.default_rng(3))


def at(nodes: hierarchy.Quadrature, place: int) -> hierarchy.Quadrature:
    """Return the quadrature with one node."""
    one = slice(place, place + 1)
    return hierarchy.Quadrature(
        nodes.sources,
        nodes.prior,
        nodes.ratios[one],
        nodes.root[one],
        nodes.log_determinant[one],
    )


def drawn(seed: int = 5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return 0.05 * rng.normal(size=14) + 0.1 * rng.normal(size=6)[SUITE]


def test_the_evidence_of_a_node_is_a_multivariate_t():
    design, y = nested(), drawn()
    nodes = nodes_of(design, 2**4)
    prior = nodes.prior
    for place, ratios in enumerate(nodes.ratios):
        shape = np.eye(14) + prior.centre**2
        for name, ratio in zip(design.names, ratios, strict=True):
            own = design.columns[:, design.of(name)]
            shape += ratio**2 * own @ own.T
        scale = prior.residual**2 / prior.shape * shape
        density = stats.multivariate_t.logpdf(y, np.zeros(14), scale, df=2 * prior.shape)
        found = hierarchy.posterior(at(nodes, place), y)
        assert found.log_evidence == pytest.approx(density, rel=1e-9)


def test_the_quadrature_is_the_integral_over_one_ratio():
    design, y = alone(SUITE), drawn()
    prior = hierarchy.Prior(1.0)
    own = design.columns[:, 1:]

    def weight(u: float, power: int) -> float:
        ratio = np.tan(np.pi * u / 2)
        shape = np.eye(14) + prior.centre**2 + ratio**2 * own @ own.T
        density = stats.multivariate_t.pdf(y, np.zeros(14), prior.residual**2 * shape, df=2)
        return float(density * (ratio**2 / (1 + ratio**2)) ** power / 1e6)

    total, first = (integrate.quad(weight, 0, 1, (power,), epsrel=1e-9)[0] for power in (0, 1))
    found = answers.shares(
        answers.superpopulation(nodes := nodes_of(design, 2**12), hierarchy.posterior(nodes, y))
    )
    assert found.loc[0, "share"] == pytest.approx(first / total, rel=1e-3)


def test_a_case_solved_by_hand_shrinks_as_it_must():
    # Two groups of two, means -1 and 1, one node: with the ratio fixed at 2 each effect is its
    # group's mean times n r^2 / (1 + n r^2) = 8 / 9, the mean of all being zero.
    codes = np.array([0, 0, 1, 1])
    y = np.array([-1.2, -0.8, 0.8, 1.2])
    nodes = nodes_of(alone(codes), 2)
    gram = nodes.sources.columns.T @ nodes.sources.columns
    scale = np.array([nodes.prior.centre, 2.0, 2.0])
    factor = np.linalg.cholesky(np.eye(3) + scale[:, None] * gram * scale)
    fixed = hierarchy.Quadrature(
        nodes.sources,
        nodes.prior,
        np.array([[2.0]]),
        (np.linalg.inv(factor) * scale)[None],
        np.log(np.diag(factor)).sum()[None],
    )
    found = hierarchy.posterior(fixed, y)
    np.testing.assert_allclose(found.means[0], [0.0, -8 / 9, 8 / 9], atol=1e-12)
    # What is left: y'y less y'Z m, that is 4.16 - 4 * 8 / 9.
    assert found.scales[0] == pytest.approx(0.05**2 + (4.16 - 32 / 9) / 2)
    # A sibling of the second group: mean 8/9; a new group: mean 0 and wider.
    sibling = answers.predict(found, np.array([1.0, 0.0, 1.0]), {})
    stranger = answers.predict(found, np.array([1.0, 0.0, 0.0]), {"group": 1.0})
    assert sibling.quantile(0.5) == pytest.approx(8 / 9)
    assert stranger.quantile(0.5) == pytest.approx(0.0, abs=1e-12)
    assert stranger.quantile(0.975) > sibling.quantile(0.975) - 8 / 9


def test_before_the_data_every_order_is_as_likely():
    belief = answers.superpopulation(nodes_of(nested()))
    orders = answers.orders(belief)
    assert len(orders) == 6
    np.testing.assert_allclose(orders["probability"], 1 / 6, atol=0.01)
    assert orders["probability"].sum() == pytest.approx(1)
    assert answers.larger(belief, "lab", "x") == pytest.approx(0.5, abs=0.01)


def test_an_overwhelming_source_leads_and_orders_agree_with_pairs():
    x = np.linspace(-1, 1, 14)
    y = 5 * x + 0.01 * np.random.default_rng(2).normal(size=14)
    nodes = nodes_of(nested(), 2**13)
    after = hierarchy.posterior(nodes, y)
    here = answers.finite(nodes, drawn_for(nodes), after)
    shares = answers.shares(here).set_index("block")
    assert shares.loc["x", "share"] > 0.9
    assert shares.loc["x", "probability"] > 0.95
    assert shares["share"].sum() == pytest.approx(1)
    orders = answers.orders(here).set_index("ranking")["probability"]
    leads = orders[orders.index.str.startswith("x >")].sum()
    assert leads == pytest.approx(shares.loc["x", "probability"])


def test_levels_at_hand_are_known_better_than_levels_to_come():
    nodes = nodes_of(nested(), 2**13)
    after = hierarchy.posterior(nodes, drawn())
    new = answers.shares(answers.superpopulation(nodes, after)).set_index("block")
    here = answers.shares(answers.finite(nodes, drawn_for(nodes), after))
    suite = here.set_index("block").loc["suite"]
    wide = new.loc["suite"]
    assert suite["conf_high"] - suite["conf_low"] < wide["conf_high"] - wide["conf_low"]


def test_weighted_quantiles_lie_between_midpoints_and_shares_take_them():
    # Sorted, the middles of the weights are at 1/8, 3/8 and 3/4.
    values, weights = np.array([3.0, 1.0, 2.0]), np.array([0.5, 0.25, 0.25])
    found = answers.quantiles(values, weights, [0.0, 0.25, 3 / 8, 9 / 16, 1.0])
    assert found.tolist() == pytest.approx([1, 1.5, 2, 2.5, 3])
    share = (np.arange(100) + 0.5) / 100
    belief = answers.Belief(("a",), np.column_stack([share, 1 - share]), np.full(100, 0.01))
    rows = answers.shares(belief, conf_level=0.9).set_index("block")
    assert rows.loc["a", ["share", "conf_low", "conf_high"]].tolist() == pytest.approx(
        [0.5, 0.05, 0.95]
    )


def test_nodes_of_unequal_weight_amount_to_fewer():
    nodes = nodes_of(alone(SUITE), 2)
    weights = np.array([0.5, 0.25, 0.25])
    found = hierarchy.Posterior(nodes, weights, np.zeros((3, 7)), 1.0, np.ones(3), 0.0)
    assert found.effective == pytest.approx(8 / 3)


def test_before_the_data_the_residual_has_its_inverse_gamma():
    nodes = nodes_of(nested())
    belief = answers.finite(nodes, drawn_for(nodes))
    prior = stats.invgamma(nodes.prior.shape, scale=nodes.prior.residual**2)
    for probability in (0.25, 0.5, 0.75):
        found = np.quantile(belief.variances[:, -1], probability)
        assert found == pytest.approx(prior.ppf(probability), rel=0.01)


def test_sources_need_rows_in_common():
    with pytest.raises(DesignError, match="same number of rows"):
        hierarchy.sources({"a": np.ones((2, 1)), "b": np.ones((3, 1))}, {"a": ("a",), "b": ("b",)})
