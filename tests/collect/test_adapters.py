"""An adapter's heads are the heads the model computes with: shown by taking them away."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
import torch

from collect.adapters import ADAPTERS, Heads, adapter_for
from collect.adapters.layouts import interleaved, output_columns, split, thirds
from collect.errors import ConformanceError, UnsupportedModelError
from collect.load import decoder
from collect.tokens import right_padded


@contextmanager
def attention_seen(loaded, layer):
    """Collect input, output and attention map of one attention module."""
    seen = {}

    def keep(_module, args, kwargs, output):
        seen["input"] = args[0] if args else kwargs["hidden_states"]
        seen["output"], seen["map"] = output

    handle = loaded.attentions[layer].register_forward_hook(keep, with_kwargs=True)
    yield seen
    handle.remove()


def forward(loaded, prompts):
    with torch.inference_mode():
        loaded.body(**right_padded(prompts, torch.device("cpu")), use_cache=False)


def test_without_its_value_rows_attention_returns_its_output_bias_alone(loaded, some_prompts):
    for layer in range(3):
        weights = loaded.head_weights(layer)
        with torch.no_grad():
            weights.value.zero_()
            if weights.value_bias is not None:
                weights.value_bias.zero_()
        with attention_seen(loaded, layer) as seen:
            forward(loaded, some_prompts)
        bias = 0.0 if weights.output_bias is None else weights.output_bias
        assert torch.equal(seen["output"], torch.zeros_like(seen["output"]) + bias)


def test_the_contiguous_last_third_is_not_where_neox_keeps_its_values(load_tiny, some_prompts):
    loaded = load_tiny("gpt_neox")
    fused = loaded.attentions[0].query_key_value
    with torch.no_grad():
        fused.weight[64:].zero_()
        fused.bias[64:].zero_()
    with attention_seen(loaded, 0) as seen:
        forward(loaded, some_prompts)
    assert (seen["output"] - loaded.attentions[0].dense.bias).abs().max() > 0.1


def reconstruction(loaded, layer, x, maps):
    """Return sum_h A_h (x W_V^h + b_V^h) W_O^h + b_O, head by head."""
    weights = loaded.head_weights(layer)
    total = torch.zeros_like(x)
    for head in range(loaded.heads.n_heads):
        kv_head = loaded.heads.kv_head(head)
        values = x @ weights.value[kv_head].T
        if weights.value_bias is not None:
            values = values + weights.value_bias[kv_head]
        total = total + maps[:, head] @ values @ weights.output[head].T
    return total if weights.output_bias is None else total + weights.output_bias


@torch.inference_mode()
def test_heads_rebuild_the_attention_output(loaded, some_prompts):
    for layer in range(3):
        with attention_seen(loaded, layer) as seen:
            forward(loaded, some_prompts[:1])
        rebuilt = reconstruction(loaded, layer, seen["input"], seen["map"])
        error = (rebuilt - seen["output"]).norm() / seen["output"].norm()
        assert error < 1e-5


@torch.inference_mode()
def test_heads_in_the_wrong_order_do_not_rebuild_it(loaded, some_prompts):
    with attention_seen(loaded, 0) as seen:
        forward(loaded, some_prompts[:1])
    rebuilt = reconstruction(loaded, 0, seen["input"], seen["map"].flip(1))
    # Heads of a briefly trained model are alike; still a thousand times the right order's error.
    assert (rebuilt - seen["output"]).norm() / seen["output"].norm() > 0.01


def test_layouts_of_six_rows_counted_by_hand():
    rows = torch.arange(6)
    two_heads, one_wide = Heads(2, 2, 1), Heads(1, 1, 2)
    assert thirds(rows, two_heads).tolist() == [[4], [5]]
    assert interleaved(rows, two_heads).tolist() == [[2], [5]]
    assert thirds(rows, one_wide).tolist() == interleaved(rows, one_wide).tolist() == [[4, 5]]
    assert split(rows, Heads(6, 3, 2)).tolist() == [[0, 1], [2, 3], [4, 5]]
    columns = torch.arange(8).view(2, 4)
    assert output_columns(columns, Heads(2, 1, 2)).tolist() == [[[0, 1], [4, 5]], [[2, 3], [6, 7]]]


def test_neighbouring_query_heads_share_a_value_head():
    heads = Heads(n_heads=6, n_kv_heads=2, d_head=4)
    assert [heads.kv_head(head) for head in range(6)] == [0, 0, 0, 1, 1, 1]


def test_the_width_of_a_head_is_read_from_the_module(load_tiny):
    assert load_tiny("llama_shared_values").heads == Heads(n_heads=4, n_kv_heads=2, d_head=12)
    assert load_tiny("gpt_neox").heads == Heads(n_heads=4, n_kv_heads=4, d_head=8)


def test_an_unknown_family_is_refused_with_the_way_to_add_it():
    with pytest.raises(UnsupportedModelError, match=r"'wobble' has none\. Supported") as refusal:
        adapter_for("wobble")
    assert "one file under collect/adapters" in refusal.value.hint


def test_an_adapter_of_another_family_does_not_pass(load_tiny):
    model = load_tiny("gpt2").model
    with pytest.raises(ConformanceError, match=r"says there is a module 'model\.layers'"):
        decoder(model, ADAPTERS["llama"])


def test_attention_that_is_not_eager_is_refused(load_tiny):
    model = load_tiny("gpt2").model
    model.config._attn_implementation = "sdpa"
    with pytest.raises(ConformanceError, match="the model reports 'sdpa'"):
        decoder(model, ADAPTERS["gpt2"])
