"""The places of a decoder, and what it computes that the model does not hand out."""

from dataclasses import replace

import pytest
import torch

import collect.model.checkpoint.decoder
from collect.adapters import ADAPTERS
from collect.adapters.configuration import always
from collect.errors import ConformanceError, UnsupportedModelError
from collect.measures.register import OF_VECTORS
from collect.model.checkpoint.decoder import Contribution, decoder
from collect.model.description import Missing, missing
from tests.collect.families import tiny_family
from tests.collect.shown import loaded_family


def test_the_sites_of_a_block_are_modules_of_that_block():
    of = loaded_family("gemma2")
    block = of.blocks[1]
    sites = of.sites(1)
    assert sites.block is block
    assert sites.attention is block.self_attn is of.attentions[1]
    assert sites.ffn_input is block.mlp
    assert sites.mid is block.pre_feedforward_layernorm
    assert sites.attention_update == Contribution(block.post_attention_layernorm, 1.0)
    assert sites.ffn_update == Contribution(block.post_feedforward_layernorm, 1.0)
    assert sites.norms_after is None
    assert of.final_norm is of.model.model.norm
    assert loaded_family("granite").sites(0).attention_update.scale == 0.22


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("llama", set()),
        ("gptj", {("residual_norm", "site block_mid")}),
        (
            "opt_post_norm",
            {
                ("residual_norm", "site final_norm"),
                ("token_geometry", "site final_norm"),
                ("prompt_geometry", "site final_norm"),
                *((table, "site final_norm") for table in OF_VECTORS),
                ("weight_norm", "is_folded"),
            },
        ),
        ("olmo2", {("weight_norm", "is_folded")}),
        ("bloom", {("model", "n_context")}),
    ],
)
def test_what_a_model_cannot_give_is_named_with_the_reason(name, expected):
    gaps = missing(loaded_family(name))
    assert all(isinstance(gap, Missing) and gap.reason.endswith(".") for gap in gaps)
    assert {(gap.table, gap.quantity) for gap in gaps} == expected


def test_logits_do_not_depend_on_how_the_head_is_sliced(monkeypatch):
    of = loaded_family("phi")
    states = torch.randn(4, 64, generator=torch.Generator().manual_seed(0))
    whole = of.next_token_logits(states)
    monkeypatch.setattr(collect.model.checkpoint.decoder, "_HEAD_ROWS", 10)
    assert torch.allclose(of.next_token_logits(states), whole, atol=1e-6)
    with torch.no_grad():
        of.head.bias += 1
        assert torch.allclose(of.next_token_logits(states), whole + 1, atol=1e-5)


@torch.no_grad()
def test_logits_of_a_half_precision_head_are_float32():
    of = loaded_family("gemma2")
    of.model.to(torch.bfloat16)
    states = torch.randn(4, 64, generator=torch.Generator().manual_seed(0))
    raw = states @ of.head.weight.float().T
    assert torch.allclose(of.next_token_logits(states), 30 * torch.tanh(raw / 30), atol=1e-5)


def map_of(of, layer, ids):
    """Return input and map of one attention call."""
    seen = {}

    def see(_module, args, kwargs, output):
        seen["states"], seen["maps"] = args[0], of.attention_maps(layer, args, kwargs, output)

    handle = of.attentions[layer].register_forward_hook(see, with_kwargs=True)
    with torch.no_grad():
        of.body(ids, attention_mask=torch.ones_like(ids))
    handle.remove()
    return seen["states"], seen["maps"]


def test_the_maps_of_falcon_with_alibi_are_its_definition():
    """softmax((q k + m_h j) / sqrt(d_head)) over j <= i, slopes m_h = 2^-(h + 1) for 8 heads."""
    of = loaded_family("falcon_rw")
    ids = torch.arange(3, 15).view(1, 12)
    states, maps = map_of(of, 1, ids)
    fused = of.attentions[1].query_key_value(states).view(12, 8, 3, 8)
    query, key = fused[:, :, 0].transpose(0, 1), fused[:, :, 1].transpose(0, 1)
    slopes = 2.0 ** -torch.arange(1, 9)
    scores = query @ key.transpose(1, 2) + slopes[:, None, None] * torch.arange(12)
    later = torch.ones(12, 12).triu(1).bool()
    expected = (scores / 8**0.5).masked_fill(later, -torch.inf).softmax(-1)
    assert torch.allclose(maps[0], expected, atol=1e-6)
    assert maps.shape == (1, 8, 12, 12)


def test_a_module_that_returns_no_map_is_refused():
    of = loaded_family("llama")
    with pytest.raises(ConformanceError, match="layer 2 must return its attention map"):
        of.attention_maps(2, (torch.zeros(1, 2, 64),), {}, (torch.zeros(1, 2, 64), None))


def test_attention_code_whose_maps_are_wrong_is_refused():
    for name, code in (("gpt2", "sdpa"), ("falcon_7b", "sdpa"), ("falcon_rw", "eager")):
        model = tiny_family(name)
        model.config._attn_implementation = code
        with pytest.raises(ConformanceError, match=f"the model reports '{code}'"):
            decoder(model, ADAPTERS[model.config.model_type])


def test_heads_that_contradict_the_shapes_are_refused():
    model = tiny_family("llama_shared")
    for n_kv_heads, sentence in ((8, "must have the shape"), (3, "must have the shape")):
        adapter = replace(ADAPTERS["llama"], n_kv_heads=always(n_kv_heads))
        with pytest.raises(ConformanceError, match=sentence):
            decoder(model, adapter)
    adapter = replace(ADAPTERS["gpt_neox"], forms=(), n_kv_heads=always(3))
    with pytest.raises(ConformanceError, match="8 query and 3 key and value heads"):
        decoder(tiny_family("gpt_neox"), adapter)


def test_a_configuration_that_hides_its_updates_is_refused():
    model = tiny_family("bloom")
    model.config.pretraining_tp, model.config.slow_but_exact = 2, True
    with pytest.raises(UnsupportedModelError, match="bloom model cannot be measured: with slow"):
        decoder(model, ADAPTERS["bloom"])


def test_key_and_value_weights_are_views_of_the_model():
    of = loaded_family("falcon_40b")
    weights = of.head_weights(0)
    with torch.no_grad():
        weights.key.zero_()
        weights.value.zero_()
    fused = of.attentions[0].query_key_value.weight.view(2, 6, 8, 64)
    assert not fused[:, 4:].any()
    assert fused[:, :4].all()
