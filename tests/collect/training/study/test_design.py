"""A design is read strictly, and its plan says what it comes to."""

from __future__ import annotations

import itertools
from pathlib import Path

import pandas as pd
import pytest

from collect.commands.cli import main
from collect.errors import InputError
from collect.training.study.design import read_design
from collect.training.study.plan import as_text, runs
from tests.collect.training.study.tiny import TINY, written
from tests.collect.training.trained import TEXT


@pytest.fixture
def design(tmp_path: Path) -> Path:
    return written(tmp_path, TINY)


def test_a_design_crosses_its_levels_and_seeds(design: Path) -> None:
    planned = runs(read_design(design))
    cells = [(run.cell.name, run.seed) for run in planned]
    expected = itertools.product(("pythia/two", "pythia/three", "bloom/two", "bloom/three"), (0, 1))
    assert cells == list(expected)
    assert len({run.run_id for run in planned}) == 8
    bloom = planned[-1].recipe
    assert (bloom.family, bloom.geometry.n_layers, bloom.seed) == ("bloom", 3, 1)
    assert bloom.optimiser.decay_turns == 0.5
    assert planned[0].recipe.initial.residual == "wang"


def test_what_does_not_determine_a_number_does_not_change_a_run(tmp_path: Path) -> None:
    def ids(content: str) -> list[str]:
        return [run.run_id for run in runs(read_design(written(tmp_path, content)))]

    same = ids(TINY)
    assert ids(TINY.replace("EleutherAI", "Eleuther").replace("pythia", "wang")) == same
    assert set(ids(TINY.replace("3e-3", "2e-3"))).isdisjoint(same)
    assert set(ids(TINY.replace("n_measured = 4", "n_measured = 5"))).isdisjoint(same)
    (tmp_path / "text.txt").write_bytes(TEXT[:-16] + b"x" * 16)
    design = tmp_path / "design.toml"
    assert {run.run_id for run in runs(read_design(design))}.isdisjoint(same)


def test_blocks_choose_levels_and_seeds_and_double_no_run(tmp_path: Path) -> None:
    blocks = """
[[blocks]]
name = "main"

[[blocks]]
name = "part"
seeds = [0, 1, 2]
levels = { depth = ["two"] }
"""
    planned = runs(read_design(written(tmp_path, TINY + blocks)))
    counted = pd.Series([run.cell.block.name for run in planned]).value_counts()
    assert counted.to_dict() == {"main": 8, "part": 2}
    assert {(run.cell.levels["depth"], run.seed) for run in planned[8:]} == {("two", 2)}


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("seeds = [0, 1]", "seeds = []", "seeds must differ, and there must be one; found []"),
        ("seeds = [0, 1]", "seeds = [0, 0]", "seeds must differ"),
        ("n_measured = 4", "n_measured = 0", "n_measured must be positive"),
        ("n_measured = 4", "n_measure = 4", "found 'n_measure' besides"),
        ("three = {", "three = { n_layers = 3 } # {", "cell pythia/three must have only the keys"),
        ("two = {}", "two = 2", "factors, depth, two, must be a table; found 2"),
        ('bloom = "BigScience"', "", "label lab must name every level of recipe; lacks ['bloom']"),
        ("[labels.lab.recipe]", "[labels.lab.maker]", "label lab must name a factor"),
        ("[labels.lab.recipe]", "[labels.depth.recipe]", "must not be named as a factor is"),
        ("seeds = [0, 1]", 'seeds = [0]\ncontinued = "late"', "continued must name a factor"),
        ("[labels", "[[blocks]]\nname = 1\n[labels", "a block must have a name; found 1"),
        ("[labels", "[[blocks]]\nnames = 1\n[labels", "only name, seeds and levels"),
        (
            "[labels",
            '[[blocks]]\nname = "b"\nlevels = { depth = ["four"] }\n[labels',
            "must choose levels of depth that there are",
        ),
        ("[labels", '[generators]\nx = ["a"]\n[labels', "generators must come with base_fraction"),
        (
            "seeds = [0, 1]",
            'seeds = [0]\nbase_fraction = ["recipe"]',
            "a fraction must have every factor and no other; ['depth'] differ",
        ),
        ("[base]", "[base]\ninitial = 2", "initial must be a table; found 2"),
        (
            "[labels.lab.recipe]",
            "[labels.suite]\nrecipe = 1\n[labels.lab.recipe]",
            "suite, recipe,",
        ),
        ("[labels.lab.recipe]", "[labels]\nsuite = 1\n[labels.lab.recipe]", "label suite must be"),
        ("[labels", "[[blocks]]\nname = 'b'\nlevels = 1\n[labels", "levels of block b must be a"),
        (
            "[labels",
            "[[blocks]]\nname = 'b'\nlevels = { depth = 1 }\n[labels",
            "levels of depth in block b must be a list of names; found 1",
        ),
        (
            "[labels",
            "[[blocks]]\nname = 'b'\nseeds = 1\n[labels",
            "whole numbers for seeds; found 1",
        ),
        ("seeds = [0, 1]", "seeds = [0]\nblocks = 1", "blocks, must be tables; found 1"),
        ("seeds = [0, 1]", "seeds = [0]\nblocks = [1]", "a block must be a table; found 1"),
        (
            "seeds = [0, 1]",
            'seeds = [0]\nbase_fraction = ["recipe"]\ngenerators = { depth = 1 }',
            "the generator of depth must be a list of names; found 1",
        ),
    ],
)
def test_a_wrong_design_is_refused_in_a_sentence(
    tmp_path: Path, right: str, wrong: str, message: str
) -> None:
    path = written(tmp_path, TINY.replace(right, wrong, 1))
    with pytest.raises(InputError) as caught:
        read_design(path)
    assert message in caught.value.problem
    assert str(path) in caught.value.problem


def test_the_plan_says_runs_aliases_and_minutes(
    tmp_path: Path, design: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["study", str(design), "--plan"]) == 0
    assert "tiny: 8 runs, about 0 core minutes" in capsys.readouterr().out
    content = TINY.replace("seeds = [0, 1]", 'seeds = [0]\nbase_fraction = ["recipe", "depth"]')
    content += """
[factors.rate]
low = { optimiser = { learning_rate = 1e-3 } }
high = { optimiser = { learning_rate = 4e-3 } }

[generators]
rate = ["recipe", "depth"]
"""
    shown = as_text(read_design(written(tmp_path, content)))
    assert "fraction of 3 factors in 4 cells, resolution 3" in shown
    assert "aliased: rate = recipe:depth" in shown
    assert not (tmp_path / "out").exists()
