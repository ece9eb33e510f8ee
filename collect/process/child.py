"""A verb in a process of its own, which can be ended whatever a native library does in it.

Some functions of DuckDB (`pg_sleep`, `list_reduce`) look for no interruption, and short of memory
a native library ends its process. The parent only waits: it ends the child when it is asked to
end or the time is over, and says how the child ended.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import threading
import uuid
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from collect.errors import ScarcityError, ThermoscopeError, TimeLimitError, UnexpectedError
from collect.process.requests import ENDINGS
from collect.process.verbs import EXIT_CODES

#: Exit codes by which a statement ends itself; with any other, such as 1, the interpreter or a
#: native library ended the process.
_CODES = EXIT_CODES.keys() - {1}

#: How the name of a directory of temporary files begins.
_FOLDER = "thermoscope"


def child_code(seconds: float | None) -> int | None:
    """Fork; return None in the child, which goes on, and in the parent the child's exit code.

    What the child prints on standard error is printed once it has ended. To be called before a
    thread is started, and only by a program whose exit code is what the caller returns.

    Parameters
    ----------
    seconds
        Time after which the child is ended [s]; None for no limit.

    Raises
    ------
    TimeLimitError
        If the time is over.
    ScarcityError
        If a native library ended the child, and its memory is limited or the system killed it.
    UnexpectedError
        If a native library ended it otherwise.
    KeyboardInterrupt
        If the parent is asked to end.
    """
    sys.stdout.flush()
    alive, held = os.pipe()  # the end that the parent holds closes with it
    words, write_end = os.pipe()
    child = os.fork()
    if not child:
        os.close(held)
        os.close(words)
        os.dup2(write_end, 2)
        _follow(alive)
        return None
    os.close(alive)
    os.close(write_end)
    try:
        text, status = _wait(child, words, seconds)
    finally:
        os.close(held)
        for left in temporary_files(child):
            shutil.rmtree(left, ignore_errors=True)
    code = os.waitstatus_to_exitcode(status)
    if code not in _CODES:
        raise _end(code)
    sys.stderr.write(text)
    return code


def _follow(alive: int) -> None:
    """Leave requests to end to the parent, and end when it has ended."""
    for number in ENDINGS:
        signal.signal(number, signal.SIG_IGN)

    def wait() -> None:
        os.read(alive, 1)
        os._exit(130)

    threading.Thread(target=wait, daemon=True).start()


def _wait(child: int, words: int, seconds: float | None) -> tuple[str, int]:
    """Return what a child printed on standard error, and its status; kill it in an exception."""
    before: Any = signal.signal(signal.SIGALRM, _raise_late)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds or 0)
        with os.fdopen(words, encoding="utf-8", errors="backslashreplace") as lines:
            text = lines.read()
        return text, os.waitpid(child, 0)[1]
    except BaseException as error:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        if isinstance(error, TimeoutError):
            raise TimeLimitError(seconds or 0) from None
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _raise_late(_number: int, _frame: FrameType | None) -> NoReturn:
    raise TimeoutError


def _end(code: int) -> ThermoscopeError:
    """Return why a native library ended a process."""
    import resource

    is_limited = resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
    if is_limited or -code == signal.SIGKILL:
        return ScarcityError("memory")
    how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    return UnexpectedError(RuntimeError(f"a native library ended the process with {how}"))


def temporary_place() -> Path:
    """Return a directory for temporary files of this process, which is not there yet."""
    return Path(tempfile.gettempdir()) / f"{_FOLDER}-{os.getpid()}-{uuid.uuid4().hex}"


def temporary_files(process: int) -> list[Path]:
    """Return the directories of temporary files that a process left; none where it made none."""
    try:
        return list(Path(tempfile.gettempdir()).glob(f"{_FOLDER}-{process}-*"))
    except OSError:
        return []
