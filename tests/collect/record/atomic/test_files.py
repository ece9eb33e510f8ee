"""Files complete or absent: what killed processes leave, full disks, signals."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from collect.record.atomic.files import write_atomically

ROOT = Path(__file__).parents[4]
KILLED = """
import os, signal, sys
from pathlib import Path
from collect.record.atomic.files import write_atomically

def write(temporary):
    temporary.write_text("half")
    temporary.with_name(temporary.name + ".wal").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)

write_atomically(Path(sys.argv[1]), write)
"""
ENDED = """
import os, sys, time
from pathlib import Path
from collect.commands import handlers
from collect.record.atomic.files import write_atomically

def write(temporary):
    temporary.write_text("half")
    print("writing", flush=True)
    time.sleep(60)

target = Path(os.environ["TARGET"])
handlers.codebook = lambda options: write_atomically(target, write) or 0
import runpy
runpy.run_module("collect", run_name="__main__")
"""


def text(path):
    path.write_text("whole", encoding="utf-8")


def names(directory):
    return {path.name for path in directory.iterdir()}


def test_what_a_killed_process_left_is_removed_at_the_next_write(tmp_path):
    path = tmp_path / "all.duckdb"
    process = subprocess.run([sys.executable, "-c", KILLED, path], cwd=ROOT, check=False)
    assert process.returncode == -signal.SIGKILL
    assert len(names(tmp_path)) == 2
    write_atomically(path, text)
    assert names(tmp_path) == {"all.duckdb"}


def test_files_of_living_processes_and_of_other_machines_are_left_alone(tmp_path):
    kept = {
        f".a.csv.{os.getppid()}.tmp",  # a process that runs
        ".a.csv.12345678901234567890.tmp",  # another machine
        ".b.csv.999999999.tmp",  # another file
        ".a.csv.tmp",
    }
    for name in {*kept, ".a.csv.999999999.tmp"}:
        (tmp_path / name).write_text("half", encoding="utf-8")
    write_atomically(tmp_path / "a.csv", text)
    assert names(tmp_path) == {*kept, "a.csv"}


@contextmanager
def writing(tmp_path, **how):
    """A command in the middle of its writing."""
    with subprocess.Popen(
        [sys.executable, "-c", ENDED, "codebook"],
        cwd=ROOT,
        env={**os.environ, "TARGET": str(tmp_path / "a.md")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **how,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        time.sleep(0.1)
        yield process


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_end_is_an_interruption(tmp_path, ending):
    def from_a_terminal():  # whatever the tests themselves were started by
        signal.signal(signal.SIGHUP, signal.SIG_DFL)

    with writing(tmp_path, preexec_fn=from_a_terminal) as process:
        process.send_signal(ending)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error.startswith("error: interrupted\n")
    assert names(tmp_path) == set()


def test_a_terminal_that_closes_ends_nothing_that_was_started_to_go_on(tmp_path):
    def as_nohup_does():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    with writing(tmp_path, preexec_fn=as_nohup_does) as process:
        process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        assert process.poll() is None
        process.terminate()
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert names(tmp_path) == set()
