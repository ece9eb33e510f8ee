"""A design is read strictly, its plan says what it comes to, and a fraction is balanced."""

import itertools

import numpy as np
import pytest

from collect.commands.cli import main
from collect.errors import InputError
from collect.training.study.design import Fraction, read_design
from collect.training.study.plan import runs
from tests.collect.training.study.tiny import TINY, written
from tests.collect.training.trained import TEXT


@pytest.fixture
def design(tmp_path):
    return written(tmp_path, TINY)


def test_a_design_crosses_its_levels_and_seeds(design):
    planned = runs(read_design(design))
    cells = [(run.cell.name, run.seed) for run in planned]
    expected = itertools.product(("pythia/two", "pythia/three", "bloom/two", "bloom/three"), (0, 1))
    assert cells == list(expected)
    assert len({run.run_id for run in planned}) == 8
    bloom = planned[-1].recipe
    assert (bloom.family, bloom.geometry.n_layers, bloom.seed) == ("bloom", 3, 1)
    assert bloom.optimiser.decay_turns == 0.5
    assert planned[0].recipe.initial.residual == "wang"


def test_what_does_not_determine_a_number_does_not_change_a_run(tmp_path):
    def ids(content):
        return [run.run_id for run in runs(read_design(written(tmp_path, content)))]

    same = ids(TINY)
    assert ids(TINY.replace("EleutherAI", "Eleuther").replace("pythia", "wang")) == same
    assert set(ids(TINY.replace("3e-3", "2e-3"))).isdisjoint(same)
    assert set(ids(TINY.replace("n_measured = 4", "n_measured = 5"))).isdisjoint(same)
    (tmp_path / "text.txt").write_bytes(TEXT[:-16] + b"x" * 16)
    design = tmp_path / "design.toml"
    assert {run.run_id for run in runs(read_design(design))}.isdisjoint(same)


@pytest.mark.parametrize(
    ("right", "wrong", "named"),
    [
        ("seeds = [0, 1]", "seeds = [0, 0]", "seeds"),
        ("n_measured = 4", "n_measure = 4", "n_measure"),
        ("three = {", "three = { n_layers = 3 } # {", "n_layers"),
        ("two = {}", "two = 2", "int"),
        ('bloom = "BigScience"', "", "bloom"),
        ("seeds = [0, 1]", 'seeds = [0]\ncontinued = "late"', "late"),
        ("[labels", "[[blocks]]\nnames = 1\n[labels", "names"),
        ("[labels", '[[blocks]]\nname = "b"\nlevels = { depth = ["four"] }\n[labels', "four"),
        ("[labels", '[generators]\nx = ["a"]\n[labels', "generators"),
        ("seeds = [0, 1]", 'seeds = [0]\nbase_fraction = ["recipe"]', "depth"),
    ],
)
def test_a_wrong_design_is_refused(tmp_path, right, wrong, named):
    path = written(tmp_path, TINY.replace(right, wrong, 1))
    with pytest.raises(InputError) as caught:
        read_design(path)
    assert named in caught.value.problem
    assert str(path) in caught.value.problem


def test_the_plan_says_runs_and_minutes(design, capsys):
    assert main(["study", str(design), "--plan"]) == 0
    assert "tiny: 8 runs, about 0 core minutes" in capsys.readouterr().out


WORDS = {"d": ("a", "b"), "e": ("a", "c"), "f": ("b", "c")}


def test_a_fraction_is_balanced_and_its_words_are_products():
    """The 2^(6-3) of resolution III in Box, Hunter and Hunter: d = ab, e = ac, f = bc."""
    fraction = Fraction(("a", "b", "c"), WORDS)
    signs = fraction.columns()
    assert signs.shape == (8, 6)
    assert np.array_equal(signs.T @ signs, 8 * np.eye(6))
    a, b, c, *generated = signs.T
    for column, product in zip(generated, (a * b, a * c, b * c), strict=True):
        assert np.array_equal(column, product)


@pytest.mark.parametrize("word", [("a",), ("a", "a"), ("a", "x")])
def test_a_wrong_generator_is_refused(word):
    with pytest.raises(ValueError, match="must be two or more of"):
        Fraction(("a", "b"), {"c": word})
