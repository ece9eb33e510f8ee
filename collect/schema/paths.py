"""Paths as a person types them."""

from __future__ import annotations

from pathlib import Path


def as_path(typed: str | Path) -> Path:
    """Return a path with the home that ``~`` stands for; that of nobody as it was typed.

    >>> as_path("~nobody-of-that-name/models").as_posix()
    '~nobody-of-that-name/models'
    """
    try:
        return Path(typed).expanduser()
    except RuntimeError:
        return Path(typed)
