"""Quarto runs this for `quarto render` in the root: it renders the report, the project beside it.

Only the standard library is used here. The exit code is that of the report's own rendering.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
QUARTO = ROOT / "quarto"


def main() -> int:
    """Return the exit code of rendering the report; 0 where Quarto renders a single file."""
    if not os.environ.get("QUARTO_PROJECT_RENDER_ALL"):
        return 0
    # The Quarto that runs this is the one to go on with, on the PATH or not.
    places = os.pathsep.join([os.environ.get("QUARTO_BIN_PATH", ""), os.environ.get("PATH", "")])
    command = shutil.which("quarto", path=places.strip(os.pathsep))
    if command is None:
        print("error: The report needs the quarto command; it is not on the PATH.", file=sys.stderr)
        print("hint: Add the folder of quarto to PATH.", file=sys.stderr)
        return 1
    # What says which project is rendered is of this project, not of the report's.
    kept = {name: it for name, it in os.environ.items() if not name.startswith("QUARTO_PROJECT_")}
    of_project = ROOT / ".venv" / "bin" / "python"
    if of_project.exists():
        kept.setdefault("QUARTO_PYTHON", str(of_project))
    return subprocess.run([command, "render", str(QUARTO)], env=kept, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
