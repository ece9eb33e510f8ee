"""Where the files lie that come with the code: data, prompts, sources of pages, verdicts.

A clone has them beside its packages, an installed product within one, in the same folders.
"""

from __future__ import annotations

import os
from functools import cache
from importlib.resources import files
from pathlib import Path

#: The clone, where this code lies in one; else where packages are installed.
BESIDE = Path(__file__).resolve().parents[2]


@cache
def is_clone() -> bool:
    """Tell whether this code lies in a clone of the project, and not among installed packages."""
    return (BESIDE / "data" / "published").is_dir()


def root() -> Path:
    """Return the directory of ``data/``, ``quarto/``, ``examples/`` and ``reports/``.

    An installed product only reads there.
    """
    return BESIDE if is_clone() else Path(str(files("collect"))) / "shipped"


def project() -> Path:
    """Return the directory whose data are read: the working directory if it has some, else `root`.

    A working directory has some if it holds ``data/published``.
    """
    here = Path.cwd()
    return here if (here / "data" / "published").is_dir() else root()


def workplace() -> Path:
    """Return the directory that outputs go to: that of `project`, never an installed package."""
    return project() if is_clone() or project() != root() else Path.cwd()


def results() -> Path:
    """Return the folder of results that are kept from one command to the next.

    In a clone it is ``.cache/report``, else ``thermoscope`` in the user's folder of caches, which
    is ``$XDG_CACHE_HOME`` or ``~/.cache``.
    """
    if is_clone():
        return BESIDE / ".cache" / "report"
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "thermoscope"
