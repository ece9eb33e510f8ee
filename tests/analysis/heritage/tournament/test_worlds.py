"""What is planted has its share; three cells of the tournament by RLRsim, lme4 and in R."""

import numpy as np
import pandas as pd
import pytest

from analysis.heritage.tournament import criterion
from tests.analysis.places import R
from tests.proofs.competing import exact, lattice, layouts
from tests.proofs.competing.layouts import Layout
from tests.proofs.competing.worlds import World, papers, worlds


@pytest.fixture(scope="module")
def layout(shipped_store):
    return layouts.present(shipped_store)


def test_the_present_layout_is_that_of_the_paper(layout):
    assert len(layout) == 22
    assert layout.suites.max() + 1 == 7
    assert layout.labs.max() + 1 == 5
    assert layout.models["model_id"][layout.aberrant] == "EleutherAI/gpt-neo-125m"
    assert (layout.lab_of_suite == layout.named).sum() == 3
    twice = layouts.repeated(layout, 2)
    assert (len(twice), twice.suites.max() + 1, twice.labs.max() + 1) == (44, 14, 10)
    made = layouts.balanced(layout, 14, 4, np.random.default_rng(3))
    assert np.bincount(made.suites).tolist() == [4] * 14
    assert np.bincount(made.lab_of_suite).tolist() == [2] * 7


@pytest.mark.parametrize("name", criterion.ALONE)
@pytest.mark.parametrize("form", ["normal", "heavy-tailed"])
def test_a_component_has_its_share(layout, name, form):
    drawn = papers(layout, World(name, {name: 0.5}, form), 8000, np.random.default_rng(1))
    whole = np.median(drawn.var(axis=1)) if form == "heavy-tailed" else drawn.var(axis=1).mean()
    rest = 0.5 * (1 - 1 / len(layout))
    # Student's t of three degrees has a skewed sample variance, whose median lies lower.
    assert 0.5 < whole < 0.5 + rest + 0.02
    if form == "normal":
        assert whole == pytest.approx(0.5 + rest, abs=0.01)


@pytest.mark.parametrize(
    ("shares", "statement", "is_true", "is_reversed"),
    [
        ({}, "recipe over geometry", False, False),
        ({"suite": 0.5}, "recipe over geometry", True, False),
        ({"suite": 0.5}, "lab over geometry", False, False),
        ({"suite": 0.5}, "lab over suite", False, True),
        ({"named lab": 0.5}, "lab over geometry", True, False),
        ({"shape": 0.2, "depth": 0.2, "lab": 0.4}, "lab over geometry", False, False),
        ({"depth": 0.4, "lab": 0.3, "suite": 0.1}, "recipe over geometry", False, False),
        ({"scale": 0.3}, "geometry over scale", False, True),
    ],
)
def test_what_is_planted_makes_statements_true(shares, statement, is_true, is_reversed):
    world = World("", shares)
    assert world.is_true(statement) is is_true
    assert world.is_true(statement, reverse=True) is is_reversed


def test_the_worlds_are_those_of_the_criterion_and_the_aberrant_model_lies_off(layout):
    result = list(worlds())
    assert len(result) == len(criterion.TOGETHER) + len(criterion.ALONE) * len(criterion.SHARES)
    assert all(sum(one.shares.values()) <= 0.9 + 1e-9 for one in result)
    one = World("nothing", {}, "outlier")
    drawn = papers(layout, one, 4000, np.random.default_rng(2))
    means = drawn.mean(axis=0)
    assert means[layout.aberrant] == pytest.approx(criterion.AWAY, abs=0.06)
    assert np.abs(np.delete(means, layout.aberrant)).max() < 0.06


WAYS = ["cell", "paper"]


@pytest.fixture(scope="module")
def oracle():
    return Layout("present", pd.read_csv(R / "tournament_models.csv"), 0)


@pytest.fixture(scope="module")
def oracle_papers():
    return pd.read_csv(R / "tournament_papers.csv").drop(columns=WAYS).to_numpy()


def test_p_of_the_exact_ratio_is_that_of_rlrsim(oracle, oracle_papers):
    source = exact.of_block(oracle, "suite", ("geometry", "scale"))
    result = exact.p_above(source, oracle_papers, np.random.default_rng(1))
    known = pd.read_csv(R / "tournament_ratio.csv")["p_value"].to_numpy()
    # Our 4,000 draws against 100,000: three standard errors and the grid's step.
    assert np.abs(result - known).max() < 3 * np.sqrt(0.25 / exact.DRAWS) + 0.005
    assert np.abs(result - known)[known < 0.1].max() < 0.012


def test_the_criterion_on_the_lattice_is_lme4s(oracle, oracle_papers):
    result = lattice.lattice(oracle)
    known = pd.read_csv(R / "tournament_criterion.csv")
    n = len(oracle)
    ours = result.criteria(oracle_papers)
    constant = np.log(n) + (n - 1) * (1 + np.log(2 * np.pi / (n - 1)))
    for (lab, suite), rows in known.groupby(["lab", "suite"], sort=False):
        point = np.flatnonzero((result.parts[:, :4] == (lab, suite, 0, 0)).all(axis=1)).item()
        np.testing.assert_allclose(
            ours[:, point] + constant, rows["criterion"].to_numpy(), rtol=0, atol=1e-6
        )


def test_the_profile_on_the_lattice_decides_as_a_continuous_one(oracle, oracle_papers):
    known = pd.read_csv(R / "tournament_profile.csv")
    some = pd.read_csv(R / "tournament_papers.csv")["paper"].to_numpy() < 20
    answers = lattice.profile_likelihood(lattice.lattice(oracle), oracle_papers[some])
    result = answers["recipe over geometry"]
    sign = np.where(known["is_first"] == 1, 1, -1)
    line = 2.705543  # chi-squared, 1 degree of freedom, upper 10 %
    expected = np.where(known["rise"] > line, sign, 0)
    is_near = np.abs(known["rise"] - line) < 0.35
    assert (result == expected)[~is_near].all()
    assert is_near.mean() < 0.2
    share = pd.Series(result > 0).groupby(known["cell"]).mean()
    again = pd.Series(expected > 0).groupby(known["cell"]).mean()
    assert (share - again).abs().max() <= 0.1
