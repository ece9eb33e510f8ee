"""Layouts counted by hand; types found, refused, and added as the how-to says."""

import re
from pathlib import Path

import pytest
import torch
import transformers

import collect.adapters
from collect.adapters import ADAPTERS, LAYOUTS, REFUSED, Heads, adapter_for, cut, weight_names
from collect.adapters.layouts import (
    codegen,
    contiguous,
    head_rows,
    interleaved,
    last_third,
    output_columns,
    shared_or_interleaved,
)
from collect.errors import ConformanceError, UnsupportedModelError
from collect.model.checkpoint.decoder import decoder
from tests.collect.families import tiny_family, tiny_form
from tests.collect.shown import examined

HOW_TO = Path(collect.adapters.__file__).with_name("README.md")


def read(layout, n_rows, heads):
    return [part.tolist() for part in layout(torch.arange(n_rows), heads)]


def test_layouts_of_a_few_rows_counted_by_hand():
    two_heads, one_wide = Heads(2, 2, 1), Heads(1, 1, 2)
    assert read(contiguous, 6, two_heads) == [[[0], [1]], [[2], [3]], [[4], [5]]]
    assert read(interleaved, 6, two_heads) == [[[0], [3]], [[1], [4]], [[2], [5]]]
    assert read(contiguous, 6, one_wide) == read(interleaved, 6, one_wide)
    assert read(contiguous, 6, one_wide) == [[[0, 1]], [[2, 3]], [[4, 5]]]


def test_layouts_with_shared_heads_counted_by_hand():
    one_for_two, two_for_four = Heads(2, 1, 1), Heads(4, 2, 1)
    assert read(contiguous, 4, one_for_two) == [[[0], [1]], [[2]], [[3]]]
    assert read(interleaved, 4, one_for_two) == [[[0], [1]], [[2]], [[3]]]
    assert read(contiguous, 8, two_for_four)[1:] == [[[4], [5]], [[6], [7]]]
    assert read(interleaved, 8, two_for_four) == [[[0], [1], [4], [5]], [[2], [6]], [[3], [7]]]
    assert read(shared_or_interleaved, 4, one_for_two) == read(contiguous, 4, one_for_two)
    assert read(shared_or_interleaved, 6, Heads(2, 2, 1)) == read(interleaved, 6, Heads(2, 2, 1))


def test_the_layout_of_codegen_counted_by_hand():
    query, key, value = read(codegen, 12, Heads(4, 4, 1))
    assert (query, value, key) == (
        [[0], [3], [6], [9]],
        [[1], [4], [7], [10]],
        [[2], [5], [8], [11]],
    )


def test_rows_and_columns_by_head_counted_by_hand():
    assert head_rows(torch.arange(6), Heads(6, 3, 2)).tolist() == [[0, 1], [2, 3], [4, 5]]
    assert last_third(torch.arange(6), Heads(1, 1, 2)).tolist() == [[4, 5]]
    columns = torch.arange(8).view(2, 4)
    assert output_columns(columns, Heads(2, 1, 2)).tolist() == [[[0, 1], [4, 5]], [[2, 3], [6, 7]]]


def test_neighbouring_query_heads_share_a_value_head():
    heads = Heads(n_heads=6, n_kv_heads=2, d_head=4)
    assert [heads.kv_head(head) for head in range(6)] == [0, 0, 0, 1, 1, 1]


def test_weights_are_cut_from_tensors_without_a_model():
    adapter = ADAPTERS["gemma"]
    assert weight_names(adapter) == (
        *("self_attn.q_proj.weight", "self_attn.k_proj.weight", "self_attn.v_proj.weight"),
        *("self_attn.o_proj.weight", "self_attn.q_proj.bias", "self_attn.k_proj.bias"),
        *("self_attn.v_proj.bias", "self_attn.o_proj.bias", "input_layernorm.weight"),
    )
    shapes = {"q": (4, 3), "k": (2, 3), "v": (2, 3), "o": (3, 4)}
    tensors = {f"self_attn.{n}_proj.weight": torch.rand(s) for n, s in shapes.items()}
    tensors["input_layernorm.weight"] = torch.tensor([0.5, 0.0, -1.0])
    weights = cut(adapter, Heads(2, 1, 2), tensors)
    assert weights.query.shape == (2, 2, 3)
    assert weights.value.shape == weights.key.shape == (1, 2, 3)
    assert weights.output.shape == (2, 3, 2)
    assert weights.value.data_ptr() == tensors["self_attn.v_proj.weight"].data_ptr()
    assert weights.gain.tolist() == [1.5, 1.0, 0.0]
    assert weights.value_bias is weights.output_bias is weights.value_contiguous is None
    del tensors["self_attn.v_proj.weight"]
    with pytest.raises(KeyError, match="v_proj"):
        cut(adapter, Heads(2, 1, 2), tensors)


def test_gains_are_one_without_a_weight_and_widened_before_one_is_added():
    weights = decoder(tiny_family("olmo"), ADAPTERS["olmo"]).head_weights(0)
    assert weights.gain.tolist() == [1.0] * 64
    model = tiny_family("gemma").to(torch.bfloat16)
    stored = model.model.layers[0].input_layernorm.weight
    gain = decoder(model, ADAPTERS["gemma"]).head_weights(0).gain
    assert torch.equal(gain, stored.float() + 1)


def test_every_model_type_has_one_adapter():
    types = [model_type for layout in LAYOUTS for model_type in layout.model_types]
    assert len(types) == len(set(types)) == len(ADAPTERS)
    assert len({layout.name for layout in LAYOUTS}) == len(LAYOUTS)
    for layout in LAYOUTS:
        assert all(form.adapter.name == layout.name for form in layout.forms)


@pytest.mark.parametrize(
    ("model_type", "reason", "hint"),
    [
        ("wobble", r"has none\. Nearest", "collect/adapters/README.md"),
        ("llava_wobble", r"has none\. .*\bllava\b", ""),
        ("bert", "is refused: .*predicts no next token", "Name a causal decoder"),
        ("t5", "is refused: .*reads an encoder", ""),
        ("deepseek_v4", "is refused: .*no one residual stream", ""),
        ("hrm_text", "is refused: .*run several times", ""),
        ("stablelm_epoch", "is refused: .*code in the checkpoint's own repository", ""),
        ("stablelm_alpha", "is refused", "of type gpt_neox or stablelm"),
    ],
)
def test_another_type_is_refused_with_the_reason_and_what_to_do(model_type, reason, hint):
    with pytest.raises(UnsupportedModelError, match=f"{model_type!r} {reason}") as refusal:
        adapter_for(model_type)
    assert hint in refusal.value.hint


def test_refused_types_are_types_of_transformers_without_an_adapter_or_remote_code():
    remote_code = {"stablelm_alpha", "stablelm_epoch"}
    assert set(REFUSED) - set(transformers.CONFIG_MAPPING) == remote_code
    assert not set(REFUSED) & set(ADAPTERS)


def test_an_adapter_of_another_layout_does_not_pass():
    with pytest.raises(ConformanceError, match=r"says there is a module 'model\.layers'"):
        decoder(tiny_family("gpt2"), ADAPTERS["llama"])


def test_the_worked_example_of_the_how_to_is_true():
    model, namespace = tiny_form("hyperclovax", attention_multiplier=0.2), {}
    before = decoder(model, ADAPTERS["llama"])
    failed = {name: each for name, each in examined(before).items() if not each.is_met}
    assert failed.keys() == {"block_adds_up", "logits"}
    assert 0.5 < failed["block_adds_up"].deviation < 1.5
    (example,) = re.findall(r"```python\n(.*?)```", HOW_TO.read_text("utf-8"), re.DOTALL)
    exec(example, namespace)
    shown, kept = namespace["HYPERCLOVAX"], ADAPTERS["hyperclovax"]
    differing = {name for name in kept.__slots__ if getattr(shown, name) != getattr(kept, name)}
    assert differing <= {"logits", "update_scale"}
    after = decoder(model, shown)
    assert all(finding.is_met for finding in examined(after).values())
    ids = torch.arange(3, 15).view(1, 12)
    with torch.no_grad():
        logits = after.next_token_logits(after.body(ids).last_hidden_state[0])
        assert torch.allclose(logits, model(ids).logits[0], atol=1e-5)
