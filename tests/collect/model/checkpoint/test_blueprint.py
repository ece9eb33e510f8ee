"""Blueprints: the attention weights drawn from config.json are those of the library's own model."""

import json
import subprocess
import sys

import pytest

from collect.adapters import adapter_for, weight_names
from collect.errors import InputError
from collect.instruments.weights import spectra
from collect.model.checkpoint.blueprint import attention_blueprint, heads_of, model_blueprint
from collect.model.checkpoint.decoder import decoder
from collect.model.checkpoint.location import locate
from tests.collect.conftest import edit_weights
from tests.collect.families import OF_EACH_ADAPTER, save_family, tiny_family


def conversions(blueprint):
    return [
        (type(one).__name__, *one.source_patterns, *one.target_patterns)
        for one in blueprint.conversions
    ]


@pytest.mark.parametrize("name", OF_EACH_ADAPTER)
def test_the_attention_weights_are_those_of_the_model(name):
    model = tiny_family(name)
    model.config.architectures = [type(model).__name__]
    placed = decoder(model, adapter_for(model.config.model_type))
    drawn, built = attention_blueprint(placed.adapter, model.config), model_blueprint(model)
    assert heads_of(placed.adapter, model.config) == placed.heads
    assert drawn.required <= built.required
    asked = {f"{placed.adapter.blocks}.0.{name}" for name in weight_names(placed.adapter)}
    assert {
        name for name in drawn.shapes if name.startswith(f"{placed.adapter.blocks}.0.")
    } == asked
    common = drawn.shapes.keys() & built.shapes.keys()
    assert {name: drawn.shapes[name] for name in common} == {
        name: built.shapes[name] for name in common
    }
    assert drawn.prefix == built.prefix
    assert conversions(drawn) == conversions(built)


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ({"num_hidden_layers": 4}, r"it lacks 4, for example model\.layers\.3\.self_attn\.q_proj"),
        ({"head_dim": 16}, r"k_proj\.weight of .* must have the shape \(128, 64\) .* \(64, 64\)"),
        ({"hidden_size": 32}, r"must have the shape \(32,\) .*; found \(64,\)"),
        ({"num_key_value_heads": 2}, r"k_proj\.weight of .* must have the shape \(16, 64\)"),
    ],
)
def test_a_configuration_that_contradicts_the_attention_weights_is_refused(
    entries, sentence, tmp_path
):
    path = save_family("llama", tmp_path) / "config.json"
    saved = {key: value for key, value in json.loads(path.read_text()).items() if key != "head_dim"}
    path.write_text(json.dumps(saved | entries))
    with pytest.raises(InputError, match=sentence):
        spectra.rows(locate(str(tmp_path)))


def test_an_attention_weight_that_is_missing_is_refused(tmp_path):
    save_family("gpt2", tmp_path)
    edit_weights(tmp_path, lambda tensors: tensors.pop("transformer.h.2.attn.c_proj.weight"))
    with pytest.raises(InputError, match=r"lacks 1, for example transformer\.h\.2\.attn\.c_proj"):
        spectra.rows(locate(str(tmp_path)))


@pytest.mark.parametrize(("name", "prefix"), [("gpt2", "transformer."), ("opt", "model.")])
def test_names_without_the_prefix_are_found(name, prefix, tmp_path):
    expected = spectra.rows(locate(str(save_family(name, tmp_path))))
    edit_weights(tmp_path, lambda tensors: {k.removeprefix(prefix): t for k, t in tensors.items()})
    assert spectra.rows(locate(str(tmp_path))) == expected


def test_the_weights_pass_imports_no_code_of_a_model(tmp_path):
    directory = save_family("llama", tmp_path)
    code = (
        "import sys; from collect.instruments.weights import spectra; "
        "from collect.model.checkpoint.location import locate; "
        f"spectra.rows(locate({str(directory)!r})); "
        "print({'transformers.modeling_utils', 'transformers.models.llama.modeling_llama'}"
        " & set(sys.modules))"
    )
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    assert ran.stdout.strip() == "set()"
