"""The pandoc that ships with pypandoc_binary; each of its warnings is a refusal."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from analysis.tidy.errors import ReportError
from analysis.tidy.extra import extra

WARNING = re.compile(r"^\[(?:WARNING|ERROR)\] *", re.MULTILINE)
MISSING_CITATION = re.compile(r"citation (\S+) not found")


def other_than_shipped() -> str:
    """Return what tells which pandoc may be taken for the one that is shipped, and its state."""
    place = os.environ.get("PYPANDOC_PANDOC") or shutil.which("pandoc")
    if place is None or not Path(place).is_file():
        return repr(place)
    state = Path(place).stat()
    return repr((place, state.st_size, state.st_mtime_ns))


def pandoc(text: str, arguments: Sequence[str], *, directory: Path) -> str:
    """Return the document converted as the arguments say.

    Parameters
    ----------
    text
        The document, given to pandoc's standard input.
    arguments
        Command line arguments of pandoc.
    directory
        Working directory.

    Raises
    ------
    ReportError
        If pandoc fails or warns; a citation key missing from the bibliography is named.
    """
    process = subprocess.run(
        [extra("pypandoc").get_pandoc_path(), *arguments],
        input=text,
        capture_output=True,
        encoding="utf-8",
        cwd=directory,
        check=False,
    )
    missing = sorted(set(MISSING_CITATION.findall(process.stderr)))
    if missing:
        raise ReportError(
            f"Every citation must be in the bibliography; missing: {', '.join(missing)}.",
            "Add the entry, or mend the key.",
        )
    complaint = WARNING.sub("", process.stderr).strip()
    if process.returncode or complaint:
        raise ReportError(
            f"Pandoc must convert the document without complaint; it says: {complaint}"
        )
    return process.stdout
