"""Locks: one holder at a time, gone with its process, no file left behind."""

import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest

from collect.errors import OutputError
from collect.record.atomic import locks

#: Not a fork of this process: it has threads of other libraries by now, and could hang or crash.
SPAWN = multiprocessing.get_context("spawn")


def hold(out, pipe):
    with locks.held(out, "a unit") as is_held:
        pipe.send(is_held)
        pipe.poll(100)


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the lock until something is sent to it."""
    here, there = SPAWN.Pipe()
    process = SPAWN.Process(target=hold, args=(tmp_path, there))
    process.start()
    assert here.poll(100)
    assert here.recv()
    yield process, here
    if process.is_alive():
        here.send("end")
    process.join(100)


def test_a_lock_leaves_nothing_behind(out):
    with locks.held(out, "a unit") as is_held:
        assert is_held
        assert (out / ".locks" / "a unit.lock").is_file()
    assert list(out.iterdir()) == []


@pytest.mark.slow
def test_a_second_process_is_turned_away_and_then_let_in(tmp_path, holder):
    _, pipe = holder
    with locks.held(tmp_path, "a unit") as is_held:
        assert not is_held
    assert locks.is_held_elsewhere(tmp_path, "a unit")
    assert not locks.is_held_elsewhere(tmp_path, "another")
    pipe.send("end")
    with locks.held(tmp_path, "a unit", wait=True) as is_held:
        assert is_held
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_lock_ends_with_a_process_that_is_killed(tmp_path, holder):
    process, _ = holder
    os.kill(process.pid, signal.SIGKILL)
    process.join(100)
    assert (tmp_path / ".locks" / "a unit.lock").is_file()
    assert not locks.is_held_elsewhere(tmp_path, "a unit")
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_locks_is_refused(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", refuse)
    with (
        pytest.raises(OutputError, match=r"must grant locks; .* \(Operation not supported\)"),
        locks.held(tmp_path, "a unit"),
    ):
        pass


def test_a_directory_that_was_removed_and_made_again_in_between_is_taken(tmp_path, monkeypatch):
    made = Path.mkdir
    errors = [FileExistsError(17, "File exists")]

    def mkdir(path, *arguments, **options):
        made(path, *arguments, **options)
        if errors:
            raise errors.pop()

    monkeypatch.setattr(Path, "mkdir", mkdir)
    with locks.held(tmp_path, "a") as is_held:
        assert (is_held, errors) == (True, [])


def test_a_file_in_the_place_of_the_directory_is_refused(tmp_path):
    (tmp_path / ".locks").write_text("")
    with pytest.raises(OutputError, match="must grant locks"), locks.held(tmp_path, "a"):
        pass


@pytest.mark.slow
def test_never_two_at_once_among_many(tmp_path):
    start = SPAWN.Barrier(3)
    processes = [SPAWN.Process(target=count_up, args=(tmp_path, 40, start)) for _ in range(3)]
    (tmp_path / "count").write_text("0")
    for process in processes:
        process.start()
    for process in processes:
        process.join(100)
        assert process.exitcode == 0
    assert (tmp_path / "count").read_text() == "120"
    assert not (tmp_path / ".locks").exists()


def count_up(out, n_times, start):
    start.wait(100)
    for _ in range(n_times):
        with locks.held(out, "count", wait=True):
            count = int((out / "count").read_text())
            time.sleep(0.0005)
            (out / "count").write_text(str(count + 1))
