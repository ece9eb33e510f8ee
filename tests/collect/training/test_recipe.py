"""Recipes are read strictly, and each refusal says where and what."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from collect.errors import InputError
from collect.training.families import FAMILIES
from collect.training.recipe import read_recipe, recipe_of
from tests.collect.training.trained import micro, table

RECIPES = Path(__file__).resolve().parents[3] / "data" / "sample" / "recipes"

LLAMA = """\
name = "micro"
lab = "thermoscope"
suite = "test"
year = 2026
family = "llama"
text = "text.txt"
seed = 0
initializer_range = 0.02

[geometry]
n_layers = 1
d_model = 16
n_heads = 2
n_kv_heads = 1
context = 32

[optimiser]
name = "adamw"
learning_rate = 3e-3
weight_decay = 0

[schedule]
steps = 20
warm_up = 5
batch_size = 4
"""


def refusal(tmp_path: Path, content: str) -> str:
    path = tmp_path / "recipe.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_recipe(path)
    assert caught.value.exit_code == 2
    assert str(path) in caught.value.problem
    return str(caught.value)


def test_every_key_arrives_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(LLAMA, encoding="utf-8")
    recipe = read_recipe(path)
    assert recipe.model_id == "thermoscope/micro"
    assert (recipe.seed, recipe.initializer_range, recipe.year) == (0, 0.02, 2026)
    assert (recipe.geometry.n_heads, recipe.geometry.n_kv_heads) == (2, 1)
    assert (recipe.schedule.steps, recipe.schedule.warm_up, recipe.schedule.batch_size) == (
        20,
        5,
        4,
    )
    assert recipe.optimiser.learning_rate == 0.003


def test_an_integer_passes_where_a_float_belongs(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(LLAMA, encoding="utf-8")
    weight_decay = read_recipe(path).optimiser.weight_decay
    assert weight_decay == 0.0
    assert isinstance(weight_decay, float)


def test_the_shipped_recipes_cross_two_suites_three_families_and_two_depths() -> None:
    recipes = {path.stem: read_recipe(path) for path in RECIPES.glob("*.toml")}
    assert all(stem == recipe.name for stem, recipe in recipes.items())
    cells = {(recipe.suite, recipe.family, recipe.geometry.n_layers) for recipe in recipes.values()}
    families, optimisers = ("gpt2", "gpt_neox", "llama"), ("adamw", "muon")
    assert cells == {(o, f, n) for o in optimisers for f in families for n in (4, 8)}
    assert len(recipes) == 12


def test_two_shipped_suites_differ_in_the_optimiser_alone() -> None:
    for path in RECIPES.glob("*-adamw.toml"):
        adamw = read_recipe(path)
        muon = read_recipe(path.with_name(path.name.replace("-adamw", "-muon")))
        renamed = replace(muon.optimiser, name="adamw")
        assert replace(muon, name=adamw.name, suite="adamw", optimiser=renamed) == adamw


def test_broken_toml_is_refused_with_the_line(tmp_path: Path) -> None:
    message = refusal(tmp_path, LLAMA.replace("seed = 0", "seed = "))
    assert "must be valid TOML" in message
    assert "line 7" in message


def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_bytes(b'name = "\xff"')
    with pytest.raises(InputError, match="must be valid TOML in UTF-8"):
        read_recipe(path)


def test_a_mark_of_byte_order_is_no_part_of_a_recipe(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(LLAMA, encoding="utf-8-sig")
    assert read_recipe(path).seed == 0


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be a readable file; No such file or directory"):
        read_recipe(tmp_path / "none.toml")


def test_a_misspelt_key_is_refused_with_the_nearest_known_one(tmp_path: Path) -> None:
    message = refusal(tmp_path, LLAMA.replace("learning_rate", "lerning_rate"))
    assert "recipe.toml, optimiser must have only the keys" in message
    assert "found 'lerning_rate' besides" in message
    assert message.endswith("hint: Did you mean 'learning_rate'?")


def test_a_key_like_no_other_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path, "zzz = 1\n" + LLAMA).endswith("found 'zzz' besides.\nhint: Remove it.")


@pytest.mark.parametrize(
    ("line", "missing"),
    [("seed = 0\n", "seed"), ("steps = 20\n", "steps"), ("context = 32\n", "context")],
)
def test_a_missing_key_is_refused_by_name(tmp_path: Path, line: str, missing: str) -> None:
    assert f"found none named {missing}." in refusal(tmp_path, LLAMA.replace(line, ""))


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("seed = 0", 'seed = "0"', "seed, must be an integer; found '0', a string."),
        ("seed = 0", "seed = true", "seed, must be an integer; found True, a boolean."),
        ("steps = 20", "steps = 20.0", "schedule, steps, must be an integer; found 20.0, a float."),
        ("n_kv_heads = 1", "n_kv_heads = []", "n_kv_heads, must be an integer; found [], a list."),
        ("weight_decay = 0", "weight_decay = '0'", "must be a float; found '0', a string."),
        ('name = "micro"', "name = 1", "name, must be a string; found 1, an integer."),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(
    tmp_path: Path, right: str, wrong: str, message: str
) -> None:
    assert message in refusal(tmp_path, LLAMA.replace(right, wrong, 1))


def test_a_section_that_is_no_table_is_refused(tmp_path: Path) -> None:
    content = (
        LLAMA.split("[geometry]", maxsplit=1)[0] + "geometry = 1\noptimiser = 1\nschedule = 1\n"
    )
    assert "geometry, must be a table; found 1." in refusal(tmp_path, content)


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("d_model = 16", "d_model = 15", "d_model must be a multiple of n_heads; found 15 and 2"),
        ("n_kv_heads = 1", "n_kv_heads = 3", "must be a multiple of n_kv_heads; found 2 and 3"),
        ('"llama"', '"gpt2"', "family gpt2 must not have geometry.n_kv_heads"),
        ("d_model = 16", "d_model = 6", "a llama head must have an even width; found 3"),
        ('"llama"', '"bert"', "family must be one of gpt2, gpt_neo, gpt_neox, gptj, opt"),
        ('"adamw"', '"lion"', "name must be one of adamw, muon, sgd; found 'lion'"),
        ("n_layers = 1", "n_layers = 0", "n_layers must be positive and finite; found 0"),
        ("n_heads = 2", "n_heads = 0", "n_heads must be positive and finite; found 0"),
        ("3e-3", "nan", "learning_rate must be positive and finite; found nan"),
        ("weight_decay = 0", "weight_decay = -1", "weight_decay must be finite and not negative"),
        ("warm_up = 5", "warm_up = 20", "warm_up must lie between 0 and steps; found 20 of 20"),
        ("year = 2026", "year = 1611", "year must be in 2017 to 2100; found 1611"),
        ("seed = 0", "seed = -1", "seed must be in 0 to 2**63 - 1; found -1"),
        ('"micro"', '"../micro"', "name must be made of letters, digits, '.', '_' and '-'"),
        ('"micro"', '""', "name must be made of letters"),
    ],
)
def test_an_impossible_value_is_refused(
    tmp_path: Path, right: str, wrong: str, message: str
) -> None:
    assert message in refusal(tmp_path, LLAMA.replace(right, wrong, 1))


def test_a_gpt_neox_head_that_rotary_positions_cannot_split_is_refused(tmp_path: Path) -> None:
    content = LLAMA.replace('"llama"', '"gpt_neox"').replace("n_kv_heads = 1\n", "")
    message = refusal(tmp_path, content.replace("d_model = 16", "d_model = 8"))
    assert "a gpt_neox head must be a multiple of 8 wide; found 4" in message


def test_what_is_left_out_is_the_familys_own() -> None:
    recipe = micro("opt")
    assert recipe.initializer_range is None
    assert (recipe.architecture.tied, recipe.initial.residual) == (None, None)
    assert (recipe.optimiser.beta2, recipe.optimiser.clip, recipe.optimiser.z_loss) == (0.95, 1, 0)
    assert recipe.schedule.checkpoints == ()


def refused(family: str, **more: Any) -> str:
    with pytest.raises(InputError) as caught:
        recipe_of(table(family, **more), "The recipe x.toml")
    assert caught.value.problem.startswith("The recipe x.toml")
    assert caught.value.problem.count(". ") == 0
    return caught.value.problem


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_refuses_what_its_layout_cannot_do(family: str) -> None:
    layout = FAMILIES[family]
    for position in {"pre", "post", "sandwich", "output"} - set(layout.model_types):
        message = refused(family, architecture={"norm_position": position})
        assert f"family {family} must have architecture.norm_position" in message
    for parallel in {True, False} - set(layout.is_parallel):
        message = refused(family, architecture={"parallel": parallel})
        assert f"must have architecture.parallel {str(not parallel).lower()}; found" in message
    if layout.dropout is None:
        assert "no place for; found 0.1" in refused(family, architecture={"dropout": 0.1})
    if not layout.shares_heads:
        message = refused(family, geometry={"n_kv_heads": 1})
        assert f"family {family} must not have geometry.n_kv_heads" in message
    if layout.head_multiple > 1:
        assert f"a {family} head must" in refused(family, geometry={"d_model": 33, "n_heads": 11})


@pytest.mark.parametrize(
    ("family", "more", "message"),
    [
        ("gemma", {"architecture": {"embedding_scale": 2.0}}, "the square root of d_model"),
        ("gemma2", {"architecture": {"embedding_norm": True}}, "multiplies the embedding itself"),
        ("granite", {"architecture": {"embedding_norm": True}}, "multiplies the embedding itself"),
        ("bloom", {"architecture": {"embedding_norm": False}}, "always norms the embedding"),
        (
            "bloom",
            {"architecture": {"embedding_scale": 2.0}},
            "norms the embedding, which undoes it",
        ),
        ("llama", {"architecture": {"embedding_scale": 0.0}}, "embedding_scale must be positive"),
        ("gpt2", {"architecture": {"dropout": 1.0}}, "dropout must be in 0 to 1; found 1.0"),
        ("gpt2", {"architecture": {"tied": "yes"}}, "tied, must be a boolean; found 'yes'"),
        ("gpt2", {"initial": {"inner": -1.0}}, "inner must be positive and finite; found -1.0"),
        ("gpt2", {"initial": {"residual": "deep"}}, "residual must be one of none, depth"),
        (
            "gpt2",
            {"initial": {"inner": 0.5}, "initializer_range": 0.02},
            "initializer_range and initial.inner must not both be given",
        ),
        ("gpt2", {"optimiser": {"decay_turns": 1.0}}, "found weight_decay and decay_turns"),
        ("gpt2", {"optimiser": {"beta2": 1.0}}, "beta2 must be at least 0 and below 1; found 1.0"),
        ("gpt2", {"optimiser": {"momentum": -0.1}}, "momentum must be at least 0"),
        ("gpt2", {"optimiser": {"clip": 0.0}}, "clip must be positive"),
        ("gpt2", {"optimiser": {"z_loss": -1.0}}, "z_loss must be finite and not negative"),
        ("gpt2", {"optimiser": {"embedding_rate": 0.0}}, "embedding_rate must be positive"),
        ("gpt2", {"optimiser": {"embedding_decay": -1.0}}, "embedding_decay must be finite"),
        ("gpt2", {"optimiser": {"final_share": 1.5}}, "final_share must be in 0 to 1; found 1.5"),
        ("gpt2", {"schedule": {"checkpoints": [5, 5]}}, "checkpoints must rise from 0 to 20"),
        ("gpt2", {"schedule": {"checkpoints": [5, 21]}}, "checkpoints must rise from 0 to 20"),
        ("gpt2", {"schedule": {"checkpoints": [5.5]}}, "must be an integer; found 5.5, a float"),
        ("gpt2", {"schedule": {"checkpoints": 5}}, "checkpoints, must be an array; found 5"),
        ("gpt2", {"schedule": {"stop_loss": 2.0}}, "stop_loss must come with checkpoints"),
        (
            "gpt2",
            {"schedule": {"stop_loss": 0.0, "checkpoints": [5]}},
            "stop_loss must be positive",
        ),
        ("gpt2", {"n_vocabulary": 256}, "n_vocabulary must be in 257 to 65536; found 256"),
        ("gpt2", {"data_seed": -1}, "data_seed must be in 0 to 2**63 - 1; found -1"),
    ],
)
def test_each_impossible_combination_is_refused_in_a_sentence(
    family: str, more: dict[str, Any], message: str
) -> None:
    assert message in refused(family, **more)


def test_a_decay_must_be_given_once() -> None:
    content = table("gpt2")
    del content["optimiser"]["weight_decay"]
    with pytest.raises(InputError, match="must be given, not both; found neither"):
        recipe_of(content, "The recipe x.toml")
