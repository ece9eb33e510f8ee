"""Models of a hub judged by listings, indices and headers, before weights are fetched."""

import re
import shutil

import pytest
import torch

from collect.errors import CollectError, InputError, UnreachableError
from collect.job.planning.plan import plan
from collect.job.resolve import resolve
from collect.job.run import run
from collect.model.checkpoint.location import locate
from tests.collect.conftest import edit_config, edit_weights
from tests.collect.model.checkpoint.local_hub import WEIGHTS, pickles_only, shard


def test_an_index_of_more_blocks_than_the_configuration_is_refused_before_weights_are_fetched(
    local_hub, offer, tmp_path
):
    directory = offer("deeper")
    local, out = shutil.copytree(directory, tmp_path / "deeper"), tmp_path / "out"
    shard(directory, "model-00001-of-00001.safetensors")
    for place in (directory, local):
        edit_config(place, num_hidden_layers=2)
    for act in (plan, run):
        with pytest.raises(InputError, match=r"ends at model\.layers\.1, .* hold model\.layers\.2"):
            act(["acme/deeper"], [], out, quantities=["weights"])
    assert not local_hub.asked("of-00001.safetensors")
    with pytest.raises(InputError, match="a smaller model would be measured"):
        plan([str(local)], [], out)


def quantise(directory):
    """Store the weights as whole numbers."""
    edit_weights(directory, lambda tensors: {k: t.to(torch.int8) for k, t in tensors.items()})


def lengthen(directory):
    """Say that the header is longer than any."""
    with (directory / WEIGHTS).open("r+b") as handle:
        handle.write(b"\xff" * 8)


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda d: edit_config(d, num_hidden_layers=2), r"ends at model\.layers\.1, .*\.layers\.2"),
        (lambda d: edit_config(d, num_hidden_layers=4), r"lacks 9, for example model\.layers\.3"),
        (lambda d: edit_config(d, intermediate_size=96), r"found \(32, 48\)"),
        (quantise, r"is quantised \(I8\)"),
        (lengthen, "model.safetensors of acme/tiny must be complete .* it has no header"),
        (lambda d: (d / WEIGHTS).write_bytes(b"\x02" + b"\0" * 7 + b"[]"), "its header is none"),
        (lambda d: (d / WEIGHTS).write_bytes(b"version"), "it has no header"),
    ],
)
def test_a_single_file_is_judged_by_its_header_before_it_is_fetched(
    local_hub, offer, tmp_path, damage, sentence
):
    damage(offer("tiny"))
    for act in (plan, run):
        with pytest.raises(CollectError, match=sentence):
            act(["acme/tiny"], [], tmp_path / "out", quantities=["weights"])
    assert local_hub.asked(WEIGHTS)
    assert not local_hub.fetched(WEIGHTS)
    assert not (tmp_path / "out" / "run").exists()


def test_a_header_is_asked_for_once_and_without_a_token_elsewhere(local_hub, offer, monkeypatch):
    directory = offer("closed", token="right")
    monkeypatch.setenv("HF_TOKEN", "right")
    plan(["acme/closed"], [], None)
    parts = [(part, token) for _, path, part, token in local_hub.log if path.startswith("/cdn/")]
    n = int.from_bytes((directory / WEIGHTS).read_bytes()[:8], "little")
    assert parts == [("bytes=0-7", False), (f"bytes=8-{7 + n}", False)]
    locate("acme/closed")
    n_asked = len(local_hub.asked(WEIGHTS))
    plan(["acme/closed"], [], None)
    assert len(local_hub.asked(WEIGHTS)) == n_asked


@pytest.mark.parametrize(
    ("fault", "kind", "sentence"),
    [
        ("no ranges", InputError, "a smaller model would be measured"),
        (503, UnreachableError, "503"),
    ],
)
def test_a_header_comes_without_ranges_too_and_one_that_is_kept_back_is_told_in_a_sentence(
    local_hub, offer, fault, kind, sentence
):
    edit_config(offer("tiny"), num_hidden_layers=2)
    local_hub.fault = lambda _method, path: fault if path.startswith("/cdn/") else None
    with pytest.raises(kind, match=sentence):
        plan(["acme/tiny"], [], None)


def half_listed(directory):
    shard(directory, "kept.safetensors", lost="lost.safetensors")


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda d: edit_config(d, model_type="bert"), "'bert' is refused: it is an encoder"),
        (lambda d: edit_config(d, quantization_config={"bits": 4}), "are quantised"),
        (lambda d: edit_config(d, model_type="own", auto_map={"A": "b"}), "code of its own"),
        (lambda d: (d / "tokenizer.json").unlink(), "must bring its tokenizer"),
        (lambda d: edit_config(d, num_attention_heads=7), "must load as the model"),
        (pickles_only, "lacks model.safetensors and holds pytorch_model.bin"),
        (lambda d: edit_weights(d, lambda _: {}), "model.safetensors of acme/bad holds no tensor"),
        (half_listed, "lacks 1 of 2: lost.safetensors"),
        (lambda d: (d / "adapter_config.json").write_text("{}"), "holds adapter_config.json"),
        (lambda d: (d / "config.json").unlink(), "must hold config.json"),
    ],
)
def test_a_bad_model_after_a_good_one_costs_no_download(
    local_hub, offer, damage, sentence, prompt_file
):
    names = "first", "bad"
    directories = [offer(name) for name in names]
    damage(directories[-1])
    job = resolve([f"acme/{name}" for name in names], [prompt_file], None)
    assert [model.name for model in job.subjects] == ["acme/first"]
    (refusal,) = job.refusals
    assert re.search(sentence, refusal.sentence)
    assert ("pickle" in refusal.hint) == ("refs/pr/N" in refusal.hint) == (damage is pickles_only)
    assert not local_hub.fetched(WEIGHTS)


def test_a_bad_model_ends_the_job_where_that_is_asked_for(local_hub, offer, prompt_file):
    names = [f"acme/{name}" for name in ("first", "second", "third")]
    *_, last = [offer(name.partition("/")[2]) for name in names]
    edit_config(last, model_type="bert")
    with pytest.raises(InputError, match="'bert' is refused: it is an encoder"):
        resolve(names, [prompt_file], None, fail_fast=True)
    assert not local_hub.fetched(WEIGHTS)
