"""Recipes are read strictly, and each refusal says where and what."""

from pathlib import Path

import pytest

from collect.errors import InputError
from collect.training.families import FAMILIES
from collect.training.recipe import read_recipe, recipe_of
from tests.collect.training.trained import table, toml

RECIPES = Path(__file__).resolve().parents[3] / "data" / "sample" / "recipes"

LLAMA = toml(table("llama", initializer_range=0.02, geometry={"n_kv_heads": 1}))


def refusal(tmp_path, content):
    path = tmp_path / "recipe.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_recipe(path)
    assert caught.value.exit_code == 2
    assert str(path) in caught.value.problem
    return str(caught.value)


def test_every_key_arrives_in_its_place(tmp_path):
    path = tmp_path / "recipe.toml"
    path.write_text(LLAMA, encoding="utf-8")
    recipe = read_recipe(path)
    assert recipe.model_id == "thermoscope/micro"
    assert (recipe.seed, recipe.initializer_range, recipe.year) == (0, 0.02, 2026)
    assert (recipe.geometry.n_heads, recipe.geometry.n_kv_heads) == (2, 1)
    schedule = recipe.schedule
    assert (schedule.steps, schedule.warm_up, schedule.batch_size) == (20, 5, 4)
    assert recipe.optimiser.learning_rate == 0.003


def test_the_shipped_recipes_cross_two_suites_three_families_and_two_depths():
    recipes = {path.stem: read_recipe(path) for path in RECIPES.glob("*.toml")}
    assert all(stem == recipe.name for stem, recipe in recipes.items())
    cells = {(recipe.suite, recipe.family, recipe.geometry.n_layers) for recipe in recipes.values()}
    families, optimisers = ("gpt2", "gpt_neox", "llama"), ("adamw", "muon")
    assert cells == {(o, f, n) for o in optimisers for f in families for n in (4, 8)}
    assert len(recipes) == 12


def test_a_misspelt_key_is_refused_with_the_nearest_known_one(tmp_path):
    message = refusal(tmp_path, LLAMA.replace("learning_rate", "lerning_rate"))
    assert "recipe.toml, optimiser must have only the keys" in message
    assert "found 'lerning_rate' besides" in message
    assert message.endswith("hint: Did you mean 'learning_rate'?")


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("seed = 0", 'seed = "0"', "seed"),
        ("steps = 20", "steps = 20.0", "steps"),
        ("d_model = 32", "d_model = 31", "d_model"),
        ("n_kv_heads = 1", "n_kv_heads = 3", "n_kv_heads"),
        ('"llama"', '"bert"', "family"),
        ("n_layers = 2", "n_layers = 0", "n_layers"),
        ("0.003", "nan", "learning_rate"),
        ("warm_up = 5", "warm_up = 20", "warm_up"),
        ("year = 2026", "year = 1611", "year"),
        ("seed = 0", "seed = -1", "seed"),
        ('"micro"', '"../micro"', "name"),
        ("seed = 0\n", "", "seed"),
        ("seed = 0", "seed = ", "line 7"),
    ],
)
def test_an_impossible_value_is_refused(tmp_path, right, wrong, message):
    assert message in refusal(tmp_path, LLAMA.replace(right, wrong, 1))


def refused(family, **more):
    with pytest.raises(InputError) as caught:
        recipe_of(table(family, **more), "The recipe x.toml")
    assert caught.value.problem.startswith("The recipe x.toml")
    assert caught.value.problem.count(". ") == 0
    return caught.value.problem


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_refuses_what_its_layout_cannot_do(family):
    layout = FAMILIES[family]
    for position in {"pre", "post", "sandwich", "output"} - set(layout.model_types):
        assert "norm_position" in refused(family, architecture={"norm_position": position})
    for parallel in {True, False} - set(layout.is_parallel):
        assert "parallel" in refused(family, architecture={"parallel": parallel})
    if layout.dropout is None:
        assert "dropout" in refused(family, architecture={"dropout": 0.1})
    if not layout.shares_heads:
        assert "n_kv_heads" in refused(family, geometry={"n_kv_heads": 1})
    if layout.head_multiple > 1:
        assert "n_heads" in refused(family, geometry={"d_model": 33, "n_heads": 11})


@pytest.mark.parametrize(
    ("family", "more", "message"),
    [
        ("gemma", {"architecture": {"embedding_scale": 2.0}}, "embedding_scale"),
        ("gemma2", {"architecture": {"embedding_norm": True}}, "embedding_norm"),
        ("bloom", {"architecture": {"embedding_norm": False}}, "embedding_norm"),
        ("bloom", {"architecture": {"embedding_scale": 2.0}}, "embedding_scale"),
        ("gpt2", {"architecture": {"tied": "yes"}}, "tied"),
        ("gpt2", {"initial": {"inner": 0.5}, "initializer_range": 0.02}, "initializer_range"),
        ("gpt2", {"optimiser": {"decay_turns": 1.0}}, "decay_turns"),
        ("gpt2", {"optimiser": {"beta2": 1.0}}, "beta2"),
        ("gpt2", {"optimiser": {"z_loss": -1.0}}, "z_loss"),
        ("gpt2", {"schedule": {"checkpoints": [5, 5]}}, "checkpoints"),
        ("gpt2", {"schedule": {"checkpoints": [5.5]}}, "checkpoints"),
        ("gpt2", {"schedule": {"stop_loss": 2.0}}, "stop_loss"),
        ("gpt2", {"n_vocabulary": 256}, "n_vocabulary"),
    ],
)
def test_each_impossible_combination_is_refused_in_a_sentence(family, more, message):
    assert message in refused(family, **more)
