"""A GGUF file written as safetensors: the same numbers, the same tokens; and a gauge of it."""

import json

import pandas as pd
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import collect
from collect.commands import cli
from collect.errors import InputError
from collect.gauge.command import gauge
from collect.gauge.saving import dequantise
from collect.model.checkpoint.load import load_model, load_tokenizer
from collect.model.checkpoint.location import locate
from tests.collect.gguf_files import tiny, write
from tests.collect.model.checkpoint.gguf.test_keys import BASE, CARRIED, LLAMA3, deviation


@pytest.fixture
def file(tmp_path):
    model = tiny("llama", rope_parameters={**BASE, **LLAMA3})
    return write("llama", model, tmp_path / "tiny-Q8_0.gguf", pre="smollm")


def test_what_is_written_measures_as_the_file_does(file, tmp_path, prompt_file):
    out = dequantise(str(file), tmp_path / "plain")
    rows = []
    for place, model in (("a", file), ("b", out)):
        collect.run([str(model)], [prompt_file], tmp_path / place, quiet=True)
        (table,) = (tmp_path / place / "residual_norm").iterdir()
        rows.append(pd.read_parquet(table).drop(columns=["run_id", "model_id"]))
    pd.testing.assert_frame_equal(*rows, check_exact=True)
    assert locate(str(out)).labels == locate(str(file)).labels


SAVED = [case for case in CARRIED if case[1] == "plain" or "factors" in case[1]]
SAVED += [case for case in CARRIED if case[1] in ("of the 40B", "62 blocks", "rope.scaling yarn")]


@pytest.mark.parametrize(("name", "what", "changes"), SAVED, ids=lambda it: str(it)[:40])
def test_every_architecture_is_written_as_the_model_it_is(name, what, changes, tmp_path):
    truth = tiny(name, **changes)
    path = write(name, truth, tmp_path / "tiny.gguf", number_format="F32")
    assert deviation(dequantise(str(path), tmp_path / "plain"), truth) <= 2e-6


def test_what_is_written_opens_in_transformers(file, tmp_path):
    out = dequantise(str(file), tmp_path / "plain")
    theirs = AutoModelForCausalLM.from_pretrained(out, attn_implementation="eager").eval()
    ours = load_model(locate(str(file))).model
    ids = torch.arange(3, 43)[None]
    with torch.inference_mode():
        assert torch.equal(theirs(ids).logits, ours(ids).logits)
    assert theirs.config.torch_dtype == torch.float32
    of_file, written = load_tokenizer(locate(str(file))), AutoTokenizer.from_pretrained(out)
    for text in ("the sky", "x = foo_bar(17)", "<s>x</s>", "é 12"):
        assert of_file(text).input_ids == written(text).input_ids
    assert written.chat_template == of_file.chat_template


def test_a_tokenizer_whose_split_is_not_known_is_left_out(tmp_path):
    path = write("llama", tiny("llama"), tmp_path / "odd.gguf", pre="quxen")
    out = dequantise(str(path), tmp_path / "plain")
    assert not [*out.glob("tokenizer*")]
    with pytest.raises(InputError, match="tokenizer"):
        load_tokenizer(locate(str(out)))


def test_nothing_is_overwritten_and_only_gguf_files_are_taken(file, tmp_path, save_tiny):
    (tmp_path / "plain").mkdir()
    with pytest.raises(InputError, match="plain"):
        dequantise(str(file), tmp_path / "plain")
    with pytest.raises(InputError, match="safetensors already"):
        dequantise(str(save_tiny("llama")), tmp_path / "new")
    assert [*(tmp_path / "plain").iterdir()] == []
    assert not (tmp_path / "new").exists()


def test_the_verb_prints_the_directory(file, tmp_path, capsys):
    assert cli.main(["collect", "dequantise", str(file), "--out", str(tmp_path / "plain")]) == 0
    assert capsys.readouterr().out.strip().endswith("plain")
    assert (tmp_path / "plain" / "model.safetensors").is_file()


def test_a_file_is_gauged(file, tmp_path, prompt_file):
    out = gauge(str(file), tmp_path / "gauged", prompt_sets=(prompt_file,))
    content = json.loads((out / "gauge.json").read_text())
    assert content["model_id"] == "local/tiny-Q8_0"
    assert content["logits_float64"]["relative"] < 1e-12
    ids = torch.arange(3, 43)[None]
    with torch.inference_mode():
        before = load_model(locate(str(file))).model(ids).logits
        after = load_model(locate(str(out))).model(ids).logits
    assert (before - after).abs().max() < 1e-4 * before.abs().max()
    assert load_tokenizer(locate(str(out)))("the").input_ids == [258, 101 - 33]
