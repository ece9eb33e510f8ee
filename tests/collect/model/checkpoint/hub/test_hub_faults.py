"""A hub that is not there, refuses, breaks off or goes silent, and a cache that is full."""

import errno
import shutil
import sys

import huggingface_hub
import pytest
from huggingface_hub import constants

from collect.errors import InputError, MissingExtraError, OutputError, UnreachableError
from collect.model.checkpoint import hub
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


@pytest.mark.parametrize(
    ("fault", "sentence"), [(403, "403"), (503, "503"), ((200, b"null", {}), "acme/tiny")]
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


def test_a_hub_that_is_not_there_is_told_in_a_sentence_unless_the_cache_has_the_model(
    local_hub, offer, monkeypatch
):
    offer("tiny")
    result = locate("acme/tiny")
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    again = locate("acme/tiny")
    assert (again.revision, again.weights_sha256()) == (result.revision, result.weights_sha256())
    with pytest.raises(UnreachableError, match="acme/other"):
        locate("acme/other")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert locate("acme/tiny").revision == result.revision
    with pytest.raises(UnreachableError, match="not asked while HF_HUB_OFFLINE is set"):
        locate("acme/other")


def test_a_package_that_the_client_lacks_is_named_unless_the_cache_has_the_model(
    offer, monkeypatch
):
    offer("tiny")
    locate("acme/tiny")
    monkeypatch.setitem(sys.modules, "socksio", None)
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    huggingface_hub.close_session()
    try:
        with pytest.raises(UnreachableError, match="socksio") as refusal:
            locate("acme/other")
        assert refusal.value.exit_code == MissingExtraError.exit_code
        assert locate("acme/tiny").weight_files
    finally:
        huggingface_hub.close_session()


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


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES])
def test_a_cache_that_cannot_be_written_is_named(offer, monkeypatch, number):
    offer("tiny")

    def full(*_, **__):
        raise OSError(number, "no")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", full)
    with pytest.raises(OutputError, match="cache of the hub cannot be used"):
        locate("acme/tiny")


@pytest.mark.parametrize("revision", ["", "..", "../../etc", "refs//1", "/main"])
def test_a_revision_that_leads_out_of_the_repository_is_none(local_hub, offer, revision):
    offer("tiny")
    with pytest.raises(InputError, match="has no revision"):
        locate("acme/tiny", revision=revision)
    assert local_hub.log == []


def test_a_listing_that_leads_out_of_the_cache_is_none(local_hub, offer):
    offer("tiny")
    content = b'{"id": "acme/tiny", "sha": "../x", "siblings": [{"rfilename": "config.json"}]}'
    local_hub.fault = lambda _method, _path: (200, content, {})
    with pytest.raises(UnreachableError):
        locate("acme/tiny")
