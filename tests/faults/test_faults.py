"""A small seeded share of the kills and the other faults; the whole is a long proof."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.commands import COMMANDS

ROOT = Path(__file__).parents[2]


def disturbed(*arguments):
    """Return what the program says, in a process that starts no threads before it forks."""
    command = [sys.executable, "-m", "tests.faults", "--seed", "3", *arguments]
    how = {"capture_output": True, "text": True, "env": {**os.environ, "PYTHONPATH": str(ROOT)}}
    return subprocess.run(command, cwd=ROOT, check=False, **how)


#: How often each kind of fault comes, unless a test says otherwise.
FEW = ["--pairs", "1", "--starved", "1", "--full", "1", "--interrupts", "1"]


def test_verdicts_and_kept_results_are_complete_or_as_before():
    commands = ("--only", "analysis claims --write", "analysis report's cache")
    done = disturbed("--kills", "3", *FEW, *commands)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("killed") >= 2


@pytest.mark.slow
def test_every_command_succeeds_undisturbed_and_none_loses_anything_where_files_cannot_grow():
    none = ["--kills", "0", "--pairs", "0", "--starved", "0", "--interrupts", "0"]
    done = disturbed(*none, "--full", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" events, ") == len(COMMANDS)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["collect train", "collect run"])
def test_a_checkpoint_or_a_unit_is_complete_or_absent(command):
    done = disturbed("--kills", "3", *FEW, "--starved", "0", "--only", command)
    assert done.returncode == 0, done.stdout + done.stderr
