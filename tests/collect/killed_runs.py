"""Kill a run at many moments; a script, started by ``test_run.py`` in a process of its own.

usage: killed_runs.py CHECKPOINT PROMPT_FILE DIRECTORY EVENT...

An event is the start of a forward pass, or either side of a rename. For each number EVENT a
forked process runs until its event of that number and kills itself with SIGKILL; a copy of
what it left is kept in DIRECTORY/<EVENT>/killed; another process then resumes in
DIRECTORY/<EVENT>/resumed. DIRECTORY/undisturbed has the same run left alone.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch

from collect import run as run_module


def forked(act: Callable[[], None]) -> int:
    """Run in a forked process and return its wait status."""
    child = os.fork()
    if child == 0:
        act()
        os._exit(0)
    return os.waitpid(child, 0)[1]


def kill_at(event: int) -> None:
    """Let this process kill itself at its event of that number, counted from 1."""
    seen = 0
    observe, replace = run_module.observe, Path.replace

    def happen() -> None:
        nonlocal seen
        seen += 1
        if seen == event:
            os.kill(os.getpid(), signal.SIGKILL)

    def observe_and_count(*arguments: object) -> object:
        happen()
        return observe(*arguments)

    def replace_and_count(path: Path, target: Path) -> Path:
        happen()
        moved = replace(path, target)
        happen()
        return moved

    run_module.observe = observe_and_count
    Path.replace = replace_and_count


def main(checkpoint: str, prompt_file: str, directory: Path, events: list[int]) -> None:
    """Run undisturbed once, then kill and resume once per event."""

    def run(out: Path) -> None:
        sets = [prompt_file, "E1_4model_and_mistral"]
        run_module.run([checkpoint], sets, out, batch_size=2, quiet=True)

    def run_until_killed(event: int) -> None:
        kill_at(event)
        run(directory / str(event) / "resumed")

    torch.set_num_threads(1)
    run(directory / "undisturbed")
    for event in events:
        status = forked(partial(run_until_killed, event))
        assert os.WIFSIGNALED(status), f"event {event} did not happen"
        out = directory / str(event) / "resumed"
        if out.is_dir():
            shutil.copytree(out, directory / str(event) / "killed")
        assert forked(partial(run, out)) == 0


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), [int(event) for event in sys.argv[4:]])
