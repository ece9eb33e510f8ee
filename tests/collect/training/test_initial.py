"""Each part of a network is drawn with the spread its recipe says."""

import math

import pytest
import torch

from collect.training.architecture import initialised_network
from collect.training.families import FAMILIES, RESIDUAL_RULES
from collect.training.initial import roles, spread
from tests.collect.training.trained import micro

SHAPE = {"n_layers": 4, "d_model": 64, "n_heads": 4, "context": 64}


def drawn(family, **more):
    """Return the root mean square of the first draw of each part."""
    recipe = micro(family, geometry=SHAPE, **more)
    torch.manual_seed(1)
    squares = {}
    for role, parameter in roles(initialised_network(recipe), recipe):
        squares.setdefault(role, []).append(parameter.detach().square().flatten())
    return {role: torch.cat(result).mean().sqrt().item() for role, result in squares.items()}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_matrix_plays_a_part_and_each_block_writes_twice(family):
    recipe = micro(family, geometry=SHAPE)
    network = initialised_network(recipe)
    played = [role for role, _ in roles(network, recipe)]
    assert len(played) == sum(parameter.ndim >= 2 for parameter in network.parameters())
    assert played.count("attention_write") == played.count("ffn_write") == SHAPE["n_layers"]
    assert {"embedding", "inner"} <= set(played)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_part_has_the_sigma_of_its_formula(family):
    result = drawn(family, initial={"inner": 0.9, "embedding": 0.3, "residual": "depth"})
    formula = dict.fromkeys(("attention_write", "ffn_write"), 0.9 / 8 / math.sqrt(8))
    formula |= {"inner": 0.9 / 8, "embedding": 0.3 / 8}
    assert result == pytest.approx(formula, rel=0.03)


@pytest.mark.parametrize(
    ("rule", "attention", "ffn"),
    [
        ("none", 0.1, 0.1),
        ("depth", 0.1 / math.sqrt(8), 0.1 / math.sqrt(8)),
        ("depth_ffn", 0.1, 0.05),
        ("wang", 2 / (4 * 8), 2 / (4 * 8)),
        ("zero", 0.0, 0.0),
    ],
)
def test_the_rule_of_residual_outputs(rule, attention, ffn):
    result = drawn("gpt_neox", initial={"inner": 0.8, "residual": rule})
    assert result["attention_write"] == pytest.approx(attention, rel=0.03)
    assert result["ffn_write"] == pytest.approx(ffn, rel=0.03)
    assert rule in RESIDUAL_RULES


@pytest.mark.parametrize("family", FAMILIES)
def test_the_rule_named_for_a_family_is_what_transformers_draws(family):
    by_itself = drawn(family, initializer_range=0.05)
    printed = micro(family, geometry=SHAPE, initial={"inner": 0.05 * 8, "embedding": 0.05 * 8})
    assert by_itself == pytest.approx({role: spread(role, printed) for role in by_itself}, rel=0.03)


def test_without_initial_nothing_is_drawn_again():
    recipe = micro("gpt2")
    torch.manual_seed(5)
    initialised_network(recipe)
    state = torch.random.get_rng_state()
    torch.manual_seed(5)
    initialised_network(micro("gpt2", initial={"inner": 0.1}))
    assert not torch.equal(torch.random.get_rng_state(), state)
    assert all(spread(role, recipe) is None for role in ("inner", "embedding", "ffn_write"))
