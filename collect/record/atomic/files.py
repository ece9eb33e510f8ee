"""Files written so that each is complete or absent, and of several all or none.

What goes into a file is written to a temporary one in the same directory, which is flushed to
disk and then renamed. Killing the process leaves at most a ``.tmp`` file that no reader looks at
and the next write of the same file removes.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import socket
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from collect.errors import OutputError
from collect.process.requests import uninterrupted

#: Writes a file at a path.
Write = Callable[[Path], None]


def write_atomically(path: Path, write: Write) -> None:
    """Call ``write(temporary_path)``, flush the file to disk and rename it to ``path``."""
    write_together({path: write})


def write_together(writes: Mapping[Path, Write]) -> None:
    """Write several files as `write_atomically` does one, and rename none before all are there.

    They are renamed in their order. Where one cannot be written all stay as they were; a process
    that is killed between two renames leaves some new and some old.
    """
    prepared = {path: temporary_beside(path) for path in writes}
    path = next(iter(writes))
    try:
        for path, temporary in prepared.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            remove_of_dead_processes(path)
            writes[path](temporary)
            with temporary.open("rb+") as handle:
                os.fsync(handle.fileno())
            if path.is_dir() and not path.is_symlink():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with uninterrupted():
            for path, temporary in prepared.items():
                temporary.replace(path)
    except OSError as error:
        raise OutputError(
            f"The output file {path} must be writable; {error.strerror or error}.",
            "Choose another --out, or free some space.",
        ) from error
    finally:
        for temporary in prepared.values():
            with suppress(OSError):  # a file system that is only read refuses it, absent or not
                temporary.unlink()


def write_text(path: Path, text: str) -> None:
    """Write a text file, complete or not at all."""
    write_atomically(path, text_writing(text))


def text_writing(text: str) -> Write:
    """Return what writes a text file."""

    def write(path: Path) -> None:
        path.write_text(text, encoding="utf-8")

    return write


def temporary_beside(path: Path) -> Path:
    """Return the place beside a path at which this process prepares what will lie there."""
    return path.with_name(f".{path.name}.{_machine()}{os.getpid():010d}.tmp")


def _machine() -> int:
    """Return a number for this machine, to tell its processes from those of others."""
    return zlib.crc32(socket.gethostname().encode()) + 1


def remove_of_dead_processes(path: Path) -> None:
    """Remove what processes of this machine had prepared for a path when they were killed."""
    name = re.compile(rf"\.{re.escape(path.name)}\.(\d*?)(\d{{1,10}})\.tmp(?:\.wal)?")
    for beside in path.parent.iterdir():
        match = name.fullmatch(beside.name)
        if match and match[1] in ("", str(_machine())) and not _is_alive(int(match[2])):
            remove(beside)


def remove(path: Path) -> None:
    """Remove a file, a link or a directory with all it holds, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # another user's
    return True


def check_open(directories: Iterable[Path]) -> None:
    """Make directories that are not there, and check that files in them can change."""
    for directory in dict.fromkeys(directories):
        try:
            directory.mkdir(parents=True, exist_ok=True)
            if not os.access(directory, os.W_OK | os.X_OK):
                raise PermissionError
        except OSError as error:
            raise OutputError(
                f"The output directory {directory} must be writable; "
                f"{error.strerror or 'files in it may not be changed'}.",
                "Free some space, or give permission to write there.",
            ) from error
