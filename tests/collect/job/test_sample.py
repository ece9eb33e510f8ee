"""The shipped sample: it belongs to the shipped recipes, and training again gives it again."""

import hashlib
from dataclasses import replace

import duckdb
import pytest

from collect.job.task import tokens_sha256
from collect.prompts import sets
from collect.prompts.tokens import encode
from collect.training.descent import tokenizer_of
from collect.training.recipe import read_recipe
from tests.proofs.sample_again import SAMPLE, TOLERANCE, Outcome, again, shipped, trainings

PROMPT_SETS = ("A_grand_unified",)


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_sample_holds_every_recipe_on_its_prompt_set():
    recipes = [read_recipe(path) for path in (SAMPLE / "recipes").glob("*.toml")]
    files = str(SAMPLE / "run" / "*.parquet")
    with duckdb.connect() as connection:
        units = connection.sql(
            "SELECT model_id, prompt_set FROM read_parquet($files)", params={"files": files}
        ).fetchall()
    assert len(units) == 24
    assert set(units) == {
        (recipe.model_id, prompts) for recipe in recipes for prompts in (None, *PROMPT_SETS)
    }


def test_the_sample_was_trained_from_the_recipes_and_the_text_beside_it():
    for path in (SAMPLE / "recipes").glob("*.toml"):
        recipe = read_recipe(path)
        training = trainings()[recipe.model_id]
        assert training["recipe_sha256"] == sha256(path)
        assert training["text_sha256"] == sha256(path.parent / recipe.text)
    assert len(trainings()) == 12


#: A twelfth of the schedule of llama-l4-adamw, from code with which the whole gives the shipped
#: numbers; the whole is a long proof (tests.proofs.sample_again).
SHORT = Outcome(loss_before=5.570529063542684, loss_after=3.109148, gain=0.486673)


@pytest.mark.slow
def test_a_twelfth_of_a_training_gives_the_kept_loss_and_gain(tmp_path):
    recipe = (SAMPLE / "recipes/llama-l4-adamw.toml").read_text(encoding="utf-8")
    text = recipe.replace("../../text", str(SAMPLE.parent / "text"))
    text = text.replace("steps = 300", "steps = 25").replace("warm_up = 40", "warm_up = 4")
    path = tmp_path / "llama-l4-adamw.toml"
    path.write_text(text, encoding="utf-8")
    result = again(path, tmp_path)
    assert result.distance(SHORT) < TOLERANCE["adamw"]
    assert SHORT.loss_before == shipped("llama-l4-adamw").loss_before


def test_tokens_have_the_hash_under_which_the_sample_was_measured():
    """Units are found by it: of another hash, every store that is there is measured again."""
    prompts = sets.load("A_grand_unified").prompts
    recipe = read_recipe(SAMPLE / "recipes" / "llama-l4-adamw.toml")
    tokenizer = tokenizer_of(recipe, (SAMPLE / "recipes" / recipe.text).read_bytes())
    encoded = encode(prompts, tokenizer)
    with duckdb.connect() as connection:
        ((stored,),) = connection.sql(
            "SELECT DISTINCT tokens_sha256 FROM read_parquet($files) WHERE kind = 'prompts'",
            params={"files": str(SAMPLE / "run" / "*.parquet")},
        ).fetchall()
    assert tokens_sha256(encoded) == stored
    cut = [replace(prompt, is_beginning=True) for prompt in encoded]
    assert tokens_sha256(cut) == stored
