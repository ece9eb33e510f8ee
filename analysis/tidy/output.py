"""Writing a file so that it is complete or as it was before."""

from __future__ import annotations

import os
import re
import socket
import zlib
from pathlib import Path

from analysis.tidy.errors import ReportError

#: What a process prepares beside a file: the file's name, its machine and its own number.
_PREPARED = re.compile(r"\.(.+)\.(\d+)-(\d+)\.tmp")


def replace_text(destination: Path, text: str) -> Path:
    """Write text beside its destination, then rename it into place; return the destination.

    Raises
    ------
    ReportError
        If the file cannot be written; what was there stays.
    """
    return replace_bytes(destination, text.encode("utf-8"))


def replace_bytes(destination: Path, content: bytes) -> Path:
    """Write bytes beside their destination, then rename them into place.

    What processes of this machine had prepared in the same directory when they were killed is
    removed first.

    Raises
    ------
    ReportError
        If the file cannot be written; what was there stays.
    """
    name = f".{destination.name}.{_machine()}-{os.getpid()}.tmp"
    temporary = destination.with_name(name)
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        directory = destination.parent
        for beside in directory.iterdir():
            match = _PREPARED.fullmatch(beside.name)
            if match and int(match[2]) == _machine() and not _is_alive(int(match[3])):
                beside.unlink(missing_ok=True)
        with temporary.open("wb") as handle:
            handle.write(content)
            handle.flush()
            os.fsync(handle.fileno())
        temporary.replace(destination)
    except OSError as error:
        raise ReportError(
            f"The file {destination} must be writable; {error.strerror}.",
            "Choose another place, or free some space.",
        ) from error
    finally:
        if temporary.parent.is_dir():
            temporary.unlink(missing_ok=True)
    return destination


def _machine() -> int:
    """Return a number for this machine, to tell its processes from those of others."""
    return zlib.crc32(socket.gethostname().encode())


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # another user's, or no number of a process
    return True
