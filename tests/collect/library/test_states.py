"""Models as people have them in memory: their numbers are right, or the reason is said."""

from __future__ import annotations

import copy

import pandas as pd
import pytest
import torch

import collect
from collect.errors import ConformanceError
from tests.collect.conftest import tiny_model, tiny_tokenizer

TEXTS = ["The sky is", "Two and two", "A b"]


@pytest.fixture
def model():
    return tiny_model("llama")


def measured(model, quantities="all", **how):
    """Return what is measured of a model, but for what names the run and the model."""
    found = collect.measure(model, tiny_tokenizer(), TEXTS, quantities=quantities, **how)
    named = {"run_id", "model_id"}
    return {
        table: rows[[column for column in rows if column not in named]]
        for table, rows in found.items()
        if table not in ("run", "model", "conformance")
    }


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for table in expected:
        pd.testing.assert_frame_equal(found[table], expected[table], obj=table)


@pytest.mark.parametrize(
    ("owner", "part"),
    [
        ("model.layers.2", "mlp"),
        ("model.layers.2", "self_attn"),
        ("model.layers.2", "input_layernorm"),
        ("model.layers.2", "post_attention_layernorm"),
        ("model", "norm"),
    ],
)
def test_a_part_that_blocks_share_is_measured_in_each_as_a_copy_of_it_is(model, owner, part):
    name = "post_attention_layernorm" if part == "norm" else part
    shared = model.model.layers[0].get_submodule(name)
    setattr(model.get_submodule(owner), part, copy.deepcopy(shared))
    expected = measured(model, ["all", *_own()])
    setattr(model.get_submodule(owner), part, shared)
    assert_same(measured(model, ["all", *_own()]), expected)


def _own():
    def size(site, layer, states, attention):
        return states.abs().double().mean(-1)

    how = {"unit": "1", "description": "Mean absolute feature"}
    sites = ("block_mid", "block_output", "final_norm")
    return [collect.OwnQuantity("mean_size", measure=size, sites=sites, **how)]


def test_a_block_that_is_two_is_refused(model):
    model.model.layers[2] = model.model.layers[1]
    with pytest.raises(ConformanceError, match="a module of its own; 2 is 1 once more") as refusal:
        measured(model)
    assert "copy.deepcopy" in refusal.value.hint


def test_a_block_that_the_configuration_leaves_out_is_refused(model):
    model.model.layers.append(copy.deepcopy(model.model.layers[1]))
    with pytest.raises(ConformanceError, match=r"there are 4, .* the first 3 are"):
        measured(model)
    model.config.num_hidden_layers = 4
    assert measured(model)["residual_norm"]["layer"].max() == 3


@pytest.mark.parametrize("site", ["block_mid", "block_output"])
def test_what_a_function_runs_of_the_model_changes_no_other_number(model, site):
    def ahead(site, layer, states, attention):
        angles = model.model.rotary_emb(states[None], torch.arange(len(states))[None])
        after = model.model.layers[(layer + 1) % 3](states[None], position_embeddings=angles)
        return model.model.norm(after)[0].norm(dim=-1)

    how = {"unit": "1", "description": "Norm behind the next block"}
    own = collect.OwnQuantity("ahead", measure=ahead, sites=site, **how)
    found = measured(model, ["all", own], batch_size=1)
    assert found.pop("own_value")["value"].gt(0).all()
    found.pop("own_quantity")
    assert_same(found, measured(model, batch_size=1))
