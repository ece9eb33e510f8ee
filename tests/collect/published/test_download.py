"""Fetching is all or nothing."""

import hashlib
import http.server
import socket
import threading
from functools import partial

import pytest

from collect import published
from collect.errors import InputError, UnreachableError
from collect.published import catalogue, download

CONTENT = {"a.json": b'{"x": 1}\n', "b c.csv": b"x\n1\n"}


@pytest.fixture
def pinned(monkeypatch):
    rows = {name: {"sha256": hashlib.sha256(body).hexdigest()} for name, body in CONTENT.items()}
    monkeypatch.setattr(catalogue, "files", lambda: rows)


@pytest.fixture
def served(tmp_path):
    folder = tmp_path / "served"
    folder.mkdir()
    for name, body in CONTENT.items():
        (folder / name).write_bytes(body)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.usefixtures("pinned")
def test_fetching_writes_the_pinned_files(served, tmp_path):
    destination = download.fetch(tmp_path / "new" / "results", base_url=served[1])
    assert {path.name: path.read_bytes() for path in destination.iterdir()} == CONTENT


@pytest.mark.usefixtures("pinned")
def test_a_file_that_is_not_the_pinned_one_is_refused(served, tmp_path):
    (served[0] / "b c.csv").write_bytes(b"x\n2\n")
    with pytest.raises(InputError, match=r"The downloaded file b c\.csv must have the sha256"):
        download.fetch(tmp_path / "results", base_url=served[1])
    assert not (tmp_path / "results").exists()


@pytest.mark.usefixtures("pinned")
def test_a_file_that_is_not_served_leaves_nothing_behind(served, tmp_path):
    (served[0] / "b c.csv").unlink()
    with pytest.raises(UnreachableError, match=r"must be downloaded from .*404"):
        download.fetch(tmp_path / "results", base_url=served[1])
    assert not (tmp_path / "results").exists()


def test_an_address_that_does_not_answer_is_reported_in_one_sentence(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(UnreachableError) as refusal:
            published.fetch(tmp_path / "results", base_url=address, timeout_s=0.2)
    assert refusal.value.problem.startswith(
        f"The published files must be downloaded from {address}"
    )
    assert "\n" not in refusal.value.problem
    assert not (tmp_path / "results").exists()
