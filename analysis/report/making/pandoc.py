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


def program() -> Path:
    """Return the pandoc that converts: the one named by PYPANDOC_PANDOC, or the one shipped.

    Another on the path is not asked, newer or older: pages do not depend on the machine.

    Raises
    ------
    ReportError
        If none is there.
    """
    shipped = Path(extra("pypandoc").__file__).parent / "files"
    named = os.environ.get("PYPANDOC_PANDOC")
    place = Path(shutil.which(named or "pandoc", path=None if named else str(shipped)) or "")
    if not place.is_file():
        raise ReportError(
            f"Pandoc must be there to make a page; {named or shipped / 'pandoc'} is no program.",
            "Unset PYPANDOC_PANDOC." if named else "Install the package pypandoc_binary.",
        )
    return place.absolute()  # it runs in the directory of a page


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
        If pandoc is missing, fails or warns; a citation key missing from the bibliography is named.
    """
    process = subprocess.run(
        [str(program()), *arguments],
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
