"""GGUF files: read as transformers reads them, loaded or one block at a time; others refused."""

import hashlib
import json
import shutil

import numpy as np
import pandas as pd
import pytest
import torch
import transformers
from gguf import GGMLQuantizationType
from gguf.quants import dequantize, quantize

import collect
from collect.errors import InputError, MissingExtraError, UnsupportedModelError
from collect.instruments.weights import spectra
from collect.model.checkpoint.blueprint import model_blueprint
from collect.model.checkpoint.gguf import header
from collect.model.checkpoint.load import load_model, load_skeleton, load_tokenizer
from collect.model.checkpoint.location import locate
from collect.model.checkpoint.shards import Shards
from collect.model.description import model_row
from tests.collect.gguf_files import SHIFTED, TEMPLATE, TINY, tensors, tiny, write

ARCHITECTURES = tuple(TINY)


@pytest.fixture
def llama_file(tmp_path):
    return write("llama", tiny("llama"), tmp_path / "tiny-Q8_0.gguf")


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_numbers_of_a_file_in_plain_floats_are_those_it_was_written_from(name, tmp_path):
    model = tiny(name)
    path = write(name, model, tmp_path / "plain.gguf", number_format="F32")
    loaded = load_model(locate(str(path)))
    for key, tensor in model.state_dict().items():
        result = loaded.model.state_dict()[key]
        if name in SHIFTED and key.endswith("norm.weight"):  # 1 + w and back rounds
            assert torch.allclose(result, tensor, rtol=0, atol=2**-23)
        else:
            assert torch.equal(result, tensor), key


#: Of the others transformers' own reader passes keys over; `test_keys.py` has all.
READ_BY_TRANSFORMERS = ("llama", "qwen2", "gpt2", "starcoder2")


@pytest.mark.parametrize("name", READ_BY_TRANSFORMERS)
def test_a_quantised_file_loads_as_transformers_own_loader_has_it(name, tmp_path):
    path = write(name, tiny(name), tmp_path / "packed.gguf")
    loaded = load_model(locate(str(path))).model
    theirs = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path, gguf_file=path.name, dtype=torch.float32, attn_implementation="eager"
    )
    assert type(loaded) is type(theirs)
    state = theirs.state_dict()
    assert all(torch.equal(tensor, state[key]) for key, tensor in loaded.state_dict().items())
    assert loaded.state_dict().keys() == state.keys()
    ids = torch.arange(3, 20)[None]
    with torch.inference_mode():
        assert torch.equal(loaded(ids).logits, theirs.eval()(ids).logits)


@pytest.mark.parametrize("number_format", ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "F16", "BF16"])
def test_numbers_are_the_dequantised_ones(number_format, tmp_path):
    model = tiny("qwen2")
    path = write("qwen2", model, tmp_path / "packed.gguf", number_format=number_format)
    loaded = load_model(locate(str(path))).model
    kind = GGMLQuantizationType[number_format]
    stored = tensors("qwen2", model)["blk.1.ffn_down.weight"]
    expected = dequantize(quantize(stored, kind), kind)
    assert np.array_equal(loaded.model.layers[1].mlp.down_proj.weight.detach().numpy(), expected)


@pytest.mark.parametrize("name", ["llama", "gpt2", "qwen3moe"])
def test_streamed_and_loaded_passes_give_the_same_rows(name, tmp_path, prompt_file):
    path = write(name, tiny(name), tmp_path / "tiny.gguf")
    rows = []
    for out, stream in ((tmp_path / "loaded", False), (tmp_path / "streamed", True)):
        collect.run([str(path)], [prompt_file], out, stream=stream, quiet=True)
        (file,) = (out / "residual_norm").iterdir()
        (run_file,) = (out / "run").glob("*@*")
        assert pd.read_parquet(run_file)["execution"].tolist() == [out.name]
        rows.append(pd.read_parquet(file))
    pd.testing.assert_frame_equal(*rows, check_exact=True)


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_rows_of_a_matrix_are_those_of_the_whole(name, tmp_path):
    checkpoint = locate(str(write(name, tiny(name), tmp_path / "tiny.gguf")))
    shards = Shards(checkpoint, model_blueprint(load_skeleton(checkpoint).model))
    matrices = [key for key, shape in shards.blueprint.shapes.items() if len(shape) == 2]
    for key in matrices:
        whole = shards.read([key])[key]
        assert torch.equal(shards.rows(key, [3, 1]), whole[[3, 1]])
        assert torch.equal(shards.rows(key, slice(2, 9)), whole[2:9])


def test_norms_of_weights_are_those_of_the_loaded_model(llama_file):
    checkpoint = locate(str(llama_file))
    of_file = spectra.rows(checkpoint)
    of_model_ = spectra.rows_of_model(load_model(checkpoint))
    assert of_file == of_model_


def test_what_the_file_says_of_itself_is_recorded(llama_file):
    checkpoint = locate(str(llama_file))
    row = model_row(checkpoint, load_skeleton(checkpoint)).iloc[0]
    expected = {
        **{"model_id": "local/tiny-Q8_0", "title": "Tiny One", "licence": "apache-2.0"},
        **{"lab": "Lab", "base_model_id": "lab/tiny-base", "quantisation": "Q8_0", "n_layers": 3},
    }
    assert row[list(expected)].to_dict() == expected
    facts = checkpoint.of_run
    kinds = ("attn_k", "attn_output", "attn_q", "attn_v", "ffn_down", "ffn_gate", "ffn_up")
    assert json.loads(facts["quantisation"]) == dict.fromkeys((*kinds, "token_embd"), "Q8_0")
    # 34 bytes for 32 numbers of matrices; 4 bytes for each of 7 norms of 64
    matrices = 259 * 64 + 3 * (2 * 64 * 64 + 2 * 32 * 64 + 3 * 96 * 64)
    n_bytes = matrices * 34 / 32 + 7 * 64 * 4
    assert facts["bits_per_weight"] == 8 * n_bytes / (matrices + 7 * 64)
    assert checkpoint.dtype_weights == "Q8_0+float32"
    assert checkpoint.weights_sha256() == hashlib.sha256(llama_file.read_bytes()).hexdigest()


def test_a_file_in_plain_floats_is_not_called_quantised(tmp_path):
    path = write("llama", tiny("llama"), tmp_path / "plain.gguf", number_format="F16")
    checkpoint = locate(str(path))
    assert checkpoint.of_run == {}
    assert checkpoint.dtype_weights == "float16+float32"


def test_the_tokenizer_and_its_template_come_from_the_file(llama_file):
    ours = load_tokenizer(locate(str(llama_file)))
    theirs = transformers.AutoTokenizer.from_pretrained(
        llama_file.parent, gguf_file=llama_file.name
    )
    for text in ("the sky", "  a\n\nb", "<s>x</s>", "é 12"):
        assert ours(text).input_ids == theirs(text).input_ids
    assert ours("the").input_ids == [258, ours.get_vocab()["e"]]
    assert ours.chat_template == TEMPLATE


def test_a_directory_that_holds_one_file_is_that_file(llama_file):
    assert locate(str(llama_file.parent)).weight_files == (llama_file,)
    shutil.copy(llama_file, llama_file.with_name("other.gguf"))
    with pytest.raises(InputError, match="2 GGUF files") as caught:
        locate(str(llama_file.parent))
    assert "other.gguf" in caught.value.hint


def test_safetensors_files_win_over_a_gguf_file_beside_them(save_tiny, llama_file):
    directory = save_tiny("llama")
    shutil.copy(llama_file, directory)
    assert [path.name for path in locate(str(directory)).weight_files] == ["model.safetensors"]


def test_a_revision_of_a_file_is_refused(llama_file):
    with pytest.raises(InputError, match="no revisions"):
        locate(str(llama_file), revision="main")


@pytest.mark.parametrize("n_bytes", [0, 3, 30, 5_000, -100])
def test_a_file_that_is_cut_short_is_refused(llama_file, n_bytes):
    llama_file.write_bytes(llama_file.read_bytes()[:n_bytes])
    with pytest.raises(InputError, match="not a complete GGUF file"):
        locate(str(llama_file))


def test_a_part_of_a_file_is_refused(tmp_path):
    def split(writer):
        writer.add_uint16("split.count", 3)

    path = write("llama", tiny("llama"), tmp_path / "a-00001-of-00003.gguf", edit=split)
    with pytest.raises(InputError, match="one of 3 parts"):
        locate(str(path))


def test_an_architecture_that_is_not_read_is_refused_with_those_that_are(llama_file, tmp_path):
    content = llama_file.read_bytes().replace(b"llama", b"llamb")
    other = tmp_path / "other" / "other.gguf"
    other.parent.mkdir()
    other.write_bytes(content)
    with pytest.raises(UnsupportedModelError, match="llamb") as caught:
        locate(str(other))
    assert {"llama,", "gemma3,", "qwen3moe,"} <= {*caught.value.hint.split()}
    assert "collect models" in caught.value.hint  # which of the types are measured


def test_a_missing_package_is_named(llama_file, monkeypatch):
    monkeypatch.setattr(header, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="package gguf"):
        locate(str(llama_file))


def test_a_configuration_is_named_though_gguf_files_lie_beside_it(save_tiny):
    directory = save_tiny("llama")
    (directory / "model.safetensors").unlink()
    for name in ("a.gguf", "b.gguf"):
        (directory / name).write_bytes(b"GGUF")
    result = locate(str(directory / "config.json"), needs_weights=False)
    assert result.gguf is None
    assert result.config["model_type"] == "llama"
