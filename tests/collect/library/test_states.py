"""Models as people have them in memory: their numbers are right, or the reason is said."""

import contextlib
import copy
import functools
import threading
import types

import numpy as np
import pandas as pd
import pytest
import torch
import transformers
from torch import nn
from torch.nn.utils import parametrizations, prune

import collect
from collect.errors import ConformanceError, InputError, UnsupportedModelError
from collect.library.lendable import tokenizer_of
from tests.collect.conftest import tiny_model, tiny_tokenizer

TEXTS = ["The sky is", "Two and two", "A b"]


@pytest.fixture
def model():
    return tiny_model("llama")


def measured(model, quantities="all", **how):
    """Return what is measured of a model, but for what names the run and the model."""
    result = collect.measure(model, tiny_tokenizer(), TEXTS, quantities=quantities, **how)
    named = {"run_id", "model_id"}
    return {
        table: rows[[column for column in rows if column not in named]]
        for table, rows in result.items()
        if table not in ("run", "model", "conformance")
    }


def assert_same(result, expected):
    assert result.keys() == expected.keys()
    for table in expected:
        pd.testing.assert_frame_equal(result[table], expected[table], obj=table)


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


def test_what_another_thread_runs_changes_no_number(model):
    expected = measured(model, batch_size=1)

    def elsewhere(site, layer, states, attention):
        runs = threading.Thread(target=lambda: model(torch.tensor([[1, 2, 3]])))
        runs.start()
        runs.join()
        return 0

    how = {"unit": "1", "description": "None", "level": "prompt", "version": "1"}
    none = collect.OwnQuantity("none", measure=elsewhere, sites="block_mid", **how)
    result = measured(model, ["all", none], batch_size=1)
    assert_same({table: result[table] for table in expected}, expected)


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

    how = {"unit": "1", "description": "Norm behind the next block", "version": "1"}
    own = collect.OwnQuantity("ahead", measure=ahead, sites=site, **how)
    result = measured(model, ["all", own], batch_size=1)
    assert result.pop("own_value")["value"].gt(0).all()
    result.pop("own_quantity")
    assert_same(result, measured(model, batch_size=1))


def keep(kept, layer, _module, _args, output):
    kept[layer] = output[0]


def norms(model):
    """Return the norms behind every block, by hooks of this test on the model as it is."""
    by_prompt, model = [], model.eval()
    for text in TEXTS:
        result = {}
        with contextlib.ExitStack() as hooks, torch.no_grad():
            for layer, block in enumerate(model.model.layers):
                handle = block.register_forward_hook(functools.partial(keep, result, layer))
                hooks.callback(handle.remove)
            model(torch.tensor([tiny_tokenizer()(text)["input_ids"]]))
        by_prompt.append({layer: of.double().norm(dim=-1) for layer, of in result.items()})
    return by_prompt


def assert_norms(result, model):
    rows = result["residual_norm"].query("site == 'block_output'")
    for prompt, of_layers in enumerate(norms(model)):
        for layer, expected in of_layers.items():
            here = rows[(rows["prompt_id"] == f"prompts:{prompt:02}") & (rows["layer"] == layer)]
            np.testing.assert_allclose(here["norm"], expected, rtol=2e-6)


def normed(model):
    parametrizations.weight_norm(model.model.layers[1].self_attn.q_proj)
    parametrizations.weight_norm(model.lm_head)


def orthogonal(model):
    parametrizations.orthogonal(model.model.layers[1].self_attn.o_proj)


def normed_by_a_hook(model):
    nn.utils.weight_norm(model.model.layers[1].self_attn.v_proj)
    nn.utils.spectral_norm(model.model.layers[0].mlp.up_proj)


def pruned(model):
    prune.l1_unstructured(model.model.layers[1].self_attn.q_proj, "weight", amount=0.5)
    prune.random_unstructured(model.model.layers[1].self_attn.q_proj, "weight", amount=0.5)
    prune.l1_unstructured(model.model.layers[1].input_layernorm, "weight", amount=0.2)


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("change", [normed, orthogonal, normed_by_a_hook, pruned])
def test_weights_that_are_computed_from_others_are_measured_as_they_are_computed(model, change):
    plain = measured(model)
    change(model)
    model.train()(torch.tensor([[1, 2]])).logits.sum().backward()
    with torch.no_grad():  # as an optimiser does: what was computed before is out of date
        for parameter in model.parameters():
            parameter.mul_(1.1)
    before = {name: (id(value), value.clone()) for name, value in model.named_parameters()}
    modules = [id(module) for module in model.modules()]
    result = measured(model)
    assert_norms(result, model)
    projection = model.model.layers[1].self_attn.q_proj.weight.detach().double()
    of_query = "layer == 1 and matrix == 'Q' and not is_folded and slicing == 'correct'"
    assert np.hypot.reduce(result["weight_norm"].query(of_query)["frobenius"]) == pytest.approx(
        float(projection.norm())
    )
    assert not result["residual_norm"].equals(plain["residual_norm"])
    assert [id(module) for module in model.modules()] == modules
    assert [id(value) for value in model.parameters()] == [place for place, _ in before.values()]
    assert all(torch.equal(value, before[name][1]) for name, value in model.named_parameters())


def quantised(model):
    return torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)


def in_eight_bits(model):
    weight = model.model.layers[1].mlp.up_proj.weight
    weight.data = weight.data.to(torch.float8_e4m3fn)
    return model


def with_a_buffer_that_is_nowhere(model):
    model.model.rotary_emb.inv_freq = model.model.rotary_emb.inv_freq.to("meta")
    return model


def with_attention_of_ones_own(model):
    def twice(module, *args, **kwargs):
        from transformers.models.llama.modeling_llama import eager_attention_forward

        output, maps = eager_attention_forward(module, *args, **kwargs)
        return output * 2, maps

    transformers.AttentionInterface.register("twice", twice)
    model.set_attn_implementation("twice")
    return model


def with_a_narrow_head(model):
    model.lm_head = nn.Linear(32, 40)
    return model


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("spoilt", "error", "sentence"),
    [
        (quantised, UnsupportedModelError, "those of model.layers.0.self_attn.q_proj are quant"),
        (in_eight_bits, UnsupportedModelError, "up_proj.weight are Tensor of float8_e4m3fn"),
        (with_a_buffer_that_is_nowhere, InputError, "rotary_emb.inv_freq is not"),
        (with_attention_of_ones_own, InputError, "twice is a function of somebody's own"),
        (with_a_narrow_head, InputError, "that the head predicts, of which there are 40"),
    ],
)
def test_what_cannot_be_measured_is_refused_for_what_it_is(model, spoilt, error, sentence):
    with pytest.raises(error, match=sentence):
        measured(spoilt(model))


def test_a_model_that_is_shared_out_is_refused(model, tmp_path):
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{tmp_path}/rendezvous", rank=0, world_size=1
    )
    try:
        mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (1,))
        torch.distributed.fsdp.fully_shard(model, mesh=mesh)
        with pytest.raises(InputError, match="in the memory of this process"):
            measured(model)
    finally:
        torch.distributed.destroy_process_group()


def test_a_tokenizer_is_taken_itself_or_within_a_processor_and_no_other_thing(model):
    for spoilt in (lambda *_, **__: {"input_ids": [[1]]}, "gpt2"):
        with pytest.raises(InputError, match="must be one of transformers"):
            collect.measure(model, spoilt, TEXTS)
    tokenizer = tiny_tokenizer()
    tokenizer.tokenizer = object()  # as some have it that come with the code of a model
    assert tokenizer_of(tokenizer) is tokenizer
    processor = types.SimpleNamespace(tokenizer=tiny_tokenizer())
    result = collect.measure(model, processor, TEXTS, quantities="stream")
    assert len(result["next_token"]) == 3


@pytest.mark.filterwarnings("ignore:Not part of the model")
def test_a_body_that_hands_on_whatever_it_is_given_is_given_its_arguments(model):
    expected, forward = measured(model), model.model.forward

    def handing_on(*args, **kwargs):
        return forward(*args, **kwargs)

    model.model.forward = handing_on
    assert_same(measured(model), expected)


@pytest.mark.filterwarnings("ignore:Not part of the model")
def test_a_check_that_fails_names_what_was_changed(model):
    def at_the_end(_module, _args, output):
        output[:, -1] += 1.0

    model.model.layers[1].mlp.register_forward_hook(at_the_end)
    model.model.layers[1].forward = model.model.layers[1].forward
    with pytest.raises(ConformanceError, match="batch_equals_single") as refusal:
        measured(model)
    assert "changed in the model: a hook on model.layers.1.mlp." in refusal.value.hint
    assert "batch_size=1" in refusal.value.hint
    result = measured(model, "stream", batch_size=1, allow_nonconforming=True)
    assert_norms(result, model)


def test_a_model_is_measured_by_one_call_at_a_time(model):
    def again(site, layer, states, attention):
        return measured(model, "stream")["residual_norm"]["norm"].sum()

    how = {"unit": "1", "description": "Sum of norms", "level": "prompt", "version": "1"}
    own = collect.OwnQuantity("again", measure=again, **how)
    with pytest.raises(InputError, match="another measurement of this one has not ended"):
        measured(model, own)
    model.train().set_attn_implementation("sdpa")
    expected, printed = measured(model, "stream"), []

    def run():
        try:
            assert_same(measured(model, "stream"), expected)
        except InputError as error:
            printed.append(error.problem)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all("one call at a time" in problem for problem in printed)
    assert model.training
    assert model.config._attn_implementation == "sdpa"
    assert not any(module._forward_hooks for module in model.modules())
