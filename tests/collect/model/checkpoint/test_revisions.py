"""Revisions: names and patterns resolved, on a hub or in a directory, and their training."""

import json
import shutil

import pytest

from collect.errors import InputError
from collect.model.checkpoint.location import locate
from collect.model.checkpoint.revisions import asked_for, training_of

STEPS = ("step0", "step2", "step10")


@pytest.fixture
def side_by_side(save_tiny):
    """A directory that holds three checkpoints, and something that is none."""
    for seed, name in enumerate(STEPS):
        directory = save_tiny("llama", seed=seed, at=f"series/{name}")
    (directory.parent / "notes").mkdir()
    return directory.parent


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("step1000", (1000, None)),
        ("global_step5000", (5000, None)),
        ("checkpoint-500", (500, None)),
        ("stage1-step1000-tokens5B", (1000, 5_000_000_000)),
        ("step10-tokens1.5M", (10, 1_500_000)),
        ("main", (None, None)),
        ("v2", (None, None)),
    ],
)
def test_a_name_tells_how_far_a_model_was_trained(name, known):
    assert training_of(name) == known


def test_a_pattern_stands_for_the_checkpoints_of_a_directory_by_their_step(side_by_side):
    assert asked_for(str(side_by_side), ["step*"]) == list(STEPS)
    assert asked_for(str(side_by_side), ["step10", "step?"]) == ["step10", "step0", "step2"]
    assert asked_for(str(side_by_side), []) == [None]
    with pytest.raises(InputError, match="'epoch\\*' matches none") as refusal:
        asked_for(str(side_by_side), ["epoch*"])
    assert refusal.value.hint == "There are step0, step2, step10."


def test_a_directory_that_holds_checkpoints_and_is_none_names_its_revisions(side_by_side):
    with pytest.raises(InputError, match="but 3 directories in it do") as refusal:
        locate(str(side_by_side))
    assert refusal.value.hint == (
        "Add --revision 'step*' to measure them. There are step0, step2, step10."
    )
    (side_by_side / "step10").rename(side_by_side / "final")
    shutil.rmtree(side_by_side / "step2")
    with pytest.raises(InputError, match="but 2 directories") as refusal:
        locate(str(side_by_side))
    assert refusal.value.hint.startswith("Add --revision '*' to measure them.")
    shutil.rmtree(side_by_side / "step0")
    with pytest.raises(InputError, match="but 1 directory in it does") as refusal:
        locate(str(side_by_side))
    assert refusal.value.hint.startswith("Add --revision 'final' to measure them.")


def test_checkpoints_of_a_directory_are_revisions_of_one_model(side_by_side):
    result = [locate(str(side_by_side), revision=name) for name in STEPS]
    assert {checkpoint.model_id for checkpoint in result} == {"local/series"}
    assert [checkpoint.revision for checkpoint in result] == list(STEPS)
    assert [checkpoint.training_step for checkpoint in result] == [0, 2, 10]
    with pytest.raises(InputError, match="none named 'step3'"):
        locate(str(side_by_side), revision="step3")
    with pytest.raises(InputError, match="none named"):
        locate(str(side_by_side), revision="../series/step2")


def test_what_lies_beside_a_checkpoint_tells_how_far_it_was_trained(side_by_side):
    shutil.move(side_by_side / "step2", side_by_side / "best")
    state = {"global_step": 7, "num_input_tokens_seen": 7000}
    (side_by_side / "best" / "trainer_state.json").write_text(json.dumps(state))
    best = locate(str(side_by_side), revision="best")
    assert (best.training_step, best.training_tokens) == (7, 7000)
    (side_by_side / "step10" / "thermoscope.json").write_text(json.dumps({"tokens": 640}))
    assert locate(str(side_by_side), revision="step10").training_tokens == 640
