"""Loading: the model as stored, or without its weights; broken ones refused."""

import json

import pytest
import torch
import transformers

from collect.errors import InputError, UnsupportedModelError
from collect.model.checkpoint.load import load_model, load_skeleton, load_tokenizer
from collect.model.checkpoint.location import locate
from collect.model.description import model_row
from collect.model.labels import Labels
from collect.record.writer import conforming
from tests.collect.conftest import edit_config, edit_weights
from tests.collect.families import OF_EACH_ADAPTER, save_family

UP = "model.layers.0.mlp.up_proj.weight"


def row_of(directory, **options):
    checkpoint = locate(str(directory), **options)
    return model_row(checkpoint, load_model(checkpoint)).iloc[0]


def test_the_loaded_weights_are_the_stored_ones_or_in_another_format(save_tiny, load_tiny):
    checkpoint = locate(str(save_tiny("llama")))
    loaded = load_model(checkpoint)
    stored = dict(load_tiny("llama").model.named_parameters())
    for name, parameter in loaded.model.named_parameters():
        assert torch.equal(parameter, stored[name])
    assert loaded.model.config._attn_implementation == "eager"
    assert not loaded.model.training
    loaded = load_model(checkpoint, dtype="bfloat16")
    assert checkpoint.dtype_weights == "float32"
    assert {parameter.dtype for parameter in loaded.model.parameters()} == {torch.bfloat16}


def test_the_row_of_gpt2_counts_the_tied_embedding_once(save_tiny):
    row = row_of(save_tiny("gpt2"), labels=Labels("lab", "suite", 2020))
    block = 2 * 2 * 32 + (32 * 96 + 96) + (32 * 32 + 32) + (32 * 48 + 48) + (48 * 32 + 32)
    assert row["n_parameters"] == 257 * 32 + 64 * 32 + 3 * block + 2 * 32
    assert row["n_parameters_source"] == "counted"
    expected = (
        {"model_id": "local/gpt2", "revision": None, "family": "gpt2", "base_model_id": None}
        | {"lab": "lab", "suite": "suite", "year": 2020, "n_layers": 3, "d_model": 32, "n_heads": 4}
        | {"n_kv_heads": 4, "d_head": 8, "d_ffn": 48, "n_vocabulary": 257, "n_context": 64}
        | {"norm_kind": "LayerNorm", "norm_position": "pre", "positional_scheme": "learned"}
        | {"is_parallel": False, "is_tied": True}
    )
    assert row[list(expected)].to_dict() == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gpt_neox", {"is_parallel": True, "is_tied": False, "norm_kind": "LayerNorm"}),
        ("gpt_neox_sequential", {"is_parallel": False, "positional_scheme": "rotary"}),
        ("llama", {"norm_kind": "RMSNorm", "n_kv_heads": 4, "d_head": 8, "is_parallel": False}),
        ("llama_shared_values", {"n_kv_heads": 2, "d_head": 12, "d_ffn": 48}),
    ],
)
def test_the_row_of_other_families_says_how_they_differ(save_tiny, name, expected):
    directory = save_tiny(name)
    row = row_of(directory)
    assert row[list(expected)].to_dict() == expected
    assert conforming("model", row.to_frame().T.convert_dtypes()).num_rows == 1


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ({"n_layer": 4}, "it lacks 12, for example transformer.h.3"),
        ({"n_embd": 64}, r"c_attn\.bias .* must have the shape \(192,\) .* found \(96,\)"),
        ({"n_embd": 30}, "must load as the model its config.json describes"),
        ({"n_head": 0}, "it divides by zero, and n_head is 0"),
        ({"n_layer": 0}, "num_hidden_layers must be from 1 to 10000; .* makes it 0"),
        ({"n_layer": -1}, "num_hidden_layers must be from 1 to 10000; .* makes it -1"),
        ({"n_layer": 10**30}, "num_hidden_layers must be from 1 to 10000; .* makes it 1e.30"),
        ({"activation_function": "foo"}, "activation_function is 'foo', which the library does"),
    ],
)
def test_weights_that_do_not_fit_the_configuration_are_refused(save_tiny, entries, sentence):
    directory = edit_config(save_tiny("gpt2"), **entries)
    with pytest.raises(InputError, match=sentence):
        load_model(locate(str(directory)))


def test_a_size_that_no_network_has_is_refused_before_the_library_makes_lists_of_it(save_tiny):
    directory = edit_config(save_tiny("gpt2"), model_type="gemma2", num_hidden_layers=2**63)
    with pytest.raises(InputError, match="num_hidden_layers must be from 1 to 10000"):
        load_model(locate(str(directory)))


def test_a_checkpoint_with_code_of_its_own_runs_as_transformers_own_model(save_tiny):
    remote = {"AutoModelForCausalLM": "evil.Model", "AutoConfig": "evil.Config"}
    directory = edit_config(save_tiny("gpt2"), auto_map=remote)
    (directory / "evil.py").write_text("raise SystemExit('ran')")
    assert type(load_model(locate(str(directory))).model).__name__ == "GPT2LMHeadModel"


@pytest.mark.parametrize("name", OF_EACH_ADAPTER)
def test_a_skeleton_is_the_model_without_its_weights(name, tmp_path):
    checkpoint = locate(str(save_family(name, tmp_path)))
    skeleton, loaded = load_skeleton(checkpoint), load_model(checkpoint)
    expected = {key: (p.shape, p.dtype) for key, p in loaded.model.named_parameters()}
    result = dict(skeleton.model.named_parameters())
    assert {key: (p.shape, p.dtype) for key, p in result.items()} == expected
    assert all(parameter.is_meta for parameter in result.values())
    buffers, made = (dict(decoder.model.named_buffers()) for decoder in (loaded, skeleton))
    assert made.keys() == buffers.keys()
    computed = buffers.keys() - loaded.model.state_dict().keys()
    assert all(torch.equal(made[key], buffers[key]) for key in computed)
    assert skeleton.attention_implementation == loaded.attention_implementation
    assert not skeleton.model.training
    labelled = [model_row(checkpoint, decoder) for decoder in (skeleton, loaded)]
    assert labelled[0].equals(labelled[1])


def test_skeletons_read_no_weight_file_and_share_no_configuration(save_tiny):
    checkpoint = locate(str(save_tiny("llama")))
    for path in checkpoint.weight_files:
        path.unlink()
    one, other = load_skeleton(checkpoint), load_skeleton(checkpoint, dtype="bfloat16")
    assert other.model.dtype == torch.bfloat16
    assert one.model.config is not other.model.config


def test_all_accelerators_together_are_the_processor_where_there_is_none(save_tiny):
    checkpoint = locate(str(save_tiny("gpt2")))
    spread, alone = (load_model(checkpoint, device=device) for device in ("auto", "cpu"))
    pairs = zip(spread.model.parameters(), alone.model.parameters(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)


def test_a_model_that_would_be_left_on_the_disk_is_refused(save_tiny, monkeypatch):
    load = transformers.AutoModelForCausalLM.from_pretrained

    def offload(*args, **kwargs):
        model, report = load(*args, **kwargs)
        return model.to("meta"), report

    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", offload)
    with pytest.raises(InputError, match=r"must hold the weights of .*; they do not") as refusal:
        load_model(locate(str(save_tiny("llama"))), device="auto")
    assert "--stream" in refusal.value.hint


def test_a_device_that_is_not_there_or_full_is_refused_as_what_it_is(save_tiny, monkeypatch):
    checkpoint = locate(str(save_tiny("llama")))
    with pytest.raises(InputError, match="The device 'cuda:7' must be usable by torch"):
        load_model(checkpoint, device="cuda:7")

    def exhaust(*_):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(torch.nn.Module, "to", exhaust)
    with pytest.raises(InputError, match="must fit the device's memory; what was") as refusal:
        load_model(checkpoint)
    assert "--stream" in refusal.value.hint


def with_nan(tensors):
    tensors[UP][0, 0] = float("nan")


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        (with_nan, InputError, "up_proj.weight holds 1 that are NaN"),
        (lambda it: it | {UP: it[UP].to(torch.int8)}, UnsupportedModelError, r"quantised \(I8\)"),
    ],
)
def test_weights_that_are_not_numbers_are_refused(save_tiny, change, error, sentence):
    directory = edit_weights(save_tiny("llama"), change)
    with pytest.raises(error, match=sentence):
        load_model(locate(str(directory)))


def test_weights_that_the_library_would_invent_are_refused(save_tiny, monkeypatch):
    monkeypatch.setattr("collect.model.checkpoint.load.Shards", lambda checkpoint, model: None)
    directory = edit_config(save_tiny("llama"), num_hidden_layers=4)
    with pytest.raises(InputError, match=r"9 did not load, for example model\.layers\.3"):
        load_model(locate(str(directory)))


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("one\ntwo", "one"),
        ("Errors found:\n\n  - heads do not divide\nmore", "Errors found: - heads do not divide"),
        ("announced:", "announced:"),
        ("", "RuntimeError"),
    ],
)
def test_a_refusal_tells_the_cause_that_a_colon_announces(save_tiny, monkeypatch, message, told):
    def fail(*_, **__):
        raise RuntimeError(message)

    monkeypatch.setattr("transformers.AutoModelForCausalLM.from_pretrained", fail)
    with pytest.raises(InputError) as refusal:
        load_model(locate(str(save_tiny("gpt2"))))
    assert refusal.value.problem.endswith(f"it does not: {told}")


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (None, "must bring its tokenizer"),
        ("{}", r"The tokenizer of .* must load"),
        ("{", "one of its files must be readable JSON, and is not"),
        ({"added_tokens": None}, "does not: it must have an entry 'added_tokens', and has none"),
        ({"model": None}, "does not: it must have an entry 'model', and has none"),
        ({"pre_tokenizer": {"type": "Wobble"}}, "does not: its PreTokenizer is of no kind"),
        ({"decoder": {"type": "Wobble"}}, "does not: its Decoder is of no kind"),
    ],
)
def test_a_tokenizer_that_does_not_load_is_refused_plainly(save_tiny, change, part):
    path = save_tiny("gpt2") / "tokenizer.json"
    if isinstance(change, dict):
        content = json.loads(path.read_text()) | change
        change = json.dumps({name: value for name, value in content.items() if value is not None})
    for each in path.parent.glob("tokenizer*") if change is None else ():
        each.unlink()
    if change is not None:
        path.write_text(change)
    with pytest.raises(InputError, match=part):
        load_tokenizer(locate(str(path.parent)))


@pytest.mark.parametrize(
    ("entry", "value", "told"),
    [
        ("dtype", "float128", "dtype is 'float128', which the library does not know."),
        ("n_layer", "four", "n_layer must be of type int, and is 'four'."),
        ("hidden_size", None, "hidden_size must be of type int, and is None."),
        ("num_attention_heads", 5, "The hidden size (32) is not a multiple of the number of "),
    ],
)
def test_what_the_library_says_of_an_entry_is_put_plainly(save_tiny, entry, value, told):
    directory = save_tiny("gpt2" if entry == "n_layer" else "llama")
    edit_config(directory, **{entry: value})
    with pytest.raises(InputError) as refusal:
        load_skeleton(locate(str(directory)))
    assert f"it does not: {told}" in refusal.value.problem


def test_memory_that_ends_while_a_model_is_made_is_not_a_fault_of_its_files(save_tiny, monkeypatch):
    def exhausted(*_, **__):
        raise RuntimeError("can't start new thread")

    checkpoint = locate(str(save_tiny("gpt2")))
    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_config", exhausted)
    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", exhausted)
    for load in (load_skeleton, load_tokenizer):
        with pytest.raises(InputError, match="must fit the device's memory"):
            load(checkpoint)
