"""What the hooks measure is what the model computes, batched or not."""

from __future__ import annotations

import dataclasses
import itertools
import math

import pytest
import torch

from collect import rows
from collect.errors import ConformanceError
from collect.hooks import observe
from collect.measures import attention_statistics, token_norms
from collect.tokens import buckets, right_padded


@torch.inference_mode()
def test_block_outputs_equal_hidden_states_except_the_last(loaded, some_prompts):
    inputs = right_padded(some_prompts[:1], torch.device("cpu"))
    states = loaded.body(**inputs, output_hidden_states=True, use_cache=False).hidden_states
    norms = observe(loaded, some_prompts[:1]).norms
    assert len(states) == len(loaded.blocks) + 1
    expected = {(0, "block_input"): states[0], (2, "final_norm"): states[3]}
    expected |= {(layer, "block_output"): states[layer + 1] for layer in range(2)}
    for site, of_site in expected.items():
        assert torch.allclose(norms[site][0], token_norms(of_site), rtol=0, atol=1e-6)
    last = norms[2, "block_output"][0]
    assert not torch.allclose(last, token_norms(states[3]), rtol=0.01)


def test_log_gains_add_up_from_the_first_input_to_the_last_output(loaded, some_prompts):
    measured = rows.residual_norms(some_prompts, observe(loaded, some_prompts))
    for _, token in measured.groupby(["prompt_id", "position"]):
        stream = token[token["site"] != "final_norm"].sort_values(
            ["layer", "site"], key=lambda column: column
        )
        logs = [math.log(norm) for norm in stream["norm"]]
        gains = [after - before for before, after in itertools.pairwise(logs)]
        assert len(gains) == 3
        assert sum(gains) == pytest.approx(logs[-1] - logs[0], abs=1e-14)


def test_a_batch_equals_one_prompt_at_a_time(loaded, some_prompts):
    together = observe(loaded, some_prompts)
    norms = rows.residual_norms(some_prompts, together)
    maps = rows.attention(some_prompts, together)
    for place, prompt in enumerate(some_prompts):
        alone = observe(loaded, [prompt])
        for frame, expected in (
            (norms, rows.residual_norms([prompt], alone)),
            (maps, rows.attention([prompt], alone)),
        ):
            found = frame[frame["prompt_id"] == prompt.prompt_id].reset_index(drop=True)
            numbers = expected.select_dtypes("float").columns
            assert len(found) == len(expected)
            assert (found[numbers] - expected[numbers]).abs().max().max() < 1e-4
        assert torch.allclose(together.logits[place], alone.logits[0], atol=1e-4)


def test_the_order_of_a_batch_does_not_matter(loaded, some_prompts):
    forwards = rows.residual_norms(some_prompts, observe(loaded, some_prompts))
    backwards = rows.residual_norms(some_prompts[::-1], observe(loaded, some_prompts[::-1]))
    key = ["prompt_id", "layer", "site", "position"]
    merged = forwards.merge(backwards, on=key, suffixes=("", "_backwards"), validate="1:1")
    assert len(merged) == len(forwards) == 5 * (17 + 3 + 9)
    assert (merged["norm"] - merged["norm_backwards"]).abs().max() < 1e-5


def test_padding_tokens_leave_no_rows_and_no_attention(load_tiny, some_prompts):
    loaded = load_tiny("gpt2")
    observation = observe(loaded, some_prompts)
    norms = rows.residual_norms(some_prompts, observation)
    lengths = norms.groupby("prompt_id")["position"].max() + 1
    assert lengths.to_dict() == {"long": 17, "middle": 9, "short": 3}
    maps = rows.attention(some_prompts, observation)
    assert (maps["mass"] - maps["n_tokens"]).abs().max() < 1e-5
    assert (maps["row_error"] < 1e-5).all()


@torch.inference_mode()
def test_logits_are_the_models_own_after_the_last_token(loaded, some_prompts):
    logits = observe(loaded, some_prompts).logits
    for place, prompt in enumerate(some_prompts):
        own = loaded.model(torch.tensor([prompt.token_ids])).logits[0, -1]
        assert torch.allclose(logits[place], own, atol=1e-4)


@torch.inference_mode()
def test_attention_statistics_are_those_of_the_models_own_maps(loaded, some_prompts):
    own = loaded.model(torch.tensor([some_prompts[0].token_ids]), output_attentions=True).attentions
    measured = rows.attention(some_prompts, observe(loaded, some_prompts))
    for layer in range(3):
        expected = attention_statistics(own[layer][0])
        found = measured.query("prompt_id == 'long' and layer == @layer").sort_values("head")
        for quantity in dataclasses.fields(expected):
            numbers = getattr(expected, quantity.name).numpy()
            assert found[quantity.name].to_numpy() == pytest.approx(numbers, abs=1e-5)


def test_no_hook_is_left_on_the_model(load_tiny, some_prompts):
    loaded = load_tiny("llama")
    observe(loaded, some_prompts)
    with pytest.raises(IndexError):
        observe(loaded, [dataclasses.replace(some_prompts[0], token_ids=(9999,) * 17)])
    for module in loaded.model.modules():
        assert not module._forward_hooks
        assert not module._forward_pre_hooks


def test_an_attention_module_without_a_map_is_refused(load_tiny, some_prompts):
    loaded = load_tiny("llama")
    loaded.model.set_attn_implementation("sdpa")
    with pytest.raises(ConformanceError, match="layer 0 must return its attention map"):
        observe(loaded, some_prompts)


def test_buckets_group_prompts_of_about_equal_length(some_prompts):
    batches = [[prompt.prompt_id for prompt in batch] for batch in buckets(some_prompts, 2)]
    assert batches == [["short", "middle"], ["long"]]


def test_padding_stands_on_the_right_with_explicit_positions(some_prompts):
    inputs = right_padded(some_prompts, torch.device("cpu"))
    assert inputs["attention_mask"].sum(-1).tolist() == [17, 3, 9]
    assert inputs["attention_mask"][1].tolist() == [1, 1, 1, *[0] * 14]
    assert inputs["position_ids"].tolist() == [list(range(17))] * 3
