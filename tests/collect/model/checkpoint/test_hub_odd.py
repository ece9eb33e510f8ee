"""Answers of a hub, or of what stands before it, that are odd: each is told by its cause."""

from __future__ import annotations

import gzip
import json

import huggingface_hub
import pytest
from huggingface_hub import constants

from collect.errors import InputError, UnreachableError
from collect.model.checkpoint import hub
from collect.model.checkpoint.hub import references
from collect.model.checkpoint.location import locate
from tests.collect.model.checkpoint.local_hub import WEIGHTS, Repository, commit_of

API = "/api/models/acme/tiny"


def answering(local_hub, part: str, status: int, content: bytes = b"", **headers: str) -> None:
    """Let the hub give one answer to every request whose path holds some words."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    local_hub.fault = lambda _method, path: (status, content, named) if part in path else None


@pytest.mark.parametrize(
    "content",
    [
        b'{"error": "please log in"}',
        b"[]",
        b"null",
        b'{"id": "acme/tiny"}',
        b'{"id": "acme/tiny", "sha": "../x", "siblings": [{"rfilename": "config.json"}]}',
        b'{"id": "acme/tiny", "sha": "1", "siblings": [{"size": 1}]}',
        b"\xff\xfe",
        b"",
    ],
)
def test_an_answer_that_is_no_listing_is_none_of_a_hub(local_hub, offer, content):
    offer("tiny")
    answering(local_hub, API, 200, content, Content_Type="application/json")
    with pytest.raises(UnreachableError, match="does not answer as a hub does"):
        locate("acme/tiny")


@pytest.mark.parametrize("part", [API, "config.json"])
def test_addresses_that_lead_to_each_other_without_end_are_told(local_hub, offer, part):
    offer("tiny")

    def around(_method: str, path: str) -> object:
        return (302, b"", {"Location": path}) if part in path else None

    local_hub.fault = around
    with pytest.raises(UnreachableError, match="TooManyRedirects"):
        locate("acme/tiny")


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, 'User Access Token "mine" is expired'),
        (403, "Access to this resource is disabled."),
        (403, "Not from your country"),
        (407, ""),
        (451, ""),
    ],
)
def test_what_the_hub_says_itself_is_repeated(local_hub, monkeypatch, status, message):
    monkeypatch.setenv("HF_TOKEN", "mine")
    answering(local_hub, API, status, X_Error_Message=message)
    with pytest.raises(UnreachableError) as refusal:
        locate("acme/tiny")
    assert str(status) in refusal.value.problem
    assert message.rstrip(".") in refusal.value.problem


@pytest.mark.parametrize("token", ["tökén", "two\x7fwords"])
def test_a_token_that_no_request_can_bear_is_wrong_input_and_is_not_shown(
    offer, monkeypatch, token
):
    offer("tiny")
    monkeypatch.setenv("HF_TOKEN", token)
    with pytest.raises(InputError, match="token") as refusal:
        locate("acme/tiny")
    assert token not in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HTTP_PROXY", "gopher://proxy.example:70"),
        ("ALL_PROXY", "socks5://proxy.example:1080"),
        ("HTTP_PROXY", "http://proxy.example:port"),
        ("SSL_CERT_FILE", "/nowhere/certificates.pem"),
    ],
)
def test_settings_that_the_client_cannot_use_are_wrong_input(
    local_hub, offer, monkeypatch, name, value
):
    offer("tiny")
    monkeypatch.setenv(name, value)
    huggingface_hub.close_session()
    with pytest.raises(InputError, match="setting of the hub's client") as refusal:
        locate("acme/tiny")
    assert name in refusal.value.hint
    assert local_hub.log == []


def test_a_hub_without_tls_is_told_from_one_that_is_not_there(local_hub, offer, monkeypatch):
    offer("tiny")
    monkeypatch.setattr(constants, "ENDPOINT", local_hub.address.replace("http:", "https:"))
    with pytest.raises(UnreachableError, match="SSL"):
        locate("acme/tiny")


def test_names_of_branches_that_do_not_come_are_not_waited_for(local_hub, offer, monkeypatch):
    offer("tiny")
    local_hub.fault = lambda _method, path: "silence" if path.endswith("/refs") else None
    monkeypatch.setattr(hub, "TIMEOUT_OF_NAMES_S", 0.2)
    with pytest.raises(UnreachableError, match="TimeoutError"):
        references("acme/tiny")


def test_large_files_are_not_taken_for_small_ones(local_hub, offer):
    directory = offer("tiny")
    (directory / "corpus.txt").write_text("a text that the model was trained on")
    local_hub.listed_size["corpus.txt"] = 5_000_000_000
    locate("acme/tiny", needs_weights=False)
    assert local_hub.asked("tokenizer.json")
    assert not local_hub.asked("corpus.txt")


def test_an_empty_repository_holds_no_model(local_hub, tmp_path):
    (tmp_path / "empty").mkdir()
    local_hub.repositories["acme/empty"] = Repository(tmp_path / "empty")
    with pytest.raises(InputError, match=r"must hold config\.json; acme/empty on the hub does not"):
        locate("acme/empty")


def test_an_adapter_without_its_model_is_told_as_one_in_a_directory(local_hub, tmp_path):
    (tmp_path / "lora").mkdir()
    (tmp_path / "lora" / "adapter_config.json").write_text("{}")
    (tmp_path / "lora" / "adapter_model.safetensors").write_bytes(b"never opened")
    local_hub.repositories["acme/lora"] = Repository(tmp_path / "lora")
    sentence = r"must hold config\.json; .* holds adapter_config\.json, an adapter without its"
    hints = set()
    for model in ("acme/lora", str(tmp_path / "lora")):
        with pytest.raises(InputError, match=sentence) as refusal:
            locate(model)
        hints.add(refusal.value.hint)
    assert len(hints) == 1
    assert "merge_and_unload" in hints.pop()
    assert not local_hub.asked("adapter_model.safetensors")


def test_small_files_may_come_packed(local_hub, offer):
    directory = offer("tiny")
    whole = locate(str(directory))

    def packed(method: str, path: str) -> object:
        if method == "HEAD" or not path.endswith("config.json") or "generation" in path:
            return None
        content = (directory / path.rsplit("/", 1)[-1]).read_bytes()
        return 200, gzip.compress(content), {"Content-Encoding": "gzip"}

    local_hub.fault = packed
    assert locate("acme/tiny").config == whole.config


def test_what_says_that_it_is_packed_and_is_not_is_told(local_hub, offer):
    offer("tiny")
    answering(local_hub, API, 200, b"not packed", Content_Encoding="gzip")
    with pytest.raises(UnreachableError, match="DecodingError"):
        locate("acme/tiny")


def test_files_may_be_closed_where_the_listing_is_open(local_hub, offer):
    offer("tiny")
    answering(local_hub, "/resolve/", 403, X_Error_Code="GatedRepo")
    with pytest.raises(UnreachableError, match="GatedRepoError"):
        locate("acme/tiny")


def test_a_name_in_other_letters_is_that_of_the_hub(local_hub, offer):
    directory = offer("tiny")
    local_hub.repositories["Acme/Tiny"] = Repository(directory, moved_to="acme/tiny")
    found = locate("Acme/Tiny")
    assert (found.model_id, found.revision) == ("acme/tiny", commit_of(directory))


def test_a_token_does_not_follow_a_chain_of_addresses(local_hub, offer, monkeypatch):
    directory = offer("closed", token="right")
    monkeypatch.setenv("HF_TOKEN", "right")
    place = f"/cdn{directory / WEIGHTS}"

    def chain(_method: str, path: str) -> object:
        if path == "/first":
            return 302, b"", {"Location": f"{local_hub.address}/second"}
        if path == "/second":
            return 302, b"", {"Location": f"{local_hub.elsewhere}{place}"}
        if path.endswith(WEIGHTS) and "/cdn/" not in path:
            about = {"X-Linked-Size": str((directory / WEIGHTS).stat().st_size)}
            about["X-Linked-Etag"] = "0" * 64
            about["X-Repo-Commit"] = commit_of(directory)
            return 302, b"", {**about, "Location": f"{local_hub.elsewhere}/first"}
        return None

    local_hub.fault = chain
    assert locate("acme/closed").weight_files
    beyond = [token for _, path, _, token in local_hub.log if path in ("/first", "/second", place)]
    assert len(beyond) == 3
    assert not any(beyond)


def test_a_part_of_a_file_that_was_not_asked_for_is_not_taken_for_a_header(local_hub, offer):
    from collect.job.planning.plan import plan

    directory = offer("tiny")
    content = (directory / WEIGHTS).read_bytes()
    about = {"Content_Range": f"bytes 100-{len(content) - 1}/{len(content)}"}
    answering(local_hub, "/cdn/", 206, content[100:], **about)
    with pytest.raises(UnreachableError, match="other parts of a file than are asked for"):
        plan(["acme/tiny"], [], None)


def test_who_asks_too_often_is_told_so_and_does_not_wait(local_hub, offer):
    from collect.job.planning.plan import plan

    offer("tiny")
    answering(local_hub, "/cdn/", 429, Retry_After="86400")
    with pytest.raises(UnreachableError, match="429"):
        plan(["acme/tiny"], [], None)
    assert len([path for _, path, *_ in local_hub.log if "/cdn/" in path]) == 1


@pytest.mark.parametrize("start", [0, 1])
def test_a_transfer_that_goes_on_elsewhere_than_it_should_is_found_out(
    local_hub, offer, monkeypatch, start
):
    """After a break the rest is answered whole, or from another place: never a wrong number."""
    directory = offer("tiny")
    content = (directory / WEIGHTS).read_bytes()
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 1024)
    turns = iter(["break"])

    def fault(_method: str, path: str) -> object:
        if not path.startswith("/cdn/"):
            return None
        rest = content[len(content) // 2 :]
        wrong = 206, bytes(reversed(rest)), {"Content-Range": f"bytes 7-9/{len(content)}"}
        return next(turns, (200, content, {}) if start == 0 else wrong)

    local_hub.fault = fault
    if start == 0:
        assert locate("acme/tiny").weights_sha256() == locate(str(directory)).weights_sha256()
    else:
        with pytest.raises((InputError, UnreachableError)):
            locate("acme/tiny").weights_sha256()


def test_a_store_of_large_files_that_fails_is_named_with_the_way_around_it(local_hub, offer):
    """The hub says that its file lies in Xet's store, which answers nothing of use."""
    directory = offer("tiny")
    token = {"X-Xet-Access-Token": "t", "X-Xet-Token-Expiration": str(2**40)}
    about = {"X-Repo-Commit": commit_of(directory), "X-Linked-Etag": "0" * 64}
    about |= {"X-Linked-Size": str((directory / WEIGHTS).stat().st_size), "X-Xet-Hash": "ab" * 32}
    about |= {"X-Xet-Refresh-Route": f"{local_hub.address}/xet", "Location": "http://elsewhere"}

    def stored(method: str, path: str) -> object:
        if path == "/xet":
            return 200, b"{}", {"X-Xet-Cas-Url": local_hub.address, **token}
        is_file = method == "HEAD" and path.endswith(WEIGHTS)
        return (302, b"", about) if is_file else (404 if "/reconstructions/" in path else None)

    local_hub.fault = stored
    with pytest.raises(UnreachableError, match=r"CAS Client Error.*404") as refusal:
        locate("acme/tiny")
    assert "HF_HUB_DISABLE_XET" in refusal.value.hint


@pytest.mark.parametrize("name", ["a\\..\\b.json", "nul\0.json", "x" * 300 + ".json"])
def test_files_that_no_disk_can_hold_are_left_alone(local_hub, offer, name):
    directory = offer("tiny")
    files = [{"rfilename": path.name, "size": path.stat().st_size} for path in directory.iterdir()]
    files += [{"rfilename": name, "size": 1}]
    listing = {"id": "acme/tiny", "sha": commit_of(directory), "siblings": files}
    answering(local_hub, API, 200, json.dumps(listing).encode())
    assert locate("acme/tiny").weight_files


@pytest.mark.parametrize("revision", ["", "..", "../../etc", "refs//1", "/main"])
def test_a_revision_that_leads_out_of_the_repository_is_none(local_hub, offer, revision):
    offer("tiny")
    with pytest.raises(InputError, match="has no revision"):
        locate("acme/tiny", revision=revision)
    assert local_hub.log == []


def test_a_listing_of_many_thousand_files_is_read(local_hub, offer):
    directory = offer("tiny")
    files = [{"rfilename": f"logs/{n}.json", "size": 1} for n in range(20_000)]
    files += [{"rfilename": path.name, "size": path.stat().st_size} for path in directory.iterdir()]
    listing = {"id": "acme/tiny", "sha": commit_of(directory), "siblings": files}
    answering(local_hub, API, 200, json.dumps(listing).encode())
    assert locate("acme/tiny").weight_files
    assert not [path for _, path, *_ in local_hub.log if "logs" in path]
