"""The directory of a checkpoint, which appears under its name complete or not at all."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from safetensors import SafetensorError

from collect.errors import OutputError
from collect.process.requests import uninterrupted
from collect.record.atomic import locks
from collect.record.atomic.files import remove, remove_of_dead_processes, temporary_beside


@contextmanager
def complete_or_absent(checkpoint: Path) -> Iterator[Path]:
    """Lend a temporary directory and, if all goes well, rename it to the checkpoint.

    A killed process leaves at most a directory whose name starts with a dot and which the next
    writing of that checkpoint removes. Two processes may write one checkpoint: each prepares its
    own directory, and the later one stays.
    """
    temporary = temporary_beside(checkpoint)
    try:
        temporary.mkdir(parents=True)
        remove_of_dead_processes(checkpoint)
        yield temporary
        with locks.held(checkpoint.parent, checkpoint.name, wait=True):
            _replace(checkpoint, temporary)
    except Exception as error:
        reason = _reason(error)
        if reason is None:
            raise
        raise OutputError(
            f"The checkpoint {checkpoint} must be writable; {reason}.",
            "Choose another --out, or free some space.",
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _reason(error: Exception) -> str | None:
    """Return what the system said of a file that could not be written; None of another error.

    Libraries written in Rust pass it on as text, that of tokenizers with no class of its own.
    """
    if isinstance(error, OSError):
        return error.strerror or str(error)
    is_passed_on = re.search(r"\(os error \d+\)", str(error)) is not None
    return str(error) if is_passed_on or isinstance(error, SafetensorError) else None


def _replace(checkpoint: Path, temporary: Path) -> None:
    """Flush the files of a directory to disk and rename it, setting an older one aside."""
    for path in (path for path in temporary.rglob("*") if path.is_file()):
        with path.open("rb+") as handle:
            os.fsync(handle.fileno())
    retired = checkpoint.with_name(f".{checkpoint.name}.old")
    remove(retired)
    with uninterrupted():
        if checkpoint.exists() or checkpoint.is_symlink():
            checkpoint.rename(retired)
        try:
            temporary.rename(checkpoint)
        except OSError:
            with suppress(FileNotFoundError):
                retired.rename(checkpoint)
            raise
    remove(retired)
