"""A command in a process of its own: run, killed, counted, short of memory; and what it left."""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: Columns and metadata that differ between two runs of the same command.
VOLATILE = ("started_at", "duration_s", "cpu_s")
MARKS = (b"times", b"run_sha256", b"sizes", b"rows_sha256")

#: What Python tells of files: an event of each kind may be the moment of a kill.
EVENTS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "shutil.rmtree")

#: Signals that ask a program to end.
ENDINGS = (signal.SIGINT, signal.SIGTERM)

#: A name of what must be gone when no process is at work.
STRAY = re.compile(r"\.(tmp|old|wal|lock)$|^\.locks$")


def started(act: Callable[[], int], printed: Path) -> int:
    """Start a process that does something, its words going to a file, and return its number."""
    child = os.fork()
    if child:
        return child
    code = 99
    try:
        words = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(words, 1)
        os.dup2(words, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        code = act()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def ended(child: int) -> int:
    """Wait for a process; return its exit code, less than zero for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def asked(function: Callable[[], Any], answer: Path) -> Any:
    """Return what a function gives in a process of its own: no thread starts in this one."""

    def act() -> int:
        answer.write_text(json.dumps(function()), encoding="utf-8")
        return 0

    printed = answer.with_suffix(".said")
    if ended(started(act, printed)):
        raise RuntimeError(printed.read_text(encoding="utf-8", errors="replace"))
    return json.loads(answer.read_text(encoding="utf-8"))


def counting(folder: Path, seen: Callable[[int, str], None]) -> None:
    """Call a function with number, from 1, and name of every event of a file under a folder."""
    count = 0

    def hook(event: str, given: tuple[Any, ...]) -> None:
        nonlocal count
        if event not in EVENTS or not given or not isinstance(given[0], str | os.PathLike):
            return
        if str(given[0]).startswith(str(folder)):
            count += 1
            seen(count, event)

    sys.addaudithook(hook)


def kill_at(event: int, ending: signal.Signals = signal.SIGKILL) -> Callable[[int, str], None]:
    """Return what sends this process a signal at the event of a number."""

    def seen(count: int, _name: str) -> None:
        if count == event:
            os.kill(os.getpid(), ending)

    return seen


def killed_after(child: int, seconds: float, ending: signal.Signals = signal.SIGKILL) -> int:
    """Send a process a signal after some time; return its exit code."""
    time.sleep(seconds)
    os.kill(child, ending)
    return ended(child)


def interruptible(act: Callable[[], int]) -> Callable[[], int]:
    """Return what does something and ends where it is asked to, as the programs do.

    Whoever starts it blocks `ENDINGS` meanwhile, so that none comes before it can be told.
    """

    def acting() -> int:
        for ending in ENDINGS:
            signal.signal(ending, signal.default_int_handler)
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDINGS)
            return act()
        except KeyboardInterrupt as error:
            passed = traceback.extract_tb(error.__traceback__)
            if any(Path(frame.filename).name == "cli.py" for frame in passed):
                raise  # the command line must have told it
            return 130

    return acting


def limited(kind: int, value: int) -> None:
    """Let this process have at most so much of something."""
    resource.setrlimit(kind, (value, value))


def contents(folder: Path) -> dict[str, str]:
    """Return by place the hash of every file, less what differs between two runs."""
    return {
        str(path.relative_to(folder)): _hash(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(".pyc")
    }


def strays(folder: Path) -> list[str]:
    """Return the names of temporary files, of things set aside and of locks."""
    return sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*") if STRAY.search(path.name)
    )


def _hash(path: Path) -> str:
    content = path.read_bytes()
    # A killed process leaves files without an end.
    if len(content) > 8 and content[:4] == b"PAR1" == content[-4:]:
        import pyarrow.parquet as pq

        rows = pq.ParquetFile(path).read(use_threads=False)
        rows = rows.drop_columns([name for name in VOLATILE if name in rows.column_names])
        metadata = sorted(
            (key, text) for key, text in (rows.schema.metadata or {}).items() if key not in MARKS
        )
        content = repr((rows.to_pylist(), metadata)).encode()
    elif path.suffix == ".duckdb" and content[8:12] == b"DUCK":
        import duckdb

        with duckdb.connect(path, read_only=True) as connection:
            names = connection.sql(
                "SELECT schema_name || '.' || table_name FROM duckdb_tables() ORDER BY 1"
            ).fetchall()
            content = repr(
                [
                    (name, connection.sql(f"FROM {name} ORDER BY ALL").fetchall())
                    for (name,) in names
                ]
            ).encode()
    return hashlib.sha256(content).hexdigest()
