"""Models of a hub, against one on the loopback interface: found, judged, fetched, or refused."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import huggingface_hub
import pandas as pd
import pytest
import torch
from huggingface_hub import constants, utils

from collect.commands.cli import main
from collect.errors import (
    CollectError,
    InputError,
    OutputError,
    UnreachableError,
    UnsupportedModelError,
)
from collect.job.plan import plan
from collect.job.run import prepare, run
from collect.model.checkpoint import hub
from collect.model.checkpoint.checkpoint import locate
from collect.model.labels import Labels
from tests.collect.model.checkpoint.local_hub import commit_of

WEIGHTS = "model.safetensors"


def edit(directory: Path, **entries: object) -> None:
    path = directory / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))


def shard(directory: Path, name: str, **others: str) -> None:
    """Let an index name the only file of weights, and others by tensor that may not be there."""
    from safetensors.torch import load_file

    (directory / WEIGHTS).rename(directory / name)
    places = {**dict.fromkeys(load_file(directory / name), name), **others}
    index = {"metadata": {}, "weight_map": places}
    (directory / f"{WEIGHTS}.index.json").write_text(json.dumps(index))


def test_a_model_is_pinned_to_its_commit_and_its_files_are_those_of_the_hub(local_hub, offer):
    directory = offer("tiny")
    checkpoint = locate("acme/tiny")
    assert (checkpoint.model_id, checkpoint.revision) == ("acme/tiny", commit_of(directory))
    assert checkpoint.weights_sha256() == locate(str(directory)).weights_sha256()
    asked = [path for _, path, *_ in local_hub.log if "acme/tiny" in path]
    assert asked[0] == "/api/models/acme/tiny"
    assert WEIGHTS in asked[-1]
    n_asked = len(local_hub.log)
    assert locate("acme/tiny") == replace(checkpoint, download_bytes=0)
    assert not [path for _, path, *_ in local_hub.log[n_asked:] if WEIGHTS in path]


def test_without_weights_only_the_small_files_are_fetched(local_hub, offer):
    directory = offer("tiny")
    (directory / "README.md").write_text("a card")
    checkpoint = locate("acme/tiny", needs_weights=False)
    assert checkpoint.weight_files == ()
    assert checkpoint.dtype_weights == "float32"
    assert checkpoint.download_bytes == (directory / WEIGHTS).stat().st_size
    assert local_hub.asked("config.json")
    assert not local_hub.asked(WEIGHTS) + local_hub.asked("README.md")


def test_exactly_the_files_that_the_index_names_are_fetched(local_hub, offer):
    directory = offer("sharded")
    shard(directory, "odd name of a shard.safetensors")
    (directory / "model-00001-of-00002.safetensors").write_bytes(b"left over")
    (directory / "pytorch_model.bin").write_bytes(b"a pickle")
    checkpoint = locate("acme/sharded")
    assert [path.name for path in checkpoint.weight_files] == ["odd name of a shard.safetensors"]
    assert not local_hub.asked("of-00002.safetensors") + local_hub.asked(".bin")


def test_an_index_of_more_blocks_than_the_configuration_is_refused_before_weights_are_fetched(
    local_hub, offer, tmp_path
):
    directory = offer("deeper")
    local, out = shutil.copytree(directory, tmp_path / "deeper"), tmp_path / "out"
    shard(directory, "model-00001-of-00001.safetensors")
    for place in (directory, local):
        edit(place, num_hidden_layers=2)
    for act in (plan, run):
        with pytest.raises(InputError, match=r"ends at model\.layers\.1, .* hold model\.layers\.2"):
            act(["acme/deeper"], [], out, quantities=["weights"])
    assert not local_hub.asked("of-00001.safetensors")
    with pytest.raises(InputError, match="a smaller model would be measured"):
        plan([str(local)], [], out)


def quantise(directory: Path) -> None:
    """Store the weights as whole numbers."""
    from safetensors.torch import load_file, save_file

    weights = load_file(directory / WEIGHTS)
    save_file({name: of.to(torch.int8) for name, of in weights.items()}, directory / WEIGHTS)


def lengthen(directory: Path) -> None:
    """Say that the header is longer than any."""
    with (directory / WEIGHTS).open("r+b") as handle:
        handle.write(b"\xff" * 8)


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda d: edit(d, num_hidden_layers=2), r"ends at model\.layers\.1, .*\.layers\.2"),
        (lambda d: edit(d, num_hidden_layers=4), r"lacks 9, for example model\.layers\.3"),
        (
            lambda d: edit(d, intermediate_size=96),
            r"must have the shape \(32, 96\) .* found \(32, 48\)",
        ),
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
        (503, UnreachableError, "out of order"),
        ("reset", UnreachableError, "broke off"),
    ],
)
def test_a_header_comes_without_ranges_too_and_one_that_is_kept_back_is_told_in_a_sentence(
    local_hub, offer, fault, kind, sentence
):
    edit(offer("tiny"), num_hidden_layers=2)
    local_hub.fault = lambda _method, path: fault if path.startswith("/cdn/") else None
    with pytest.raises(kind, match=sentence):
        plan(["acme/tiny"], [], None)


def test_of_a_single_file_and_shards_what_transformers_loads_is_fetched(local_hub, offer):
    directory = offer("both")
    shutil.copy(directory / WEIGHTS, directory / "whole")
    shard(directory, "model-00001-of-00001.safetensors")
    (directory / "whole").rename(directory / WEIGHTS)
    assert [path.name for path in locate("acme/both").weight_files] == [WEIGHTS]
    assert not local_hub.asked("of-00001.safetensors")


def no_tensors(directory: Path) -> None:
    from safetensors.torch import save_file

    save_file({}, directory / WEIGHTS)


def half_listed(directory: Path) -> None:
    shard(directory, "kept.safetensors", lost="lost.safetensors")


def pickles_only(directory: Path) -> None:
    (directory / WEIGHTS).rename(directory / "pytorch_model.bin")


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda d: edit(d, model_type="bert"), "'bert' is refused: it is an encoder"),
        (lambda d: edit(d, quantization_config={"bits": 4}), "is quantised"),
        (lambda d: edit(d, model_type="own", auto_map={"A": "b.C"}), "brings code of its own"),
        (lambda d: (d / "tokenizer.json").unlink(), "must bring its tokenizer"),
        (lambda d: edit(d, num_attention_heads=7), "must load as the model"),
        (pickles_only, "lacks model.safetensors and holds pytorch_model.bin"),
        (no_tensors, "model.safetensors of acme/bad holds no tensor"),
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
    job = prepare([f"acme/{name}" for name in names], [prompt_file], None)
    assert [name for name, _ in job.checkpoints] == ["acme/first"]
    (refusal,) = job.refusals
    assert re.search(sentence, refusal.sentence)
    assert ("pickle" in refusal.hint) == (damage is pickles_only)
    assert not local_hub.fetched(WEIGHTS)


def test_a_bad_model_ends_the_job_where_that_is_asked_for(local_hub, offer, prompt_file):
    names = [f"acme/{name}" for name in ("first", "second", "third")]
    *_, last = [offer(name.partition("/")[2]) for name in names]
    edit(last, model_type="bert")
    with pytest.raises(InputError, match="'bert' is refused: it is an encoder"):
        prepare(names, [prompt_file], None, fail_fast=True)
    assert not local_hub.fetched(WEIGHTS)


def test_pickles_alone_are_refused_by_the_plan_too_and_a_conversion_is_pointed_at(
    offer, prompt_file
):
    pickles_only(offer("old"))
    with pytest.raises(InputError, match=r"holds pytorch_model\.bin") as refusal:
        plan(["acme/old"], [prompt_file], None)
    assert "refs/pr/N" in refusal.value.hint


def test_a_revision_may_be_a_conversion_that_waits_as_a_pull_request(offer, save_tiny):
    converted = save_tiny("llama", at="converted")
    pickles_only(offer("old", commits={"refs/pr/1": converted}))
    checkpoint = locate("acme/old", revision="refs/pr/1")
    assert checkpoint.revision == commit_of(converted)


def test_a_plan_says_what_is_to_be_downloaded(local_hub, offer, prompt_file, capsys):
    size = (offer("tiny") / WEIGHTS).stat().st_size
    assert main(["plan", "acme/tiny", "--prompts", str(prompt_file), "--json"]) == 0
    units = json.loads(capsys.readouterr().out)
    assert [unit["download_bytes"] for unit in units] == [size, size]
    assert not local_hub.fetched(WEIGHTS)
    assert main(["plan", "acme/tiny", "--prompts", str(prompt_file)]) == 0
    assert "kB to download first" in capsys.readouterr().out


def test_a_disk_without_room_is_found_out_before_anything_is_fetched(local_hub, offer, monkeypatch):
    size = (offer("tiny") / WEIGHTS).stat().st_size
    usage = shutil.disk_usage("/")._replace(free=size - 1)
    monkeypatch.setattr(hub.shutil, "disk_usage", lambda _path: usage)
    with pytest.raises(OutputError, match="must have room for the weights of acme/tiny"):
        locate("acme/tiny")
    assert not local_hub.fetched(WEIGHTS)


def test_content_that_is_not_what_the_hub_lists_is_refused(local_hub, offer):
    offer("tiny")
    local_hub.listed_sha256[WEIGHTS] = "0" * 64
    with pytest.raises(InputError, match="must have the content that the hub lists"):
        locate("acme/tiny").weights_sha256()


def test_a_transfer_that_breaks_off_goes_on_where_it_stopped(local_hub, offer, monkeypatch):
    directory = offer("tiny")
    breaks = iter(["break", "break"])

    def fault(_method: str, path: str) -> str | None:
        return next(breaks, None) if path.startswith("/cdn/") else None

    local_hub.fault = fault
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 1024)
    assert locate("acme/tiny").weights_sha256() == locate(str(directory)).weights_sha256()
    ranges = [asked for _, path, asked, _ in local_hub.log if path.startswith("/cdn/")]
    starts = [int(asked.strip("bytes=-")) if asked else 0 for asked in ranges]
    assert starts[0] == 0 < starts[1] < starts[2] < (directory / WEIGHTS).stat().st_size


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [("stall", "did not answer in time"), ("reset", "could not be reached, or broke off")],
)
def test_a_transfer_that_goes_silent_or_is_cut_is_told_in_a_sentence_and_harms_nothing(
    local_hub, offer, monkeypatch, fault, sentence
):
    directory = offer("tiny")
    local_hub.fault = lambda _method, path: fault if path.startswith("/cdn/") else None
    monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 0.2)
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 1024)
    with pytest.raises(UnreachableError, match=sentence):
        locate("acme/tiny")
    local_hub.fault = lambda _method, _path: None
    assert locate("acme/tiny").weights_sha256() == locate(str(directory)).weights_sha256()


def test_the_keyboard_interrupts_a_transfer_at_once(local_hub, offer, monkeypatch):
    offer("tiny")

    def interrupt(_method: str, path: str) -> str | None:
        if not path.startswith("/cdn/"):
            return None
        os.kill(os.getpid(), signal.SIGINT)
        return "stall"

    local_hub.fault = interrupt
    with pytest.raises(KeyboardInterrupt):
        locate("acme/tiny")
    assert not local_hub.go_on.is_set()


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (403, "refuses this account or token"),
        (429, "too many requests from here"),
        (503, r"out of order \(503\)"),
        (500, r"out of order \(500\)"),
        (418, "it answers 418"),
        ("html", "does not answer as a hub does"),
    ],
)
@pytest.mark.parametrize("at", ["/api/models/acme/tiny", "config.json"])
def test_what_a_hub_answers_in_place_of_a_file_is_told_in_a_sentence(
    local_hub, offer, fault, sentence, at
):
    offer("tiny")
    local_hub.fault = lambda _method, path: fault if path.endswith(at) else None
    with pytest.raises(UnreachableError, match=sentence) as refusal:
        locate("acme/tiny")
    assert "\n" not in refusal.value.problem


def test_a_transfer_that_always_breaks_off_is_told_in_a_sentence(local_hub, offer):
    offer("tiny")
    local_hub.fault = lambda _method, path: 503 if path.startswith("/cdn/") else None
    with pytest.raises(UnreachableError, match="out of order"):
        locate("acme/tiny")


def test_a_hub_that_is_not_there_is_told_in_a_sentence_unless_the_cache_has_the_model(
    local_hub, offer, monkeypatch
):
    offer("tiny")
    found = locate("acme/tiny")
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    again = locate("acme/tiny")
    assert (again.revision, again.weights_sha256()) == (found.revision, found.weights_sha256())
    with pytest.raises(UnreachableError, match="could not be reached"):
        locate("acme/other")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert locate("acme/tiny").revision == found.revision
    with pytest.raises(UnreachableError, match="not asked while HF_HUB_OFFLINE is set"):
        locate("acme/other")


def test_without_the_hub_a_plan_needs_no_weights_and_a_run_says_what_is_missing(offer, monkeypatch):
    offer("tiny")
    locate("acme/tiny", needs_weights=False)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert locate("acme/tiny", needs_weights=False).weight_files == ()
    with pytest.raises(UnreachableError, match="the cache has the small files alone"):
        locate("acme/tiny")


@pytest.mark.parametrize(
    ("token", "kind", "sentence"),
    [
        ("", UnreachableError, "asks for a licence first"),
        ("wrong", UnreachableError, r"does not accept the token \(401\)"),
    ],
)
def test_a_model_that_is_not_open_is_told_apart_from_a_token_that_is_wrong(
    offer, monkeypatch, token, kind, sentence
):
    offer("closed", token="right")
    monkeypatch.setenv("HF_TOKEN", token)
    with pytest.raises(kind, match=sentence):
        locate("acme/closed")


def test_a_token_goes_to_the_hub_and_no_further(local_hub, offer, monkeypatch):
    offer("closed", token="right")
    monkeypatch.setenv("HF_TOKEN", "right")
    assert locate("acme/closed").model_id == "acme/closed"
    assert {has_token for _, path, _, has_token in local_hub.log if "/cdn/" not in path} == {True}
    assert {has_token for _, path, _, has_token in local_hub.log if "/cdn/" in path} == {False}


@pytest.mark.parametrize(
    ("name", "revision", "sentence"),
    [
        ("acme/none", None, "must know the model 'acme/none'"),
        ("acme/tiny", "v9", "must have the revision 'v9'"),
        ("acme/x.git", None, "'acme/x.git' is neither"),
        ("acme/a--b", None, "'acme/a--b' is neither"),
        ("acme/a..b", None, "'acme/a..b' is neither"),
    ],
)
def test_what_the_hub_cannot_have_is_wrong_input(offer, name, revision, sentence):
    offer("tiny")
    with pytest.raises(InputError, match=sentence):
        locate(name, revision=revision)


@pytest.mark.parametrize("endpoint", ["hub.example", "ftp://hub.example", ""])
def test_an_address_of_the_hub_without_its_scheme_is_wrong_input(offer, monkeypatch, endpoint):
    offer("tiny")
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    with pytest.raises(InputError, match="HF_ENDPOINT must be an address that begins with http"):
        locate("acme/tiny")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_a_cache_that_cannot_be_written_is_named(offer, monkeypatch, number):
    offer("tiny")

    def full(*_: object, **__: object) -> str:
        raise OSError(number, "no")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", full)
    with pytest.raises(OutputError, match=r"of the hub must be writable; .*cache is not"):
        locate("acme/tiny")


def test_a_directory_named_as_the_owner_does_not_hide_a_model_of_the_hub(
    offer, monkeypatch, tmp_path
):
    offer("tiny")
    (tmp_path / "here" / "acme").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    assert locate("acme/tiny").model_id == "acme/tiny"
    with pytest.raises(InputError, match="'acme/mine' is neither"):
        locate("acme/mine")


def test_quiet_shows_no_bars(offer, prompt_file, tmp_path, capsys):
    offer("tiny")
    was_off = utils.are_progress_bars_disabled()
    try:
        utils.enable_progress_bars()
        prepare(["acme/tiny"], [prompt_file], tmp_path / "out", quiet=True)
        assert utils.are_progress_bars_disabled()
        assert capsys.readouterr().err == ""
    finally:
        (utils.disable_progress_bars if was_off else utils.enable_progress_bars)()


def test_a_model_of_the_hub_is_measured_as_the_same_files_in_a_directory(
    local_hub, offer, tmp_path
):
    directory, out = offer("tiny"), tmp_path / "out"
    for model in ("acme/tiny", str(directory)):
        run([model], [], out, quantities=["weights"], quiet=True)
    norms = [
        pd.read_parquet(out / "matrix_norm" / f"{unit}.parquet").drop(
            columns=["run_id", "model_id"]
        )
        for unit in ("acme--tiny", "local--tiny")
    ]
    pd.testing.assert_frame_equal(*norms, check_exact=True)
    marks = pd.read_parquet(out / "run")
    assert set(marks["weights_sha256"]) == {locate(str(directory)).weights_sha256()}
    n_asked = len(local_hub.asked(WEIGHTS))
    run(["acme/tiny"], [], out, quantities=["weights"], quiet=True)
    assert len(local_hub.asked(WEIGHTS)) == n_asked


def test_a_known_model_of_the_hub_has_its_labels(local_hub, offer):
    offer("tiny", "gpt_neox")
    local_hub.repositories["EleutherAI/pythia-70m"] = local_hub.repositories["acme/tiny"]
    checkpoint = locate("EleutherAI/pythia-70m", revision="main", needs_weights=False)
    assert checkpoint.labels == Labels("EleutherAI", "Pythia", 2023)


def test_a_type_that_is_refused_is_of_its_own_kind(offer):
    edit(offer("tiny"), model_type="wobble")
    with pytest.raises(UnsupportedModelError, match="'wobble' has none"):
        locate("acme/tiny")
