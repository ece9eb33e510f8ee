"""Every parameter is stepped once, by the optimiser its recipe gives it to."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from collect.training.architecture import initialised_network
from collect.training.optimiser import (
    decay_turns,
    hidden_matrices,
    optimisers,
    rate_share,
    schedulers,
    weight_decay,
)
from collect.training.recipe import OPTIMISERS, read_recipe, recipe_of
from tests.collect.training.trained import table

RECIPES = Path(__file__).resolve().parents[3] / "data" / "sample" / "recipes"


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*-l4-*.toml")), ids=lambda path: path.stem)
def test_every_parameter_belongs_to_one_optimiser(path):
    recipe = read_recipe(path)
    network = initialised_network(recipe)
    stepped = [
        id(parameter)
        for optimiser in optimisers(network, recipe)
        for group in optimiser.param_groups
        for parameter in group["params"]
    ]
    assert sorted(stepped) == sorted(id(parameter) for parameter in network.parameters())


@pytest.mark.parametrize(("family", "per_block"), [("gpt2", 4), ("gptneox", 4), ("llama", 7)])
def test_muon_gets_the_matrices_of_the_blocks_and_nothing_else(family, per_block):
    recipe = read_recipe(RECIPES / f"{family}-l4-muon.toml")
    network = initialised_network(recipe)
    hidden = hidden_matrices(network)
    assert len(hidden) == 4 * per_block
    assert all(min(matrix.shape) != 256 for matrix in hidden)
    muon, beside = optimisers(network, recipe)
    assert isinstance(muon, torch.optim.Muon)
    assert isinstance(beside, torch.optim.AdamW)
    assert [id(matrix) for matrix in muon.param_groups[0]["params"]] == [id(m) for m in hidden]


def test_a_muon_step_has_the_size_of_an_adamw_step():
    recipe = read_recipe(RECIPES / "gpt2-l4-muon.toml")
    recipe = replace(recipe, optimiser=replace(recipe.optimiser, weight_decay=0.0))
    network = initialised_network(recipe)
    before = [matrix.detach().clone() for matrix in hidden_matrices(network)]
    generator = torch.Generator().manual_seed(0)
    for parameter in network.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator)
    muon, _ = optimisers(network, recipe)
    muon.step()
    for matrix, old in zip(hidden_matrices(network), before, strict=True):
        rms = (matrix.detach() - old).square().mean().sqrt().item()
        assert rms == pytest.approx(0.2 * recipe.optimiser.learning_rate, rel=0.35)


def test_the_rate_rises_then_follows_a_cosine_to_a_tenth():
    shares = [rate_share(step, steps=100, warm_up=10) for step in range(100)]
    assert shares[0] == pytest.approx(0.1, rel=1e-3)
    assert shares.index(max(shares)) == 9
    assert shares[50] == pytest.approx(0.55)
    assert shares[-1] == pytest.approx(0.1, abs=1e-3)
    assert rate_share(0, steps=100, warm_up=0) == 1.0


def turned(turns, **settings):
    """Return a recipe that counts its decay in turns, with other settings of the optimiser."""
    content = table("gpt_neox", schedule={"steps": 400, "warm_up": 20})
    rate = {"name": "adamw", "learning_rate": 3e-3}
    content["optimiser"] = {**rate, "decay_turns": turns, **settings}
    return recipe_of(content, "The recipe of a test")


def shrunk(recipe):
    """Return the shrinking of a block's matrix and of the input table over a schedule [nats].

    No gradient ever comes, so nothing but the decay moves the weights.
    """
    network = initialised_network(recipe)
    matrix, tab = hidden_matrices(network)[0], network.get_input_embeddings().weight
    before = matrix.detach().clone(), tab.detach().clone()
    stepping = optimisers(network, recipe)
    scheduling = schedulers(stepping, recipe)
    for parameter in network.parameters():
        parameter.grad = torch.zeros_like(parameter)
    for _ in range(recipe.schedule.steps):
        for stepper in (*stepping, *scheduling):
            stepper.step()
    pairs = zip(before, (matrix, tab), strict=True)
    inner, outer = (math.log(float(old.norm() / now.detach().norm())) for old, now in pairs)
    return inner, outer


@pytest.mark.parametrize("name", OPTIMISERS)
def test_decay_turns_are_the_e_foldings_that_a_matrix_shrinks_by(name):
    recipe = turned(1.5, name=name)
    assert shrunk(recipe) == pytest.approx((1.5, 1.5), rel=0.05)
    assert decay_turns(recipe) == 1.5


def test_the_embedding_has_a_rate_and_turns_of_its_own():
    both = shrunk(turned(1.0, embedding_rate=4.0, embedding_decay=0.5))
    assert both == pytest.approx((1.0, 0.5), rel=0.03)
    assert shrunk(turned(1.0, embedding_decay=0.0))[1] == 0.0
    network = initialised_network(recipe := turned(1.0, embedding_rate=4.0))
    groups = optimisers(network, recipe)[0].param_groups
    rates = {id(each): group["lr"] for group in groups for each in group["params"]}
    assert rates.pop(id(network.get_input_embeddings().weight)) == pytest.approx(0.012)
    assert set(rates.values()) == {0.003}


def test_turns_and_rate_of_decay_are_two_words_for_one_thing():
    recipe = turned(2.0)
    rates = [3e-3 * rate_share(step, steps=400, warm_up=20) for step in range(400)]
    assert weight_decay(recipe) == pytest.approx(2.0 / sum(rates))
    same = replace(
        recipe,
        optimiser=replace(recipe.optimiser, decay_turns=None, weight_decay=weight_decay(recipe)),
    )
    assert decay_turns(same) == pytest.approx(2.0)
