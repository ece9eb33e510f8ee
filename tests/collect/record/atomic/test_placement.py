"""Finished files put into their places: wholly, or not at all, whatever asks the program to end."""

import errno
import os
import signal
import tempfile
from pathlib import Path

import pytest

from collect.errors import OutputError
from collect.process.requests import temporary_folder, uninterrupted
from collect.record.atomic import locks
from collect.record.atomic.directory import complete_or_absent
from collect.record.atomic.files import check_open, text_writing, write_together
from tests.collect.record.written import close, files, fill_disk

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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
        with uninterrupted():
            with uninterrupted():
                signal.raise_signal(ending)
            done.append("after the inner block")
        done.append("after the outer block")

    with pytest.raises(KeyboardInterrupt):
        act()
    assert done == ["after the inner block"]
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(ending)


@pytest.mark.parametrize("name", ["mkdir", "rmdir"])
def test_an_interrupted_process_leaves_no_temporary_folder(name, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    original, asked = getattr(os, name), []

    def asking(*args, **how):
        if not asked:
            asked.append(signal.raise_signal(signal.SIGTERM))
        return original(*args, **how)

    monkeypatch.setattr(os, name, asking)
    with pytest.raises(KeyboardInterrupt), temporary_folder("one-") as folder:
        (folder / "page").write_text("page", encoding="utf-8")
    assert asked == [None]
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_process_leaves_no_lock(tmp_path, monkeypatch):
    unlink = Path.unlink

    def asked(path, **how):
        signal.raise_signal(signal.SIGTERM)
        unlink(path, **how)

    with pytest.raises(KeyboardInterrupt), locks.held(tmp_path, "unit", wait=True):
        monkeypatch.setattr(Path, "unlink", asked)
    monkeypatch.undo()
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


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (Exception("File too large (os error 27)"), OutputError),
        (OSError(errno.EFBIG, os.strerror(errno.EFBIG)), OutputError),
        (RuntimeError("shapes differ"), RuntimeError),
    ],
)
def test_a_library_that_has_no_room_for_a_checkpoint_is_understood(error, expected, tmp_path):
    with pytest.raises(expected) as caught, complete_or_absent(tmp_path / "model"):
        raise error
    assert str(error).partition("] ")[2] in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_may_not_change_is_found_before_anything_does(tmp_path, monkeypatch):
    close(monkeypatch, tmp_path / "b")
    with pytest.raises(OutputError, match="b must be writable; files in it may not be changed"):
        check_open([tmp_path / "b", tmp_path / "a"])
    (tmp_path / "c").write_text("a file", encoding="utf-8")
    with pytest.raises(OutputError, match="c must be writable; File exists"):
        check_open([tmp_path / "c"])


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
