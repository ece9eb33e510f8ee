"""Kill runs at many moments, resume them, and compare with a run left alone.

    python tests/collect/job/killed_runs.py --runs 200

Each run is a forked process that is killed with SIGKILL: at a random time, or, with --events, at
the start or end of the renaming of a file, counted from 1. Another process then resumes it. What
is left must be, file by file, what an undisturbed run wrote; only the times in table ``run`` may
differ. What was found is printed as JSON; the exit code is 1 if a run differed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from collect.job.run import run

TIMES = ("started_at", "duration_s")

#: What a run file says of times, and the hash that covers them.
MARKS = (b"times", b"run_sha256")


def forked(act: Callable[[], object]) -> int:
    """Start a process that does something, and return its number."""
    child = os.fork()
    if child:
        return child
    try:
        act()
        os._exit(0)
    except BaseException as error:  # whatever it is, the parent must hear of it
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)


def ended(child: int) -> int:
    """Wait for a process and return its status."""
    return os.waitpid(child, 0)[1]


def killed_after(seconds: float, act: Callable[[], object]) -> bool:
    """Run in a process that is killed after some time; return whether it was, before its end."""
    child = forked(act)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(ended(child))


def killed_at(event: int, act: Callable[[], object]) -> bool:
    """Run in a process that kills itself at one side of a renaming, counted from 1."""
    return os.WIFSIGNALED(ended(forked(lambda: (count_down(event), act()))))


def count_down(event: int) -> None:
    """Let this process kill itself before or after it renames a file."""
    replace, seen = Path.replace, 0

    def happen() -> None:
        nonlocal seen
        seen += 1
        if seen == event:
            os.kill(os.getpid(), signal.SIGKILL)

    def replace_and_count(path: Path, target: Path) -> Path:
        happen()
        moved = replace(path, target)
        happen()
        return moved

    Path.replace = replace_and_count


def contents(out: Path) -> dict[str, str]:
    """Return the hash of every file, of run files the hash of their rows less the times."""
    result = {}
    for path in sorted(path for path in out.rglob("*") if path.is_file()):
        content = path.read_bytes()
        if path.parent.name == "run" and path.suffix == ".parquet":
            rows = pq.ParquetFile(path).read().drop_columns(list(TIMES))
            printed = {key: text for key, text in rows.schema.metadata.items() if key not in MARKS}
            content = repr((rows.to_pylist(), sorted(printed.items()))).encode()
        result[str(path.relative_to(out))] = hashlib.sha256(content).hexdigest()
    return result


def state_of(out: Path) -> str:
    """Return how far a killed run had come: complete units, and what lay about."""
    n_units = len(list(out.glob("run/*.parquet")))
    about = ["unfinished unit"] if list(out.glob(".unfinished/*")) else []
    return ", ".join([f"{n_units} units complete", *about])


def differences(out: Path, whole: dict[str, str]) -> list[str]:
    """Return the files in which an output differs from the undisturbed one."""
    result = contents(out)
    return sorted(
        name for name in result.keys() | whole.keys() if result.get(name) != whole.get(name)
    )


def main(arguments: argparse.Namespace, directory: Path) -> int:
    """Run undisturbed once, then kill and resume as often as asked; return the exit code."""
    torch.set_num_threads(1)
    checkpoint, prompts = arguments.checkpoint, arguments.prompts

    def measure(out: Path) -> None:
        run([checkpoint], prompts, out, batch_size=2, quantities=["all"], quiet=True)

    undisturbed = directory / "undisturbed"
    measure(undisturbed)
    start = time.perf_counter()
    assert ended(forked(partial(measure, directory / "timed"))) == 0
    duration = time.perf_counter() - start
    whole = contents(undisturbed)
    assert contents(directory / "timed") == whole
    chance = random.Random(arguments.seed)
    kills = [partial(killed_at, event) for event in arguments.events]
    kills += [partial(killed_after, chance.uniform(0, duration)) for _ in range(arguments.runs)]
    faults, states = [], Counter()
    for number, kill in enumerate(kills):
        out = directory / str(number)
        was_killed = kill(partial(measure, out))
        states[state_of(out) if was_killed else "ended before it was killed"] += 1
        broken = [mark for mark in out.glob("run/*.parquet") if not is_whole(mark, out, whole)]
        status = ended(forked(partial(measure, out)))
        wrong = differences(out, whole)
        if status or wrong or broken:
            faults.append({"run": number, "status": status, "differ": wrong, "marked": len(broken)})
        shutil.rmtree(out)
    report = {
        "runs": len(kills),
        "undisturbed_s": round(duration, 2),
        "files": len(whole),
        "found_when_killed": dict(sorted(states.items())),
        "faults": faults,
    }
    print(json.dumps(report, indent=2))
    return 1 if faults else 0


def is_whole(mark: Path, out: Path, whole: dict[str, str]) -> bool:
    """Return whether every file that a mark lists is there as the undisturbed run wrote it."""
    listed = json.loads(pq.read_metadata(mark).metadata[b"rows"])
    return all(
        (out / name).is_file()
        and hashlib.sha256((out / name).read_bytes()).hexdigest() == whole[name]
        for name in listed
    )


def tiny_checkpoint(directory: Path) -> str:
    """Save a random model of the tests and return its directory."""
    from tests.collect.conftest import tiny_model, tiny_tokenizer

    tiny_model("llama").save_pretrained(directory)
    tiny_tokenizer().save_pretrained(directory)
    return str(directory)


def options() -> argparse.Namespace:
    """Return what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=0, help="kills at random times (0)")
    parser.add_argument(
        "--events", type=int, nargs="*", default=[], help="kills at these renamings"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the random times (0)")
    parser.add_argument("--checkpoint", help="model to measure; a random one of the tests")
    parser.add_argument("--prompts", nargs="+", default=["E1_4model_and_mistral"])
    return parser.parse_args()


if __name__ == "__main__":
    given = options()
    with tempfile.TemporaryDirectory() as room:
        given.checkpoint = given.checkpoint or tiny_checkpoint(Path(room) / "model")
        sys.exit(main(given, Path(room)))
