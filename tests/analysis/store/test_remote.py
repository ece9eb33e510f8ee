"""A store opened where it lies: the same answers by ranges of bytes, and nothing else to reach."""

import gc
import re
import shutil
import threading
from contextlib import suppress
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import duckdb
import fsspec
import pytest

from analysis.commands.cli import main
from analysis.delia2026.pages.colophon import data_hash
from analysis.store import open_store, remote
from analysis.tidy.errors import QueryError, StoreError, UnreachableError
from collect.record.compaction import compact
from collect.record.publication.description import About
from collect.record.publication.publish import publish
from tests.analysis.places import ROOT

SAMPLE = ROOT / "data/sample"
MODELS = ("gpt2-l4-adamw", "gptneox-l4-adamw", "llama-l4-adamw")
OF_ONE = "SELECT sum(cosine) FROM residual_update WHERE model_id = 'thermoscope/llama-l4-adamw'"


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Three models of the sample, compact and described."""
    measured = tmp_path_factory.mktemp("to-publish") / "measured"
    stems = {f"thermoscope--{name}{of}" for name in MODELS for of in ("", "@A_grand_unified")}
    for path in SAMPLE.glob("*/*.parquet"):
        if path.stem in {*stems, "A_grand_unified"}:
            (measured / path.parent.name).mkdir(exist_ok=True, parents=True)
            shutil.copy2(path, measured / path.parent.name)
    directory = measured.with_name("streams")
    compact(measured, directory)
    (directory / "gauge_profile.csv").write_bytes((SAMPLE / "gauge_profile.csv").read_bytes())
    publish(directory, About("streams", "MIT", ("c",), date(2026, 11, 22)))
    return directory


@pytest.fixture
def address(published):
    """The address of these files in a file system that needs no network."""
    files = fsspec.filesystem("memory")
    files.put(str(published), "/streams", recursive=True)
    yield "memory://streams"
    files.rm("/streams", recursive=True)


@pytest.fixture(scope="module")
def opened(published):
    """A store at an address, opened once for what changes nothing."""
    files = fsspec.filesystem("memory")
    files.put(str(published), "/opened", recursive=True)
    store = open_store("memory://opened")
    yield store
    store.connection.close()
    files.rm("/opened", recursive=True)


def test_what_lies_at_an_address_answers_as_a_directory(published, address):
    here, there = open_store(published), open_store(address)
    for sql in (OF_ONE, "FROM run ORDER BY ALL", "FROM gauge_profile ORDER BY ALL"):
        assert there.query(sql).equals(here.query(sql))
    assert there.comparison.n_sizes == here.comparison.n_sizes
    assert open_store(address, verify=True).comparison.n_hashes == here.comparison.n_files
    assert data_hash(there.sources[0]) == data_hash(published)


def test_a_query_asks_for_the_columns_and_models_that_it_reads(published, opened):
    store = opened
    asked = store.sources[0].remote
    before = asked.n_bytes
    store.query(OF_ONE)
    (path,) = (published / "residual_update").iterdir()
    assert 0 < asked.n_bytes - before < path.stat().st_size / 3
    before = asked.n_bytes
    store.query("SELECT count(*) FROM residual_norm")  # the ends of the files say it
    assert asked.n_bytes == before


@pytest.mark.parametrize(
    "sql",
    [
        "FROM 'memory://opened/README.md'",
        "FROM read_parquet('memory://opened/run/*.parquet')",
        "FROM read_text('https://127.0.0.1/x')",
        "FROM read_text('store://memory://opened/README.md')",
        "COPY (SELECT 1) TO 'memory://opened/x.csv'",
        "ATTACH 'memory://opened/x.duckdb'",
    ],
)
def test_no_query_reaches_another_address_or_writes(opened, sql):
    store = opened
    with pytest.raises(QueryError):
        store.query(sql)
    result = []
    with suppress(duckdb.Error):  # past the check the engine refuses, or finds no such file
        result = store.connection.execute(sql).fetchall()
    assert result == []
    assert not fsspec.filesystem("memory").exists("/opened/x.csv")


def test_what_is_no_published_store_is_refused(published, address, capsys):
    files = fsspec.filesystem("memory")
    with pytest.raises(UnreachableError, match=r"croissant\.json must come over the network"):
        open_store("memory://elsewhere")
    with pytest.raises(StoreError, match="of a kind that fsspec reads"):
        open_store("nothing://of/the/kind")
    assert main(["--data", "memory://elsewhere", "sql", "SELECT 1"]) == 4
    assert "collect publish" in capsys.readouterr().err
    store = open_store(address)
    (path,) = files.glob("/streams/attention/*.parquet")
    held = files.cat_file(path)
    files.rm(path)
    store.sources[0].remote._ends.clear()
    with pytest.raises(UnreachableError, match="it is not there"):
        store.query("SELECT sum(mass) FROM raw.attention")
    files.pipe(path, held)
    with pytest.raises(QueryError, match="no_such_column"):  # what failed before is no answer to it
        store.query("SELECT no_such_column FROM raw.attention")
    assert store.query("SELECT sum(mass) > 0 AS is_back FROM raw.attention")["is_back"].item()
    files.pipe("/streams/croissant.json", b"{}")
    with pytest.raises(StoreError, match="must list the files of a store"):
        open_store(address)


@pytest.mark.parametrize(
    ("place", "kind", "sentence"),
    [
        ("dir:///tmp", StoreError, "needs to be told more than an address"),
        ("zip:///tmp/x.zip", StoreError, "archive stands after ::"),
        ("zip://::/tmp/no-such.zip", StoreError, "No such file"),
        ("ftp://", StoreError, "must name a place after ://"),
        ("ftp://127.0.0.1:9/x", UnreachableError, "could not be reached"),
    ],
)
def test_an_address_that_leads_to_no_files_is_refused_in_one_sentence(place, kind, sentence):
    with pytest.raises(kind, match=sentence):
        open_store(place)


def test_a_store_in_an_archive_is_read_and_other_bytes_than_listed_are_refused(
    published, tmp_path, address
):
    archive = shutil.make_archive(str(tmp_path / "streams"), "zip", published)
    assert (
        open_store(f"zip://::{archive}").query(OF_ONE).equals(open_store(published).query(OF_ONE))
    )
    files = fsspec.filesystem("memory")
    (path,) = files.glob("/streams/attention/*.parquet")
    files.pipe(path, files.cat_file(path)[:-50_000])
    with pytest.raises(UnreachableError, match="must give the bytes asked for"):
        open_store(address)


def test_an_address_is_no_path_and_a_missing_package_is_named(monkeypatch, capsys):
    def missing(_, **_how):
        raise ImportError("HTTPFileSystem requires aiohttp to be installed")

    monkeypatch.setattr("fsspec.core.url_to_fs", missing)
    assert main(["--data", "https://example.org/x", "sql", "SELECT 1"]) == 3
    printed = capsys.readouterr().err
    assert "requires aiohttp" in printed
    assert "thermoscope[remote]" in printed
    assert remote.is_address("https://example.org/x")
    assert not remote.is_address("data/sample")
    assert not remote.is_address(Path("https://example.org/x"))


class Server(ThreadingHTTPServer):
    """A web server that knows ranges, lists nothing, and counts what it sends."""

    root: Path
    elsewhere = ""
    knows_ranges = True
    n_bytes = 0

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self):
        if self.server.elsewhere:
            self.send_response(302)
            self.send_header("Location", f"{self.server.elsewhere}{self.path}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        path = self.server.root / unquote(self.path).lstrip("/")
        if not path.is_file():
            self.send_error(404)
            return
        content, asked = path.read_bytes(), self.headers.get("Range")
        result = re.fullmatch(r"bytes=(\d+)-(\d+)", asked or "")
        if result and self.server.knows_ranges:
            content = content[int(result[1]) : int(result[2]) + 1]
        self.send_response(206 if result and self.server.knows_ranges else 200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        self.server.n_bytes += len(content)

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def server(published):
    pytest.importorskip("aiohttp", reason="the package of the extra [remote] is not installed")
    with Server(("127.0.0.1", 0), Handler) as made:
        made.root = published
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


def test_a_store_on_a_web_server_sends_what_is_read(published, server):
    whole = sum(path.stat().st_size for path in published.rglob("*.parquet"))
    store = open_store(server.address)
    opening = server.n_bytes
    assert store.query(OF_ONE).equals(open_store(published).query(OF_ONE))
    assert server.n_bytes == store.sources[0].remote.n_bytes
    assert server.n_bytes - opening < whole / 8


def _is_of(held, address):
    # `isinstance` would ask every object in the process for its class, and wake lazy ones.
    return type(held) is remote.Remote and held.address == address


def test_a_server_that_is_gone_or_knows_no_ranges_is_refused(server):
    server.knows_ranges = False
    with pytest.raises(UnreachableError, match="must give the bytes asked for"):
        open_store(server.address)
    gc.collect()
    # What outlives a refusal keeps the engine, which tells a terminal of it when the process ends.
    assert [held for held in gc.get_objects() if _is_of(held, server.address)] == []
    with pytest.raises(UnreachableError, match="it is not there"):
        open_store(f"{server.address}/elsewhere")
    with pytest.raises(UnreachableError, match="must come over the network"):
        open_store("http://127.0.0.1:9")


def test_files_that_another_host_sends_are_told_of(server, capsys):
    with Server(("127.0.0.1", 0), Handler) as other:
        other.elsewhere = server.address.replace("127.0.0.1", "localhost")
        threading.Thread(target=other.serve_forever, daemon=True).start()
        store = open_store(other.address)
        assert store.query(OF_ONE).equals(open_store(server.address).query(OF_ONE))
        other.shutdown()
    said = capsys.readouterr().err
    assert said.count("note:") == 1
    assert f"localhost:{server.server_address[1]}" in said


def test_nobody_is_told_to_delete_what_lies_on_a_server(server, published, tmp_path):
    copy = Path(shutil.copytree(published, tmp_path / "copy"))
    run_file = next((copy / "run").glob("*.parquet"))
    run_file.write_bytes(b"PAR1" + bytes(run_file.stat().st_size - 8) + b"PAR1")
    server.root = copy
    with pytest.raises(StoreError, match="cannot be read") as refused:
        open_store(server.address)
    assert "elete" not in refused.value.hint
    assert "published" in refused.value.hint


def test_a_certificate_that_is_not_trusted_is_named(server, monkeypatch):
    reached = remote.Remote(server.address)

    def refuse(*_given, **_more):
        raise OSError("Cannot connect: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed")

    monkeypatch.setattr(type(reached._files), "cat_file", refuse)
    with pytest.raises(UnreachableError, match="CERTIFICATE_VERIFY_FAILED") as refused:
        remote.Remote(server.address)
    assert "certificate" in refused.value.hint
