"""The trials of one command: disturbed in every way, and what it left held to before and after."""

from __future__ import annotations

import json
import resource
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from collect.schema import MEASURED
from tests.faults.commands import BEFORE, COMMANDS, Writing
from tests.faults.processes import (
    ENDINGS,
    asked,
    contents,
    counting,
    ended,
    interruptible,
    kill_at,
    killed_after,
    limited,
    started,
    strays,
)

#: Exit codes of a success and of a refusal that the help documents.
DOCUMENTED = (0, 2, 5, 71)


@dataclass(frozen=True)
class Whole:
    """A command undisturbed: what lay there before and after, its events and its time [s]."""

    before: dict[str, str]
    after: dict[str, str]
    n_events: int
    #: The last quarter of those that rename a file: finished files are put into their places.
    placements: list[int]
    seconds: float


class Trials:
    """The trials of one command, from a folder with what it is given, in a room of their own."""

    def __init__(self, name: str, given: Path, room: Path) -> None:
        self.name, self.given, self.room = name, given, room
        self.writing: Writing = COMMANDS[name]
        self.found: Counter[str] = Counter()
        self.faults: list[str] = []
        self.said = room / "said.txt"
        self.whole = self._undisturbed()

    def _folder(self) -> Path:
        folder = self.room / "folder"
        shutil.rmtree(folder, ignore_errors=True)
        return self._filled(folder)

    def _filled(self, folder: Path) -> Path:
        shutil.copytree(self.given, folder, dirs_exist_ok=True)
        if self.name in BEFORE:
            place, text = BEFORE[self.name]
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_text(text, encoding="utf-8")
        return folder

    def _contents(self, folder: Path) -> dict[str, str]:
        found: dict[str, str] = asked(lambda: contents(folder), self.room / "answer.json")
        return found

    def _undisturbed(self) -> Whole:
        folder = self._folder()
        before, counted = self._contents(folder), self.room / "counted"

        def act() -> int:
            names: list[str] = []
            counting(folder, lambda _count, name: names.append(name))
            code = self.writing.act(folder)
            counted.write_text(json.dumps(names))
            return code

        start = time.perf_counter()
        code = ended(started(act, self.said))
        seconds = time.perf_counter() - start
        if code:
            raise RuntimeError(f"{self.name} must succeed undisturbed; {self.said.read_text()}")
        names = json.loads(counted.read_text())
        renamings = [place for place, name in enumerate(names, start=1) if name == "os.rename"]
        placements = renamings[-len(renamings) // 4 :]
        return Whole(before, self._contents(folder), len(names), placements, seconds)

    def _signalled(
        self, folder: Path, event: int, ending: signal.Signals = signal.SIGKILL
    ) -> Callable[[], int]:
        """Return what runs the command, and sends itself a signal at an event unless it is 0."""

        def act() -> int:
            if event:
                counting(folder, kill_at(event, ending))
            return self.writing.act(folder)

        return act

    def _end(
        self,
        child: int,
        rng: np.random.Generator,
        *,
        at_event: bool,
        ending: signal.Signals = signal.SIGKILL,
    ) -> int:
        """Wait for a process that ends itself at an event, or end it at a random time."""
        if at_event:
            return ended(child)
        return killed_after(child, float(rng.uniform(0, self.whole.seconds)), ending)

    def kill(self, rng: np.random.Generator, *, at_event: bool, at_placement: bool = False) -> None:
        """Kill the command once, look at what it left, and let it run again."""
        folder, event = self._folder(), int(rng.integers(1, self.whole.n_events + 1))
        if at_placement and self.whole.placements:
            event = int(rng.choice(self.whole.placements))

        child = started(self._signalled(folder, event if at_event else 0), self.said)
        code = self._end(child, rng, at_event=at_event)
        self.found["killed" if code == -9 else "ended before the kill"] += 1
        moment = f"killed at event {event}" if at_event else "killed at a random time"
        self._look(folder, moment, may_vanish=self.writing.may_vanish)
        self._again(folder, moment)

    def pair(self, rng: np.random.Generator) -> None:
        """Run the command twice at once."""
        folder = self._folder()
        first = started(lambda: self.writing.act(folder), self.said)
        time.sleep(float(rng.uniform(0, self.whole.seconds / 2)))
        second = started(lambda: self.writing.act(folder), self.room / "said2.txt")
        codes = [ended(first), ended(second)]
        words = self.said.read_text() + (self.room / "said2.txt").read_text()
        self.found["two at once: " + ", ".join(map(str, sorted(codes)))] += 1
        if 0 not in codes or any(code not in DOCUMENTED for code in codes):
            self.faults.append(f"two at once ended with {codes}: {words[-1500:]}")
        self._compare(folder, "two at once")

    def starve(self, kind: int, value: int, words: str) -> None:
        """Run the command with little of something."""
        folder = self._folder()

        def act() -> int:
            limited(kind, value if kind != resource.RLIMIT_AS else value + _addressed())
            return self.writing.act(folder)

        code = ended(started(act, self.said))
        said = self.said.read_text(errors="replace")
        if "thread-local data: ABORT" in said:  # glibc's own end of a process
            code = -6
        self.found[f"{words}: {'ended by a native library' if code < 0 else code}"] += 1
        if code >= 0 and (code not in DOCUMENTED or "Traceback" in said):
            self.faults.append(f"{words}: exit code {code}: {said[-1500:]}")
        self._look(folder, words)
        self._again(folder, words)

    def interrupt(self, rng: np.random.Generator, *, at_event: bool) -> None:
        """Ask the command once to end, from the keyboard or otherwise."""
        folder, event = self._folder(), int(rng.integers(1, self.whole.n_events + 1))
        ending = signal.Signals(rng.choice(ENDINGS))
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS)
        act = self._signalled(folder, event if at_event else 0, ending)
        child = started(interruptible(act), self.said)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDINGS)
        code = self._end(child, rng, at_event=at_event, ending=ending)
        moment = f"{ending.name} {f'at event {event}' if at_event else 'at a random time'}"
        self.found[f"{ending.name}: {code}"] += 1
        said = self.said.read_text(errors="replace")
        if code not in (0, 130) or "Traceback" in said or "ignored in" in said:
            self.faults.append(f"{moment}: exit code {code}: {said[-1500:]}")
        if left := [*strays(folder), *_orphans(folder / self.writing.out)]:
            self.faults.append(f"{moment}: left {left[:5]}")
        self._look(folder, moment, may_vanish=self.writing.may_vanish)
        self._again(folder, moment)

    def _look(self, folder: Path, moment: str, *, may_vanish: bool = False) -> None:
        """Hold what lies there to what lay there before and what lies there after."""
        found, out = self._contents(folder), folder / self.writing.out
        for name in asked(lambda: _lost(out), self.room / "answer.json"):
            self.faults.append(f"{moment}: {name} is listed by a run file and not there")
        places = set(found) | set(self.whole.before)
        for place in sorted(places):
            allowed = {self.whole.before.get(place), self.whole.after.get(place)}
            is_output = place.startswith(self.writing.out)
            if is_output and (may_vanish or place not in self.whole.before):
                allowed.add(None)
            is_stray = any(part.startswith(".") for part in Path(place).parts)
            if found.get(place) not in allowed and not (is_output and is_stray):
                self.faults.append(f"{moment}: {place} is neither as before nor as after")

    def _again(self, folder: Path, moment: str) -> None:
        code = ended(started(lambda: self.writing.act(folder), self.said))
        if code:
            self.faults.append(
                f"{moment}, again: exit code {code}: {self.said.read_text()[-1500:]}"
            )
        self._compare(folder, f"{moment}, again")

    def _compare(self, folder: Path, moment: str) -> None:
        found = self._contents(folder)
        left = strays(folder)
        wrong = [
            place
            for place in sorted({*found, *self.whole.after})
            if found.get(place) != self.whole.after.get(place) and place not in left
        ]
        if wrong or left:
            self.faults.append(f"{moment}: differ {wrong[:5]}, left {left[:5]}")


def _orphans(out: Path) -> list[str]:
    """Return the files in tables of measurements that no run file stands beside."""
    run_files = {path.name for path in out.glob("run/*.parquet")}
    return [
        f"{table}/{path.name}"
        for table in MEASURED
        for path in out.glob(f"{table}/*.parquet")
        if path.name not in run_files
    ]


def _lost(out: Path) -> list[str]:
    """Return the files that a run file lists and that are not there."""
    import pyarrow.parquet as pq

    marks = [pq.read_metadata(path).metadata for path in out.glob("run/*.parquet")]
    return [
        name for mark in marks for name in json.loads(mark[b"rows"]) if not (out / name).is_file()
    ]


def _addressed() -> int:
    """Return the memory that this process addresses [bytes]."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()
