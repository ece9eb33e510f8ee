"""One collector at a time per unit: locks on files that end with the process that holds them.

A lock is the operating system's own on a file under ``<out>/.locks``. It vanishes with its
process, however that ends, and the file is removed when the lock is given back. On a network
file system locks hold between machines only where the server grants them (NFS 4, or NFS 3
with its lock daemon); where none are granted the output is refused, and where a mount keeps
them to itself (``local_lock``), collectors on two machines may do the same unit twice: its files
still are each complete, and ``collect check`` finds files that belong to different runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from collect.errors import OutputError
from collect.process.requests import uninterrupted

if TYPE_CHECKING:
    from filelock import BaseFileLock

DIRECTORY = ".locks"

#: Lock under which marks and the files of prompt sets are written, so that two marks that
#: contradict each other are never both set, and no mark loses the prompts it refers to.
OF_MARKS = "run+marks"
_SUFFIX = ".lock"


@contextmanager
def held(out: Path, name: str, *, wait: bool = False) -> Iterator[bool]:
    """Hold the lock of a name within an output directory while the block runs.

    Parameters
    ----------
    out
        Directory of measurements.
    name
        What is locked: the stem of a unit, or of a file that units share.
    wait
        True to wait until another process gives the lock back.

    Yields
    ------
    Whether the lock is held; always True with ``wait``.
    """
    from filelock import FileLock

    path = out / DIRECTORY / f"{name}{_SUFFIX}"
    lock = FileLock(path, timeout=-1 if wait else 0, fallback_to_soft=False)
    try:
        yield _acquire(lock, path)
    finally:
        with uninterrupted():
            if lock.is_locked:
                # Removed before it is given back: who waits on the old file sees it gone.
                path.unlink(missing_ok=True)
                lock.release()
            _remove_when_empty(path.parent)


def is_held_elsewhere(out: Path, name: str) -> bool:
    """Return whether a process is at work under this name at the moment."""
    if not (out / DIRECTORY / f"{name}{_SUFFIX}").exists():
        return False
    with held(out, name) as is_free:
        return not is_free


def remove_abandoned(out: Path) -> None:
    """Remove the lock files that dead processes left behind."""
    for path in sorted((out / DIRECTORY).glob(f"*{_SUFFIX}")):
        with held(out, path.name.removesuffix(_SUFFIX)):
            pass
    _remove_when_empty(out / DIRECTORY)


def _acquire(lock: BaseFileLock, path: Path) -> bool:
    from filelock import Timeout

    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire()
        except Timeout:
            return False
        except OSError as error:
            # Another process removed the empty directory in between, before the lock was made or
            # after it was seen to be there already, and a third may have made it again.
            if isinstance(error, FileNotFoundError) or (
                isinstance(error, FileExistsError) and not path.parent.is_file()
            ):
                continue
            raise OutputError(
                f"The output's file system must grant locks; {path} got none "
                f"({error.strerror or error}).",
                "Choose another --out, on a local disk for example.",
            ) from error
        return True


def _remove_when_empty(directory: Path) -> None:
    with suppress(OSError):
        directory.rmdir()
