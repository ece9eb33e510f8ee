"""The number by which a Gemma 4 block multiplies the stream, moved into the weights around it."""

import json
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
import transformers

from collect.adapters import ADAPTERS
from collect.commands.cli import main
from collect.errors import InputError
from collect.gauge import group
from collect.gauge.measured import measured
from collect.gauge.transformations import layer_scale
from collect.job.run import run
from collect.model.checkpoint.decoder import decoder
from collect.prompts.sets import load
from collect.prompts.tokens import encode
from tests.collect.conftest import tiny_tokenizer
from tests.collect.gauge.networks import difference, logits, widened
from tests.collect.partial_families import tiny_partial
from tests.collect.record.written import frame
from tests.collect.shown import LONG, SHORT, loaded_family
from tests.proofs import gemma4_scalars

PROMPTS = (LONG, SHORT)
SCALARS = (0.6, 0.3, 0.1)

#: What a configuration of Gemma 4 can switch on that reads or writes the stream.
FORMS = {
    "embeddings_per_layer": ("gemma4_text", {}),
    "without": ("gemma4_unified_text", {}),
    "experts": (
        "gemma4_text",
        {"enable_moe_block": True, "num_experts": 4, "top_k_experts": 2}
        | {"moe_intermediate_size": 16},
    ),
    "keys_are_values": ("gemma4_text", {"attention_k_eq_v": True}),
    "shared_keys": (
        "gemma4_text",
        {"num_kv_shared_layers": 1, "layer_types": ["full_attention"] * 3},
    ),
    "soft_cap": ("gemma4_text", {"final_logit_softcapping": 2.0}),
}


def tiny(form, numbers=SCALARS, **switches):
    """Return a tiny Gemma 4 whose blocks multiply the stream by some numbers."""
    model_type, entries = FORMS[form]
    model = tiny_partial(model_type, **entries, **switches)
    for block, number in zip(model.model.layers, numbers, strict=True):
        block.layer_scalar.fill_(number)
    return decoder(model, ADAPTERS[model_type])


def changed(network, change, *arguments):
    """Return a copy of a network that a function has changed in place."""
    copy = replace(network, model=deepcopy(network.model))
    change(copy, *arguments)
    return copy


def lengths(network):
    """Return |x| at the last token of a prompt after every block, by hooks of this test's own."""
    seen = []
    hooks = [
        block.register_forward_hook(lambda _m, _a, out: seen.append(out[0, -1].norm().item()))
        for block in network.model.model.layers
    ]
    logits(network, PROMPTS[:1])
    for hook in hooks:
        hook.remove()
    return np.array(seen)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("member", group.OF_SCALARS)
def test_logits_stay_in_every_form(form, member):
    network = widened(tiny(form))
    result = changed(network, group.transform, (member,), np.random.default_rng(3))
    assert difference(logits(network, PROMPTS), logits(result, PROMPTS)).relative < 1e-12


@pytest.mark.parametrize("form", ["embeddings_per_layer", "experts"])
def test_lengths_are_what_was_asked_for_and_the_gain_changes_its_sign(form):
    network = widened(tiny(form))
    before = lengths(network)
    folded = changed(network, layer_scale.fold)
    assert layer_scale.scalars(folded) == pytest.approx([1, 1, 1])
    after = lengths(folded)
    assert after == pytest.approx(before / np.cumprod(SCALARS))
    assert (before[1:] / before[:-1] < 1).all()
    assert (after[1:] / after[:-1] > 1).all()
    any_profile = changed(network, layer_scale.rescale, [5.0, 0.2, 7.0])
    assert lengths(any_profile) == pytest.approx(before * [5.0, 0.2, 7.0])


def test_a_negative_scalar_keeps_its_sign():
    network = widened(tiny("experts", (0.6, -0.3, 0.1)))
    folded = changed(network, layer_scale.fold)
    assert layer_scale.scalars(folded) == pytest.approx([1, -1, 1])
    assert difference(logits(network, PROMPTS), logits(folded, PROMPTS)).relative < 1e-12


@pytest.mark.parametrize("part", ["post_per_layer_input_norm", "per_layer_input_gate"])
def test_a_part_that_is_left_as_it_was_moves_the_logits(part, monkeypatch):
    network = widened(tiny("embeddings_per_layer"))
    found = layer_scale._part
    monkeypatch.setattr(
        layer_scale, "_part", lambda block, name: None if name == part else found(block, name)
    )
    folded = changed(network, layer_scale.fold)
    assert difference(logits(network, PROMPTS), logits(folded, PROMPTS)).relative > 1e-3


@pytest.mark.parametrize(("epsilon", "least", "most"), [(1e-6, 1e-9, 1e-3), (0.0, 0.0, 1e-12)])
def test_one_epsilon_is_all_that_a_checkpoint_loses(epsilon, least, most):
    network = widened(tiny("embeddings_per_layer", rms_norm_eps=epsilon))
    folded = changed(network, layer_scale.fold)
    assert layer_scale.round_epsilon(folded) == (epsilon > 0)
    gap = difference(logits(network, PROMPTS), logits(folded, PROMPTS)).relative
    assert least <= gap < most


def unknown_part(model):
    model.model.layers[1].extra = torch.nn.Linear(2, 2)


def zero(model):
    model.model.layers[1].layer_scalar.zero_()


@pytest.mark.parametrize(("damage", "word"), [(unknown_part, "extra"), (zero, "zero")])
def test_a_block_that_the_rule_does_not_cover_is_refused(damage, word):
    network = tiny("without")
    damage(network.model)
    with pytest.raises(InputError, match=word):
        group.chosen(network, ("layer_fold",))


def test_blocks_without_a_scalar_refuse_it_and_blocks_with_one_all_else():
    with pytest.raises(InputError, match="stored number"):
        group.chosen(loaded_family("llama"), ("layer_scale",))
    assert group.chosen(tiny("without"), ()) == ("layer_fold", "layer_scale")


def test_the_command_writes_a_checkpoint_with_scalars_of_one(tmp_path, prompt_file):
    before, after = tmp_path / "before", tmp_path / "after"
    network = tiny("embeddings_per_layer", vocab_size=300, vocab_size_per_layer_input=300)
    network.model.save_pretrained(before)
    tiny_tokenizer().save_pretrained(before)
    arguments = ["gauge", str(before), "--out", str(after), "--prompts", str(prompt_file)]
    assert main([*arguments, "--transformations", "layer_fold"]) == 0
    result = json.loads((after / "gauge.json").read_text())
    assert result["logits_float64"]["relative"] < 1e-12
    assert 1e-12 < result["logits_one_epsilon"]["relative"] < 1e-4
    assert result["logits_float32"]["relative"] < 1e-4
    gains = {entry["quantity"]: entry for entry in result["quantities"]}
    assert gains["gain_body"]["mean_before"] < 1 < gains["gain_body"]["mean_after"]
    ids = torch.tensor([list(b"The sky is")])
    load_model = transformers.AutoModelForCausalLM.from_pretrained
    original, same = load_model(before), load_model(after)
    assert [float(b.layer_scalar) for b in same.model.layers] == pytest.approx([1, 1, 1])
    with torch.no_grad():
        true = original(ids).logits
        assert (true - same(ids).logits).abs().max() < 1e-3 * true.abs().max()


def test_the_gain_net_of_scalars_is_that_of_the_folded_network_whatever_they_are():
    network = widened(tiny("embeddings_per_layer"))
    networks = {
        "before": network,
        "folded": changed(network, layer_scale.fold),
        "other": changed(network, layer_scale.rescale, [5.0, 0.2, 7.0]),
    }
    rows = measured(networks, PROMPTS).sql("FROM net_gain ORDER BY prompt_id, layer, position").df()
    of = {name: rows[rows["run_id"] == name].reset_index(drop=True) for name in networks}
    assert len(of["before"]) == len(SCALARS) * (len(LONG) + len(SHORT))
    gains = {name: rows["gain"].to_numpy() for name, rows in of.items()}
    for rows in of.values():
        assert rows["gain_net"].to_numpy() == pytest.approx(gains["folded"], rel=1e-9)
        assert np.exp(rows["log_gain_net"]).to_numpy() == pytest.approx(gains["folded"], rel=1e-9)
    scales = of["before"].groupby("layer")["layer_scale"].unique()
    assert [*scales] == pytest.approx(SCALARS, rel=1e-7)
    assert not np.allclose(gains["before"], gains["other"])


@pytest.mark.parametrize("stream", [False, True])
def test_a_run_stores_the_number_of_each_block(tmp_path, prompt_file, stream):
    checkpoint, out = tmp_path / "gemma4", tmp_path / "out"
    tiny("without", vocab_size=300).model.save_pretrained(checkpoint)
    tiny_tokenizer().save_pretrained(checkpoint)
    run(
        [str(checkpoint)], [str(prompt_file)], out, quantities=["stream"], stream=stream, quiet=True
    )
    rows = frame(out, "residual_update")
    assert [*rows["layer_scale"]] == pytest.approx([SCALARS[layer] for layer in rows["layer"]])
    assert {*rows["part"]} == {"block"}


def test_the_table_that_is_shipped_is_what_its_program_makes():
    shipped = pd.read_csv(gemma4_scalars.OUT).query("gauge == 'folded'")
    prompts = encode(load("A_grand_unified").prompts, tiny_tokenizer())
    stored = gemma4_scalars.network()
    folding = layer_scale.folding(stored)
    made = gemma4_scalars.profile("folded", stored, folding, prompts)
    for column in ("norm", "norm_net", "layer_scale", "log_gain"):
        assert made[column].to_numpy() == pytest.approx(
            shipped[column].to_numpy(), rel=1e-5, nan_ok=True
        )
    assert made["logit_change"].max() < 1e-13
