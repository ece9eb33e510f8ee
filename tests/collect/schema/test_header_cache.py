"""Headers that are kept between processes: taken for files that have not changed, and no other."""

import os

import pytest

from analysis.store import deferred, open_store
from analysis.store.listed_files import ListedFiles
from analysis.tidy.errors import StoreError
from collect.process import shipped
from collect.schema.headers import cache, reading
from tests.collect.record.written import copy_sample, flip

STEM = "thermoscope--gpt2-l4-adamw"
UNITS = (STEM, f"{STEM}@A_grand_unified")
GAINS = "SELECT * FROM gain_by_model ORDER BY ALL"


@pytest.fixture
def unit(tmp_path, monkeypatch):
    """A store with a cache, though it has few files and they were written a moment ago."""
    monkeypatch.setattr(shipped, "results", lambda: tmp_path / "cache")
    monkeypatch.setattr(cache, "MANY", 1)
    monkeypatch.setattr(cache, "SETTLED", -60_000_000_000)
    return copy_sample(tmp_path / "unit", *UNITS)


@pytest.fixture
def read(monkeypatch):
    """The files whose headers were read."""
    paths = []
    original = reading.opened

    def opened(path):
        paths.append(path)
        return original(path)

    monkeypatch.setattr(reading, "opened", opened)
    return paths


def of_cache(tmp_path):
    return list((tmp_path / "cache" / "headers").iterdir())


def test_a_store_is_opened_again_without_a_header_being_read(unit, read, tmp_path):
    first = open_store(unit)
    n_files = len(read)
    assert n_files == len(list(unit.glob("*/*.parquet")))
    again = open_store(unit)
    assert len(read) == n_files
    assert again.comparison == first.comparison
    for table in ("run", "model", "conformance", "prompt", "residual_norm"):
        rows = f"SELECT * FROM raw.{table} ORDER BY ALL"
        assert again.query(rows).equals(first.query(rows)), table
    assert again.query(GAINS).equals(first.query(GAINS))
    assert [path.suffix for path in of_cache(tmp_path)] == [".arrow"]


@pytest.mark.parametrize("table", ["run", "model", "prompt", "residual_norm"])
def test_a_file_changed_in_place_is_read_though_size_and_time_are_the_same(unit, table):
    open_store(unit)
    path = next((unit / table).glob("*.parquet"))
    before = path.stat()
    flip(path, before.st_size - 8)  # the length of its footer
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    with pytest.raises(StoreError, match=path.name):
        open_store(unit)


def test_a_file_put_in_the_place_of_another_is_read(unit, read):
    open_store(unit)
    path = next((unit / "residual_norm").glob("*.parquet"))
    state, content = path.stat(), path.read_bytes()
    beside = path.with_suffix(".new")
    beside.write_bytes(content)
    os.utime(beside, ns=(state.st_atime_ns, state.st_mtime_ns))
    beside.replace(path)
    read.clear()
    open_store(unit)
    assert read == [path]


def test_a_file_changed_a_moment_before_is_read_again(unit, read, monkeypatch):
    monkeypatch.setattr(cache, "SETTLED", 60_000_000_000)
    open_store(unit)
    n_files = len(read)
    open_store(unit)
    assert len(read) == 2 * n_files


@pytest.mark.parametrize("content", [b"", b"no Arrow", None])
def test_a_damaged_cache_is_as_none_and_is_written_again(unit, read, tmp_path, content):
    first = open_store(unit)
    (place,) = of_cache(tmp_path)
    whole = place.read_bytes()
    place.write_bytes(whole[: len(whole) // 2] if content is None else content)
    read.clear()
    assert open_store(unit).comparison == first.comparison
    assert len(read) == len(list(unit.glob("*/*.parquet")))
    read.clear()
    open_store(unit)
    assert not read


def test_a_cache_that_cannot_be_written_is_none(unit, tmp_path):
    (tmp_path / "cache").write_text("a file where a folder should be")
    assert open_store(unit).comparison == open_store(unit).comparison


def test_many_small_files_are_opened_for_the_first_query_alone(unit, monkeypatch):
    expected = open_store(unit).query(GAINS)
    assert len(expected)
    opened = []
    original = ListedFiles.open

    def count(self, path, *args, **options):
        opened.append(path)
        return original(self, path, *args, **options)

    monkeypatch.setattr(ListedFiles, "open", count)
    monkeypatch.setattr(deferred, "_MANY_FILES", 1)
    store = open_store(unit)
    assert store.query(GAINS).equals(expected)
    assert opened
    opened.clear()
    assert store.query(GAINS).equals(expected)
    assert not opened
