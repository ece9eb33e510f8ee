"""What is planted has its share, and statements are true where they should be."""

import numpy as np
import pytest

from analysis.heritage.tournament import criterion
from tests.proofs.competing import layouts
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


def test_the_aberrant_model_lies_four_deviations_off(layout):
    one = World("nothing", {}, "outlier")
    drawn = papers(layout, one, 4000, np.random.default_rng(2))
    means = drawn.mean(axis=0)
    assert means[layout.aberrant] == pytest.approx(criterion.AWAY, abs=0.06)
    assert np.abs(np.delete(means, layout.aberrant)).max() < 0.06


@pytest.mark.parametrize(
    ("shares", "statement", "is_true", "is_reversed"),
    [
        ({}, "recipe over geometry", False, False),
        ({"suite": 0.5}, "recipe over geometry", True, False),
        ({"suite": 0.5}, "lab over geometry", False, False),
        ({"suite": 0.5}, "lab over suite", False, True),
        ({"named lab": 0.5}, "lab over geometry", True, False),
        ({"shape": 0.2, "depth": 0.2, "lab": 0.4}, "lab over geometry", False, False),
        (
            {"shape": 0.2, "depth": 0.2, "lab": 0.3, "suite": 0.1},
            "recipe over geometry",
            False,
            False,
        ),
        ({"scale": 0.3}, "geometry over scale", False, True),
    ],
)
def test_what_is_planted_makes_statements_true(shares, statement, is_true, is_reversed):
    world = World("", shares)
    assert world.is_true(statement) is is_true
    assert world.is_true(statement, reverse=True) is is_reversed


def test_the_worlds_are_those_of_the_criterion():
    result = list(worlds())
    assert len(result) == len(criterion.TOGETHER) + len(criterion.ALONE) * len(criterion.SHARES)
    assert all(sum(one.shares.values()) <= 0.9 + 1e-9 for one in result)
