"""Shards: stored tensors by the parameters they make up; a fault is told in a sentence."""

from functools import partial
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from collect.errors import InputError, UnsupportedModelError
from collect.model.checkpoint.blueprint import model_blueprint
from collect.model.checkpoint.load import load_skeleton
from collect.model.checkpoint.location import locate
from collect.model.checkpoint.placement import place
from collect.model.checkpoint.shards import Shards, refuse_non_finite
from tests.collect.conftest import edit_config, edit_weights
from tests.collect.families import OF_EACH_CUT, save_family, tiny_family


def opened(directory):
    checkpoint = locate(str(directory))
    return Shards(checkpoint, model_blueprint(load_skeleton(checkpoint).model))


@pytest.mark.parametrize("name", OF_EACH_CUT)
def test_every_parameter_of_a_model_is_read_as_it_was_saved(name, tmp_path):
    stored = opened(save_family(name, tmp_path))
    parameters = dict(tiny_family(name).named_parameters(remove_duplicate=False))
    result = stored.read(parameters)
    assert result.keys() == parameters.keys()
    assert all(torch.equal(result[key], parameters[key]) for key in parameters)


@pytest.mark.parametrize(
    ("name", "fewer", "sentence"),
    [
        ("llama", {"num_hidden_layers": 2}, r"ends at model\.layers\.1, .* hold model\.layers\.2"),
        ("gpt2", {"n_layer": 1}, r"ends at transformer\.h\.0, .* hold transformer\.h\.1"),
        ("gpt_neox", {"num_hidden_layers": 2}, r"gpt_neox\.layers\.1, .* gpt_neox\.layers\.2"),
    ],
)
def test_a_configuration_with_fewer_blocks_than_the_files_is_refused(
    name, fewer, sentence, tmp_path
):
    directory = edit_config(save_family(name, tmp_path), **fewer)
    with pytest.raises(InputError, match=sentence):
        opened(directory)
    # The names of some checkpoints lack the body's.
    prefix = {"llama": "model.", "gpt2": "transformer.", "gpt_neox": "gpt_neox."}[name]
    edit_weights(directory, partial(without_prefix, prefix))
    with pytest.raises(InputError, match="a smaller model would be measured"):
        opened(directory)


def without_prefix(prefix, tensors):
    return {key.removeprefix(prefix): tensor for key, tensor in tensors.items()}


def test_tensors_that_no_parameter_is_made_of_are_known_by_name(tmp_path):
    directory = save_family("llama", tmp_path)
    extra = ("vision.layers.0.weight", "vision.layers.1.weight", "model.layers.1.gate.weight")
    derived = "model.layers.1.self_attn.rotary_emb.inv_freq"
    edit_weights(directory, lambda it: it | {key: torch.ones(2) for key in (*extra, derived)})
    assert sorted(opened(directory).unused) == sorted(extra)


def test_experts_are_stored_one_by_one_and_read_as_one(tmp_path):
    directory = save_family("mixtral", tmp_path)
    keys = load_file(directory / "model.safetensors")
    assert "model.layers.0.block_sparse_moe.experts.3.w1.weight" in keys
    name = "model.layers.0.mlp.experts.gate_up_proj"
    assert name not in keys
    gate, up = (
        torch.stack(
            [keys[f"model.layers.0.block_sparse_moe.experts.{n}.{w}.weight"] for n in range(4)]
        )
        for w in ("w1", "w3")
    )
    shards = opened(directory)
    assert torch.equal(shards.read([name])[name], torch.cat([gate, up], dim=1))
    assert not shards.is_stored_as_it_is(name)
    assert shards.is_stored_as_it_is("model.embed_tokens.weight")


@pytest.mark.parametrize(
    ("name", "prefix", "parameter"),
    [
        ("gpt2", "transformer.", "transformer.h.1.attn.c_attn.weight"),
        ("opt", "model.", "model.decoder.layers.1.fc1.weight"),
        ("bloom", "transformer.", "transformer.h.0.mlp.dense_4h_to_h.bias"),
    ],
)
def test_the_prefix_of_the_body_may_be_left_out(name, prefix, parameter, tmp_path):
    with_prefix = opened(save_family(name, tmp_path)).read([parameter])[parameter]
    edit_weights(tmp_path, partial(without_prefix, prefix))
    assert torch.equal(opened(tmp_path).read([parameter])[parameter], with_prefix)


def test_a_tied_head_is_read_from_the_embedding_and_the_other_way_round(tmp_path):
    shards = opened(save_family("gpt2", tmp_path))
    embedding = tiny_family("gpt2").transformer.wte.weight
    assert shards.stored_name("lm_head.weight") == "transformer.wte.weight"
    assert torch.equal(shards.read(["lm_head.weight"])["lm_head.weight"], embedding)
    edit_weights(tmp_path, lambda it: {"lm_head.weight": it.pop("transformer.wte.weight"), **it})
    assert opened(tmp_path).stored_name("transformer.wte.weight") == "lm_head.weight"


def test_several_files_are_read_as_one_checkpoint(tmp_path):
    tiny_family("llama").save_pretrained(tmp_path, max_shard_size="60KB")
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 3
    parameters = dict(tiny_family("llama").named_parameters())
    result = opened(tmp_path).read(parameters)
    assert all(torch.equal(result[name], parameters[name]) for name in parameters)


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ({"num_hidden_layers": 4}, r"it lacks 9, for example model\.layers\.3"),
        (
            {"intermediate_size": 80},
            r"mlp\.down_proj\.weight of .* \(64, 80\) .* found \(64, 160\)",
        ),
        ({"vocab_size": 98}, r"shape \(98, 64\) that its config\.json describes; found \(97, 64\)"),
    ],
)
def test_a_configuration_that_contradicts_the_headers_is_refused(entries, sentence, tmp_path):
    edit_config(save_family("llama", tmp_path), **entries)
    with pytest.raises(InputError, match=sentence):
        opened(tmp_path)


def test_experts_of_another_shape_are_refused_when_they_are_read(tmp_path):
    edit_config(save_family("mixtral", tmp_path), intermediate_size=80)
    name = "model.layers.0.mlp.experts.down_proj"
    with pytest.raises(InputError, match=r"down_proj of .* \(4, 64, 80\) .* \(4, 64, 160\)"):
        opened(tmp_path).read([name])
    with pytest.raises(InputError, match=r"experts\.\w+ of .* must have the shape"):
        place(opened(tmp_path), [name], device="cpu")


def test_a_missing_expert_is_refused(tmp_path):
    key = "model.layers.0.block_sparse_moe.experts.3.w2.weight"
    edit_weights(save_family("mixtral", tmp_path), lambda tensors: tensors.pop(key))
    name = "model.layers.0.mlp.experts.down_proj"
    with pytest.raises(InputError, match=r"must have the shape \(4, 64, 160\).*found \(3, 64, 160"):
        opened(tmp_path).read([name])
    with pytest.raises(InputError, match=r"must have the shape \(4, 64, 160\).*found \(3, 64, 160"):
        place(opened(tmp_path), [name], device="cpu")


def test_a_file_that_was_cut_off_is_refused(tmp_path):
    path = save_family("llama", tmp_path) / "model.safetensors"
    checkpoint = locate(str(tmp_path))
    skeleton = load_skeleton(checkpoint)
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(InputError, match=r"model\.safetensors must be complete safetensors"):
        Shards(checkpoint, model_blueprint(skeleton.model))


@pytest.mark.parametrize("quantised", [torch.int8, torch.uint8, torch.float8_e4m3fn])
def test_quantised_weights_are_refused(quantised, tmp_path):
    name = "model.layers.2.self_attn.v_proj.weight"
    edit_weights(save_family("llama", tmp_path), lambda it: it | {name: it[name].to(quantised)})
    with pytest.raises(UnsupportedModelError, match=r"plain floating numbers; .*v_proj\.weight"):
        opened(tmp_path)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_not_finite_are_refused_by_name_and_number(value, tmp_path):
    name = "model.layers.1.self_attn.q_proj.weight"

    def spoil(tensors):
        tensors[name][3, :2] = tensors[name][60, 7] = value

    edit_weights(save_family("llama", tmp_path), spoil)
    shards = opened(tmp_path)
    for act in (shards.read, lambda names: place(shards, names, device="cpu")):
        with pytest.raises(InputError, match=r"1\.self_attn\.q_proj\.weight holds 3 .* of 4096"):
            act([name])
    with pytest.raises(InputError, match="holds 2 that are NaN or infinite, of 64"):
        shards.rows(name, [3])
    shards.rows(name, [4])
    shards.read(["model.layers.0.self_attn.q_proj.weight"])


def test_the_search_for_infinite_numbers_covers_every_part_of_a_large_tensor(monkeypatch):
    monkeypatch.setattr("collect.model.checkpoint.shards._SCANNED", 4)
    tensor = torch.zeros(3, 5)
    refuse_non_finite("w", tensor)
    refuse_non_finite("counts", torch.tensor([1, 2]))
    for spot in range(tensor.numel()):
        spoilt = tensor.clone()
        spoilt.view(-1)[spot] = float("nan")
        with pytest.raises(InputError, match="w holds 1 that are NaN or infinite, of 15"):
            refuse_non_finite("w", spoilt)


def test_loading_puts_parameters_into_the_model_in_its_number_format(tmp_path):
    checkpoint = locate(str(save_family("llama", tmp_path)))
    skeleton = load_skeleton(checkpoint, dtype="bfloat16")
    shards = Shards(checkpoint, model_blueprint(skeleton.model))
    name = "model.layers.1.mlp.up_proj.weight"
    place(shards, [name, "a name of nothing stored"], device="cpu")
    parameters = dict(skeleton.model.named_parameters())
    expected = tiny_family("llama").model.layers[1].mlp.up_proj.weight.bfloat16()
    assert torch.equal(parameters.pop(name), expected)
    assert all(parameter.is_meta for parameter in parameters.values())


def test_a_file_is_not_kept_open(tmp_path):
    shards = opened(save_family("llama", tmp_path))
    shards.read(["model.norm.weight"])
    maps = Path("/proc/self/maps")
    if not maps.is_file():
        pytest.skip("this system does not list a process's mapped files")
    assert str(tmp_path) not in maps.read_text()
