"""Quarto runs this after it has rendered: it refuses pages that are not complete in themselves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Return the exit code of the examination of the HTML pages that Quarto names."""
    listed = os.environ.get("QUARTO_USE_FILE_FOR_PROJECT_OUTPUT_FILES")
    names = (
        Path(listed).read_text(encoding="utf-8")
        if listed
        else os.environ.get("QUARTO_PROJECT_OUTPUT_FILES", "")
    )
    pages = [Path(name).resolve() for name in names.splitlines() if name.endswith(".html")]
    if not pages:
        return 0
    python = os.environ.get("QUARTO_PYTHON") or sys.executable
    command = [python, "-m", "analysis", "report", "--examine", *map(str, pages)]
    if not os.environ.get("QUARTO_PROJECT_RENDER_ALL"):
        # Of a page made alone, links to pages that have yet to be made are good.
        command += [part for page in pages for part in ("--page", page.stem)]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
