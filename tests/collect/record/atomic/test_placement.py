"""Finished files put into their places: wholly, or not at all, whatever asks the program to end."""

from __future__ import annotations

import errno
import os
import signal
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from collect.errors import OutputError
from collect.record import commit
from collect.record.atomic import locks, placement
from collect.record.atomic.directory import complete_or_absent
from collect.record.atomic.files import text_writing, write_together
from tests.collect.record.written import close, files, fill_disk

ENDINGS = (signal.SIGINT, signal.SIGTERM)


@pytest.fixture(autouse=True)
def asked_as_programs_are(monkeypatch):
    """A request to end raises here what it raises in the programs."""
    before = {ending: signal.signal(ending, signal.default_int_handler) for ending in ENDINGS}
    yield
    for ending, handler in before.items():
        signal.signal(ending, handler)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_request_to_end_waits_until_the_block_has_ended(ending):
    done = []

    def act():
        with placement.uninterrupted():
            with placement.uninterrupted():
                signal.raise_signal(ending)
            done.append("after the inner block")
        done.append("after the outer block")

    with pytest.raises(KeyboardInterrupt):
        act()
    assert done == ["after the inner block"]
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(ending)


def test_a_request_to_end_while_handlers_are_put_back_leaves_none_behind(monkeypatch):
    put, before = signal.signal, [signal.getsignal(ending) for ending in ENDINGS]

    def asked(ending, handler):
        put(ending, handler)
        if handler in before:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), placement.uninterrupted():
        monkeypatch.setattr("signal.signal", asked)
    monkeypatch.undo()
    assert [signal.getsignal(ending) for ending in ENDINGS] == before


def test_a_thread_that_nothing_interrupts_changes_no_handler():
    found = []

    def act():
        with placement.uninterrupted():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=act)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]


def test_an_interrupted_process_leaves_no_lock(tmp_path, monkeypatch):
    unlink = Path.unlink

    def asked(path, **how):
        signal.raise_signal(signal.SIGTERM)
        unlink(path, **how)

    with pytest.raises(KeyboardInterrupt), locks.held(tmp_path, "unit", wait=True):
        monkeypatch.setattr(Path, "unlink", asked)
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_is_interrupted_before_it_has_a_lock_leaves_none(tmp_path, monkeypatch):
    def asked(_lock):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("filelock.FileLock.acquire", asked)
    with pytest.raises(KeyboardInterrupt), locks.held(tmp_path, "unit", wait=True):
        pass
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_process_leaves_the_old_checkpoint_or_the_new_one(tmp_path, monkeypatch):
    place, rename = tmp_path / "model", Path.rename
    place.mkdir()

    def asked(path, target):
        signal.raise_signal(signal.SIGINT)
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", asked)
    with pytest.raises(KeyboardInterrupt), complete_or_absent(place) as directory:
        (directory / "weights").write_text("new", encoding="utf-8")
    monkeypatch.undo()
    assert (place / "weights").read_text(encoding="utf-8") == "new"


def test_where_a_new_checkpoint_cannot_be_put_the_old_one_stays(tmp_path, monkeypatch):
    place, rename = tmp_path / "model", Path.rename
    place.mkdir()
    (place / "weights").write_text("old", encoding="utf-8")

    def full(path, target):
        if path.suffix == ".tmp":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", full)
    refused = pytest.raises(OutputError, match="model must be writable; No space left")
    with refused, complete_or_absent(place) as directory:
        (directory / "weights").write_text("new", encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert (place / "weights").read_text(encoding="utf-8") == "old"


def test_a_directory_that_may_not_change_is_found_before_anything_does(tmp_path, monkeypatch):
    close(monkeypatch, tmp_path / "b")
    with pytest.raises(OutputError, match="b must be writable; files in it may not be changed"):
        placement.check_open([tmp_path / "b", tmp_path / "a"])
    (tmp_path / "c").write_text("a file", encoding="utf-8")
    with pytest.raises(OutputError, match="c must be writable; File exists"):
        placement.check_open([tmp_path / "c"])


def test_of_files_written_together_none_changes_where_one_is_a_directory(tmp_path):
    (tmp_path / "b").mkdir()
    write_together({tmp_path / "a": text_writing("old")})
    with pytest.raises(OutputError, match="b must be writable; Is a directory"):
        write_together({tmp_path / name: text_writing("new") for name in ("a", "b")})
    assert (tmp_path / "a").read_text(encoding="utf-8") == "old"
    assert files(tmp_path) == ["a"]


def test_a_directory_that_does_not_let_itself_be_asked_is_found_before_anything_changes(
    tmp_path, monkeypatch
):
    unit, out = SimpleNamespace(stem="m@p", replaces=()), tmp_path / "out"
    for table in ("run", "token_geometry"):
        (out / table).mkdir(parents=True)
        (out / table / "m@p.parquet").write_text("old", encoding="utf-8")
    exists, closed = Path.exists, out / "token_geometry"

    def asked(path):
        if path.parent == closed:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return exists(path)

    monkeypatch.setattr(Path, "exists", asked)
    close(monkeypatch, closed)
    with pytest.raises(OutputError, match="token_geometry must be writable; files in it may not"):
        commit._move(unit, tmp_path, ["run"], out, beside={})
    monkeypatch.undo()
    assert files(out) == ["run/m@p.parquet", "token_geometry/m@p.parquet"]


@pytest.mark.parametrize("n_files", [0, 1])
def test_of_files_written_together_none_changes_where_one_has_no_room(
    tmp_path, monkeypatch, n_files
):
    places = [tmp_path / name for name in ("a", "b")]
    write_together({place: text_writing("old") for place in places})
    fill_disk(monkeypatch, n_files)
    sentence = f"{places[n_files]} must be writable; No space left on device"
    with pytest.raises(OutputError, match=sentence):
        write_together({place: text_writing("new") for place in places})
    assert {name: (tmp_path / name).read_text(encoding="utf-8") for name in files(tmp_path)} == {
        "a": "old",
        "b": "old",
    }
