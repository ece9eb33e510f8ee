"""Places where finished files are put: whether all can be."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from collect.errors import OutputError


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
