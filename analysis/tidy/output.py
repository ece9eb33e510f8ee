"""Writing a text file so that it is complete or as it was before."""

from __future__ import annotations

import os
from pathlib import Path

from analysis.tidy.errors import ReportError


def replace_text(destination: Path, text: str) -> Path:
    """Write text beside its destination, then rename it into place; return the destination.

    Raises
    ------
    ReportError
        If the file cannot be written; what was there stays.
    """
    temporary = destination.with_name(f".{destination.name}.{os.getpid()}.tmp")
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(destination)
    except OSError as error:
        raise ReportError(
            f"The file {destination} must be writable; {error.strerror}.",
            "Choose another place, or free the space.",
        ) from error
    finally:
        if temporary.parent.is_dir():
            temporary.unlink(missing_ok=True)
    return destination
