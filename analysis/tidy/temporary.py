"""Directories of temporary files, by the process that they belong to."""

from __future__ import annotations

import os
import tempfile
import uuid
from pathlib import Path

_PREFIX = "thermoscope"


def temporary_place() -> Path:
    """Return a directory for temporary files of this process, which is not there yet."""
    return Path(tempfile.gettempdir()) / f"{_PREFIX}-{os.getpid()}-{uuid.uuid4().hex}"


def temporary_files(process: int) -> list[Path]:
    """Return the directories of temporary files that a process left; none where it made none."""
    try:
        return list(Path(tempfile.gettempdir()).glob(f"{_PREFIX}-{process}-*"))
    except OSError:
        return []
