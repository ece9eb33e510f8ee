"""Every parameter is stepped once, by the optimiser its recipe gives it to."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from collect.training.architecture import initialised_network
from collect.training.optimiser import hidden_matrices, optimisers, rate_share
from collect.training.recipe import read_recipe

RECIPES = Path(__file__).resolve().parents[3] / "data" / "sample" / "recipes"


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*-l4-*.toml")), ids=lambda path: path.stem)
def test_every_parameter_belongs_to_one_optimiser(path: Path) -> None:
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
def test_muon_gets_the_matrices_of_the_blocks_and_nothing_else(family: str, per_block: int) -> None:
    recipe = read_recipe(RECIPES / f"{family}-l4-muon.toml")
    network = initialised_network(recipe)
    hidden = hidden_matrices(network)
    assert len(hidden) == 4 * per_block
    assert all(min(matrix.shape) != 256 for matrix in hidden)
    muon, beside = optimisers(network, recipe)
    assert isinstance(muon, torch.optim.Muon)
    assert isinstance(beside, torch.optim.AdamW)
    assert [id(matrix) for matrix in muon.param_groups[0]["params"]] == [id(m) for m in hidden]


def test_weight_decay_spares_biases_and_norms() -> None:
    recipe = read_recipe(RECIPES / "gpt2-l4-adamw.toml")
    (adamw,) = optimisers(initialised_network(recipe), recipe)
    matrices, vectors = adamw.param_groups
    assert (matrices["weight_decay"], vectors["weight_decay"]) == (0.1, 0.0)
    assert all(parameter.ndim == 2 for parameter in matrices["params"])
    assert all(parameter.ndim == 1 for parameter in vectors["params"])


def test_a_muon_step_has_the_size_of_an_adamw_step() -> None:
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


def test_the_rate_rises_then_follows_a_cosine_to_a_tenth() -> None:
    shares = [rate_share(step, steps=100, warm_up=10) for step in range(100)]
    assert shares[0] == pytest.approx(0.1, rel=1e-3)
    assert shares.index(max(shares)) == 9
    assert shares[50] == pytest.approx(0.55)
    assert shares[-1] == pytest.approx(0.1, abs=1e-3)


def test_without_warm_up_the_first_step_has_the_full_rate() -> None:
    assert rate_share(0, steps=100, warm_up=0) == 1.0
