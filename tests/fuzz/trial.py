"""One input tried: what came of it, and whether a file was lost or half-written."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import signal
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import numpy as np

from analysis.tidy.errors import AnalysisError
from collect.errors import CollectError

ANSWERED = "answered"
REFUSED = "refused"
LAST_RESORT = "last resort"
TRACEBACK = "traceback"
DAMAGE = "lost or half-written file"
UNCLEAR = "refusal that is not one sentence"
SLOW = "no end in time"

#: Every outcome; those after the first two are failures.
OUTCOMES = (ANSWERED, REFUSED, LAST_RESORT, TRACEBACK, DAMAGE, UNCLEAR, SLOW)

#: Exit codes that the help of both commands documents, except that of the last resort.
ANSWERS, REFUSALS, LAST = (0, 1, 7), (2, 3, 4, 5, 6), 70

#: An input may take this long, of the processor and by the clock [s]: beside other work the clock
#: alone would end an import half way, and spoil every input after it.
LIMIT, LIMIT_OF_CLOCK = 60, 900


@dataclass(frozen=True)
class Case:
    """An input and what is done with it.

    Attributes
    ----------
    shown
        The input, as a person would type or write it again.
    act
        Does it; returns an exit code and what was said on standard error, or raises.
    writes
        Names in the working folder that an answer may add or change.
    """

    shown: str
    act: Callable[[], tuple[int, str] | None]
    writes: tuple[str, ...] = ()


#: Draws a case; what it needs on disk is written into the folder.
Subject = Callable[[np.random.Generator, Path], Case]


@dataclass(frozen=True)
class Tried:
    """What came of one input; ``said`` is empty unless it failed."""

    outcome: str
    shown: str
    said: str = ""

    @property
    def failed(self) -> bool:
        """Whether this must not happen."""
        return self.outcome not in (ANSWERED, REFUSED)


class _TimeOutError(BaseException):
    """An input took longer than the limit; no handler of exceptions may hold it."""


def tried(subject: Subject, rng: np.random.Generator) -> Tried:
    """Return what comes of the input that a subject draws, in an empty folder of its own."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    here = Path.cwd()
    try:
        os.chdir(folder)
        case = subject(rng, folder)
        before = contents(folder)
        outcome, said = _outcome(case.act)
        damage = _damage(before, contents(folder), case.writes if outcome == ANSWERED else ())
        return Tried(DAMAGE, case.shown, damage) if damage else Tried(outcome, case.shown, said)
    finally:
        os.chdir(here)
        shutil.rmtree(folder, ignore_errors=True)


def contents(folder: Path) -> dict[str, str]:
    """Return the hash of every file under a folder, by its place."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _damage(before: dict[str, str], after: dict[str, str], writes: tuple[str, ...]) -> str:
    """Return in words which files changed that must not, or stayed behind half-written."""
    changed = [
        place
        for place in sorted({*before, *after})
        if before.get(place) != after.get(place)
        and (".tmp" in place or not place.startswith(writes or ("\0",)))
    ]
    return f"changed: {', '.join(changed)}" if changed else ""


def _outcome(act: Callable[[], tuple[int, str] | None]) -> tuple[str, str]:
    try:
        with _limited(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = act()
    except (AnalysisError, CollectError) as error:
        return _refusal(error.problem)
    except OSError as error:
        # Both commands turn this one into a sentence.
        if error.errno == errno.ENAMETOOLONG:
            return REFUSED, ""
        return LAST_RESORT, traceback.format_exc()
    except _TimeOutError:
        return SLOW, f"more than {LIMIT} s of the processor or {LIMIT_OF_CLOCK} s"
    except Exception:
        # What a command would end with, in its last resort.
        return LAST_RESORT, traceback.format_exc()
    return _ended(*answer) if answer else (ANSWERED, "")


def _ended(code: int, said: str) -> tuple[str, str]:
    """Return the outcome of a command by its exit code and what it said."""
    if "Traceback (most recent call last)" in said or code not in (*ANSWERS, *REFUSALS, LAST):
        return TRACEBACK, f"exit code {code}\n{said}"
    if code == LAST:
        return LAST_RESORT, said
    if code in ANSWERS:
        return ANSWERED, ""
    errors = [line for line in said.splitlines() if "error: " in line]
    return (REFUSED, "") if len(errors) == 1 else (UNCLEAR, said)


def _refusal(problem: str) -> tuple[str, str]:
    """Return whether a refusal is one sentence on one line."""
    text = problem.strip()
    return (REFUSED, "") if text and "\n" not in text else (UNCLEAR, problem)


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    def end(_signal: int, _frame: FrameType | None) -> None:
        raise _TimeOutError

    clocks = {
        signal.SIGPROF: (signal.ITIMER_PROF, LIMIT),
        signal.SIGALRM: (signal.ITIMER_REAL, LIMIT_OF_CLOCK),
    }
    before = {number: signal.signal(number, end) for number in clocks}
    for clock, seconds in clocks.values():
        signal.setitimer(clock, seconds)
    try:
        yield
    finally:
        for number, (clock, _) in clocks.items():
            signal.setitimer(clock, 0)
            signal.signal(number, before[number])
