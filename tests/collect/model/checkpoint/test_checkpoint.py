"""Checkpoints: found, hashed, labelled, or refused in a sentence."""

import csv
import json
import shutil
import tomllib
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file

from collect.errors import InputError, UnsupportedModelError
from collect.instruments.weights import spectra
from collect.model.checkpoint.blueprint import model_blueprint
from collect.model.checkpoint.load import load_model, load_skeleton
from collect.model.checkpoint.location import locate
from collect.model.checkpoint.shards import Shards
from collect.model.labels import Labels, known
from tests.collect.conftest import edit_config

ROOT = Path(__file__).parents[4]
PUBLISHED_MODELS = ROOT / "data" / "published" / "model.csv"


def test_a_local_checkpoint_is_named_after_its_directory(save_tiny):
    checkpoint = locate(str(save_tiny("gpt2", at="mine")))
    assert checkpoint.model_id == "local/mine"
    assert checkpoint.revision is None
    assert checkpoint.dtype_weights == "float32"
    assert checkpoint.labels == Labels()


def test_the_sidecar_names_and_labels_a_checkpoint_and_options_win(save_tiny):
    directory = save_tiny("gpt2")
    sidecar = {"model_id": "made/here", "lab": "ours", "suite": "small", "year": 2026, "seed": 3}
    (directory / "thermoscope.json").write_text(json.dumps(sidecar))
    checkpoint = locate(str(directory), labels=Labels(suite="given"))
    assert checkpoint.model_id == "made/here"
    assert checkpoint.labels == Labels("ours", "given", 2026)


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ({"year": 1900}, "The year of a model .* whole number from 2017 to 2100; found 1900"),
        ({"year": 2101}, "found 2101"),
        ({"year": 0}, "found 0"),
        ({"year": "x"}, "found 'x'"),
        ({"year": 2020.0}, "found 2020.0"),
        ({"year": True}, "found True"),
        ({"lab": ""}, "The lab of a model must be text that is not empty; found ''"),
        ({"suite": 5}, "The suite of a model must be text that is not empty; found 5"),
        ({"base_model_id": []}, r"The base_model_id of .* found \[\]"),
    ],
)
def test_labels_that_make_no_sense_are_refused_wherever_they_come_from(save_tiny, labels, sentence):
    with pytest.raises(InputError, match=sentence) as refusal:
        Labels(**labels)
    assert refusal.value.hint
    directory = save_tiny("gpt2")
    (directory / "thermoscope.json").write_text(json.dumps(labels))
    with pytest.raises(InputError, match=rf"thermoscope\.json: .*{sentence}"):
        locate(str(directory))


def test_null_in_the_sidecar_says_nothing_and_the_first_and_last_year_are_allowed(save_tiny):
    directory = save_tiny("gpt2")
    (directory / "thermoscope.json").write_text('{"model_id": null, "lab": null, "year": null}')
    checkpoint = locate(str(directory))
    assert (checkpoint.model_id, checkpoint.labels) == ("local/gpt2", Labels())
    assert (Labels(year=2017).year, Labels(year=2100).year) == (2017, 2100)


@pytest.mark.parametrize("name", [5, "", ["a"], "caf\u00e9"])
def test_a_name_in_the_sidecar_that_cannot_name_a_model_is_refused(save_tiny, name):
    directory = save_tiny("gpt2")
    (directory / "thermoscope.json").write_text(json.dumps({"model_id": name}))
    with pytest.raises(InputError, match="may hold letters a to z, digits") as refusal:
        locate(str(directory))
    assert refusal.value.problem.endswith(f"found {name!r}.")


def test_known_labels_agree_with_the_published_table_of_models():
    rows = list(csv.DictReader(PUBLISHED_MODELS.read_text(encoding="utf-8").splitlines()))
    assert rows
    for row in rows:
        year = int(row["year"]) if row["year"] else None
        expected = Labels(row["lab"], row["suite"], year, row["base_model_id"] or None)
        assert known(row["model_id"]).labels == expected, row["model_id"]
    assert known("someone/pythia-70m").labels == Labels()


def test_the_hash_depends_on_contents_and_names_of_the_weight_files_only(save_tiny):
    first = locate(str(save_tiny("gpt2", at="a"))).weights_sha256()
    again = locate(str(save_tiny("gpt2", at="b"))).weights_sha256()
    other = locate(str(save_tiny("gpt2", at="c", seed=1))).weights_sha256()
    assert first == again != other


def both_single_file_and_shards(directory, other):
    """Give a checkpoint an index and a shard with the weights of another."""
    shard = "model-00001-of-00001.safetensors"
    shutil.copy(other / "model.safetensors", directory / shard)
    names = load_file(directory / shard)
    index = {"metadata": {}, "weight_map": dict.fromkeys(names, shard)}
    (directory / "model.safetensors.index.json").write_text(json.dumps(index))
    return directory


def test_of_a_single_file_and_shards_all_numbers_are_of_what_transformers_loads(
    save_tiny, tmp_path
):
    first, other = save_tiny("llama", at="a"), save_tiny("llama", at="b", seed=1)
    alone = locate(str(first))
    norms, digest = spectra.rows(alone), alone.weights_sha256()
    both = locate(str(both_single_file_and_shards(first, other)))
    assert [path.name for path in both.weight_files] == ["model.safetensors"]
    assert (spectra.rows(both), both.weights_sha256()) == (norms, digest)
    loaded = load_model(both).model.state_dict()
    theirs = transformers.AutoModelForCausalLM.from_pretrained(first).state_dict()
    assert all(torch.equal(loaded[name], theirs[name]) for name in theirs)
    skeleton = load_skeleton(both)
    shards = Shards(both, model_blueprint(skeleton.model))
    assert all(torch.equal(t, theirs[name]) for name, t in shards.read(shards.parameters).items())


def test_the_file_that_the_configuration_names_is_the_one_that_is_measured(save_tiny):
    first, other = save_tiny("llama", at="a"), save_tiny("llama", at="b", seed=1)
    shutil.copy(other / "model.safetensors", first / "weights.safetensors")
    edit_config(first, transformers_weights="weights.safetensors")
    checkpoint = locate(str(first))
    assert [path.name for path in checkpoint.weight_files] == ["weights.safetensors"]
    assert spectra.rows(checkpoint) == spectra.rows(locate(str(other)))
    stored = load_file(other / "model.safetensors")
    loaded = load_model(checkpoint).model.state_dict()
    assert all(torch.equal(loaded[name], stored[name]) for name in stored)


def test_a_checkpoint_that_lost_some_of_its_files_says_which_of_how_many(save_tiny):
    directory = save_tiny("gpt2")
    names = [f"model-{n:05}-of-00016.safetensors" for n in range(1, 17)]
    for name in names:
        shutil.copy(directory / "model.safetensors", directory / name)
    (directory / "model.safetensors").unlink()
    index = {"weight_map": {f"tensor {name}": name for name in names}}
    (directory / "model.safetensors.index.json").write_text(json.dumps(index))
    (directory / names[2]).unlink()
    with pytest.raises(InputError, match=rf"lacks 1 of 16: {names[2]}\.") as refusal:
        locate(str(directory))
    assert "pickle" not in str(refusal.value)
    assert refusal.value.hint.startswith("Copy or download what is missing again")
    for name in names[3:9]:
        (directory / name).unlink()
    with pytest.raises(InputError, match=rf"lacks 7 of 16: {names[2]}, .*, {names[4]} and 4 more"):
        locate(str(directory))


@pytest.mark.parametrize(
    ("places", "sentence"),
    [
        ({"a": "../other.safetensors"}, "which file beside it holds it"),
        ({"a": "/etc/other.safetensors"}, "which file beside it holds it"),
        ({"a": "pytorch_model.bin"}, "which file beside it holds it"),
        ({"a": 3}, "which file beside it holds it"),
        ({}, "which file beside it holds it"),
        (None, "which file beside it holds it"),
        ({"a": "odd name.safetensors"}, "lacks 1 of 1: odd name.safetensors."),
    ],
)
def test_an_index_that_lists_no_files_beside_it_is_refused(save_tiny, places, sentence):
    directory = save_tiny("gpt2")
    (directory / "model.safetensors").unlink()
    (directory / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    with pytest.raises(InputError, match=sentence):
        locate(str(directory))


@pytest.mark.parametrize(
    ("entries", "error", "sentence"),
    [
        ({"quantization_config": {"load_in_4bit": True}}, UnsupportedModelError, "are quantised"),
        ({"model_type": "wobble"}, UnsupportedModelError, "'wobble' has none"),
        ({"model_type": "wobble", "auto_map": {"A": "b.C"}}, UnsupportedModelError, "never run"),
        ({"transformers_weights": "weights.bin"}, InputError, "a safetensors file or an index"),
        ({"transformers_weights": 3}, InputError, "a safetensors file or an index"),
        ({"transformers_weights": ""}, InputError, "a safetensors file or an index"),
    ],
)
def test_a_configuration_of_what_is_not_measured_is_refused(save_tiny, entries, error, sentence):
    directory = edit_config(save_tiny("gpt2"), **entries)
    with pytest.raises(error, match=sentence):
        locate(str(directory))


def test_an_adapter_beside_the_weights_is_refused(save_tiny):
    directory = save_tiny("gpt2")
    (directory / "adapter_config.json").write_text("{}")
    with pytest.raises(UnsupportedModelError, match="which adds others to them at every pass"):
        locate(str(directory))


def pickle_only(directory):
    (directory / "model.safetensors").rename(directory / "pytorch_model.bin")


def truncated(directory):
    path = directory / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1000])


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda d: (d / "config.json").unlink(), "must hold config.json"),
        (lambda d: (d / "config.json").write_text("{"), "must be readable JSON"),
        (lambda d: (d / "config.json").write_text("[]"), "must hold a JSON object; found list"),
        (lambda d: (d / "config.json").write_text("{}"), "must say which model_type"),
        (pickle_only, "lacks model.safetensors and holds pytorch_model.bin"),
        (lambda d: (d / "model.safetensors").unlink(), "and holds no other weights"),
        (truncated, "must be complete safetensors"),
        (lambda d: (d / "model.safetensors").write_bytes(b"not weights"), "must be complete"),
    ],
)
def test_a_damaged_checkpoint_is_refused(save_tiny, damage, sentence):
    directory = save_tiny("gpt2")
    damage(directory)
    with pytest.raises(InputError, match=sentence) as refusal:
        locate(str(directory))
    assert refusal.value.hint


@pytest.mark.parametrize(
    "name", ["/no/such/place", "./nothing", "a/b/c", "has space", "", "x.gguf"]
)
def test_what_is_neither_directory_nor_identifier_is_refused(name):
    with pytest.raises(InputError, match="a GGUF file or a hub identifier"):
        locate(name)


@pytest.mark.parametrize(
    ("instruct", "base"),
    [
        ("google/gemma-7b-it", "google/gemma-7b"),
        ("mistralai/Mistral-7B-Instruct-v0.2", "mistralai/Mistral-7B-v0.2"),
        ("meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B"),
        ("Qwen/Qwen3-8B", "Qwen/Qwen3-8B-Base"),
        ("swiss-ai/Apertus-8B-Instruct-2509", "swiss-ai/Apertus-8B-2509"),
    ],
)
def test_an_instruct_model_is_linked_to_its_base_and_the_base_to_none(instruct, base):
    assert known(instruct).labels.base_model_id == base
    assert known(base).labels.base_model_id is None


def test_twins_are_of_one_lab_and_known_suites_and_never_of_themselves():
    table = tomllib.loads((ROOT / "collect/model/models.toml").read_text(encoding="utf-8"))
    for instruct, base in table["base"].items():
        assert instruct != base
        assert base not in table["base"], f"{base} is a base and has one"
        labels = known(instruct).labels, known(base).labels
        assert labels[0].suite is not None, instruct
        assert labels[0].lab == labels[1].lab is not None, instruct
