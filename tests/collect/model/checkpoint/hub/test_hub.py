"""Models of a hub, against one on the loopback interface: found, judged, fetched, or refused."""

import json
import shutil
from importlib import import_module

import pytest
from huggingface_hub import utils

from collect.commands.cli import main
from collect.errors import InputError
from collect.job.resolve import resolve
from collect.job.run import run
from collect.model.checkpoint import hub
from collect.model.checkpoint.location import locate
from collect.model.labels import Labels
from tests.collect.model.checkpoint.local_hub import WEIGHTS, commit_of, pickles_only, shard


def test_a_model_is_pinned_to_its_commit_and_its_files_are_those_of_the_hub(local_hub, offer):
    directory = offer("tiny")
    checkpoint = locate("acme/tiny")
    assert (checkpoint.model_id, checkpoint.revision) == ("acme/tiny", commit_of(directory))
    assert checkpoint.weights_sha256() == locate(str(directory)).weights_sha256()
    asked = [path for _, path, *_ in local_hub.log if "acme/tiny" in path]
    assert asked[0] == "/api/models/acme/tiny"
    assert WEIGHTS in asked[-1]
    n_asked = len(local_hub.log)
    assert locate("acme/tiny") == checkpoint
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


def test_of_a_single_file_and_shards_what_transformers_loads_is_fetched(local_hub, offer):
    directory = offer("both")
    shutil.copy(directory / WEIGHTS, directory / "whole")
    shard(directory, "model-00001-of-00001.safetensors")
    (directory / "whole").rename(directory / WEIGHTS)
    assert [path.name for path in locate("acme/both").weight_files] == [WEIGHTS]
    assert not local_hub.asked("of-00001.safetensors")


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


def test_a_token_goes_to_the_hub_and_no_further(local_hub, offer, monkeypatch):
    offer("closed", token="right")
    monkeypatch.setenv("HF_TOKEN", "right")
    assert locate("acme/closed").model_id == "acme/closed"
    assert {has_token for _, path, _, has_token in local_hub.log if "/cdn/" not in path} == {True}
    assert {has_token for _, path, _, has_token in local_hub.log if "/cdn/" in path} == {False}


@pytest.mark.parametrize(
    ("name", "revision", "sentence"),
    [
        ("acme/none", None, "no model 'acme/none'"),
        ("acme/tiny", "v9", "no revision 'v9'"),
        ("acme/x.git", None, "no model 'acme/x.git'"),
        ("acme/a--b", None, "no model 'acme/a--b'"),
        ("acme/a..b", None, "no model 'acme/a..b'"),
    ],
)
def test_what_the_hub_cannot_have_is_wrong_input(offer, name, revision, sentence):
    offer("tiny")
    with pytest.raises(InputError, match=sentence):
        locate(name, revision=revision)


def test_a_directory_named_as_the_owner_does_not_hide_a_model_of_the_hub(
    offer, monkeypatch, tmp_path
):
    offer("tiny")
    (tmp_path / "here" / "acme").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    assert locate("acme/tiny").model_id == "acme/tiny"
    with pytest.raises(InputError, match="'acme/mine' is neither"):
        locate("acme/mine")


@pytest.fixture
def bars():
    """Bars of the client are on, and as they were afterwards."""
    was_off = utils.are_progress_bars_disabled()
    utils.enable_progress_bars()
    yield
    (utils.disable_progress_bars if was_off else utils.enable_progress_bars)()


@pytest.mark.usefixtures("bars")
@pytest.mark.parametrize("variable", [None, False])
def test_quiet_shows_no_bars_nor_where_a_variable_asks_for_them(
    offer, tmp_path, capsys, monkeypatch, variable
):
    offer("tiny")
    of_bars = import_module("huggingface_hub.utils.tqdm")
    monkeypatch.setattr(of_bars, "HF_HUB_DISABLE_PROGRESS_BARS", variable)
    resolve(["acme/tiny"], [], tmp_path / "out", quiet=True)
    assert utils.are_progress_bars_disabled()
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("bars")
def test_a_download_of_weights_draws_its_bar_though_the_library_is_quiet(
    offer, tmp_path, monkeypatch
):
    offer("tiny")
    asked, of_hub = [], hub._fetched

    def fetched(repository, name, revision):
        asked.append((name, utils.are_progress_bars_disabled()))
        return of_hub(repository, name, revision)

    monkeypatch.setattr(hub, "_fetched", fetched)
    run(["acme/tiny"], [], tmp_path / "out", quantities=["weights"])
    assert asked[-1] == (WEIGHTS, False)


def test_a_known_model_of_the_hub_has_its_labels(local_hub, offer):
    offer("tiny", "gpt_neox")
    local_hub.repositories["EleutherAI/pythia-70m"] = local_hub.repositories["acme/tiny"]
    checkpoint = locate("EleutherAI/pythia-70m", revision="main", needs_weights=False)
    assert checkpoint.labels == Labels("EleutherAI", "Pythia", 2023)
