"""The commit that a page was made from."""

from __future__ import annotations

import subprocess
from pathlib import Path

from collect.process import shipped


def commit() -> str:
    """Return the commit of the checkout, with a mark when files differ from it.

    A package that is installed within another project's checkout has no commit.
    """
    root = shipped.BESIDE
    head = _git(root, "rev-parse", "--short=12", "HEAD") if (root / ".git").exists() else ""
    if not head:
        return "not a git checkout"
    return (
        f"{head} with changes"
        if _git(root, "status", "--porcelain", "--untracked-files=no")
        else head
    )


def _git(root: Path, *arguments: str) -> str:
    try:
        ran = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return ran.stdout.strip()
