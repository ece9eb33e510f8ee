"""A hub that is not there, refuses, breaks off or goes silent, and a cache that is full."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import signal
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import constants

from collect.errors import InputError, OutputError, ScarcityError, UnreachableError
from collect.model.checkpoint import hub
from collect.model.checkpoint.hub import references
from collect.model.checkpoint.location import locate
from tests.collect.model.checkpoint.local_hub import WEIGHTS


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


@pytest.mark.parametrize("fault", ["stall", "reset"])
def test_a_transfer_that_goes_silent_or_is_cut_harms_nothing(local_hub, offer, monkeypatch, fault):
    directory = offer("tiny")
    local_hub.fault = lambda _method, path: fault if path.startswith("/cdn/") else None
    monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 0.2)
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 1024)
    with pytest.raises(UnreachableError) as refusal:
        locate("acme/tiny")
    assert "\n" not in refusal.value.problem
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
        *[(status, str(status)) for status in (403, 429, 503, 500, 418)],
        ("html", "does not answer as a hub does|Hub endpoint"),
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
    with pytest.raises(UnreachableError, match="503"):
        locate("acme/tiny")


def test_a_hub_that_is_not_there_is_told_in_a_sentence_unless_the_cache_has_the_model(
    local_hub, offer, monkeypatch
):
    offer("tiny")
    found = locate("acme/tiny")
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    again = locate("acme/tiny")
    assert (again.revision, again.weights_sha256()) == (found.revision, found.weights_sha256())
    with pytest.raises(UnreachableError, match="acme/other"):
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


@pytest.mark.parametrize(("token", "error"), [("", "GatedRepoError"), ("wrong", "401")])
def test_a_model_that_is_not_open_is_told_apart_from_a_token_that_is_wrong(
    offer, monkeypatch, token, error
):
    offer("closed", token="right")
    monkeypatch.setenv("HF_TOKEN", token)
    with pytest.raises(UnreachableError, match=error) as refusal:
        locate("acme/closed")
    assert "hf auth login" in refusal.value.hint


@pytest.mark.parametrize(
    "endpoint",
    ["hub.example", "ftp://hub.example", "", "http://", "https://[::1", "http://hub.example:port"],
)
def test_an_address_of_the_hub_that_leads_nowhere_is_wrong_input(offer, monkeypatch, endpoint):
    offer("tiny")
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    with pytest.raises(InputError) as refusal:
        locate("acme/tiny")
    assert "HF_ENDPOINT" in refusal.value.hint


@pytest.mark.parametrize(
    "number",
    [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EFBIG, errno.ENOTDIR, errno.ENOENT, errno.EIO],
)
def test_a_cache_that_cannot_be_written_is_named(offer, monkeypatch, number):
    offer("tiny")

    def full(*_: object, **__: object) -> str:
        raise OSError(number, "no")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", full)
    with pytest.raises(OutputError, match="cache of the hub cannot be used"):
        locate("acme/tiny")


def test_a_machine_that_lends_no_more_files_is_told_from_a_cache_that_cannot_be_written(
    offer, monkeypatch
):
    offer("tiny")

    def exhausted(*_: object, **__: object) -> str:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", exhausted)
    with pytest.raises(ScarcityError, match="of open files"):
        locate("acme/tiny")


def test_without_the_hub_its_settings_are_of_no_account(local_hub, offer, monkeypatch):
    offer("tiny")
    found = locate("acme/tiny")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setenv("ALL_PROXY", "socks5://proxy.example:1080")
    huggingface_hub.close_session()
    assert locate("acme/tiny").revision == found.revision


def test_a_cache_that_may_not_be_read_is_told_from_one_that_lacks_the_model(offer, monkeypatch):
    offer("tiny")
    locate("acme/tiny")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)

    def closed(_directory: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", closed)
    for act in (locate, references):
        with pytest.raises(OutputError, match="cache: Permission denied"):
            act("acme/tiny")


def test_a_token_that_cannot_be_read_is_told_from_a_cache_that_cannot(offer, monkeypatch, tmp_path):
    offer("tiny")
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path))
    with pytest.raises(InputError, match="IsADirectoryError"):
        locate("acme/tiny")


def test_a_proxy_that_is_not_there_is_thought_of(offer, monkeypatch):
    offer("tiny")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    huggingface_hub.close_session()
    with pytest.raises(UnreachableError) as refusal:
        locate("acme/tiny")
    assert "HTTP_PROXY" in refusal.value.hint


def test_what_a_transfer_leaves_half_way_is_removed_when_the_process_ends(local_hub, tmp_path):
    """A file of another process, or elsewhere, stays: nothing here has it open."""
    cache = tmp_path / "cache"
    cache.mkdir()
    ours, other, whole = (cache / name for name in ("a.incomplete", "b.incomplete", "c"))
    for path in (ours, other, whole):
        path.touch()
    with ours.open("wb"), whole.open("wb"):
        hub._remove_unfinished()
    assert sorted(path.name for path in cache.iterdir()) == ["b.incomplete", "c"]


@pytest.mark.parametrize("name", [WEIGHTS, "config.json"])
@pytest.mark.parametrize("is_offline", [False, True])
def test_a_file_of_the_cache_that_was_corrupted_since_is_refused(
    local_hub, offer, monkeypatch, name, is_offline
):
    offer("tiny")
    locate("acme/tiny").weights_sha256()
    snapshot = locate("acme/tiny").directory
    # Kept as the hub's client keeps it: a link to the content, under the hash that is stated.
    blobs = snapshot.parents[1] / "blobs"
    content = (snapshot / name).read_bytes()
    header = b"blob %d\0" % len(content)
    stated = {
        WEIGHTS: hashlib.sha256(content).hexdigest(),
        "config.json": hashlib.sha1(header + content).hexdigest(),
    }[name]
    (blobs / stated).write_bytes(content)
    (snapshot / name).unlink()
    (snapshot / name).symlink_to(blobs / stated)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", is_offline)
    locate("acme/tiny").weights_sha256()
    (blobs / stated).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(InputError, match=r"hash|sha256") as refused:
        locate("acme/tiny").weights_sha256()
    assert stated in refused.value.hint
