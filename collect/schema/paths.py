"""Paths as a person types them, and the text that lies there."""

from __future__ import annotations

from pathlib import Path

from collect.errors import InputError


def as_path(typed: str | Path) -> Path:
    """Return a path with the home that ``~`` stands for; that of nobody as it was typed.

    >>> as_path("~nobody-of-that-name/models").as_posix()
    '~nobody-of-that-name/models'
    """
    try:
        return Path(typed).expanduser()
    except RuntimeError:
        return Path(typed)


def text_at(path: Path, what: str, hint: str) -> str:
    """Return the text of a file in UTF-8, without a mark of byte order.

    Parameters
    ----------
    path
        The file.
    what
        What it is, as a sentence begins: "A citation".
    hint
        What to do where it cannot be read.

    Raises
    ------
    InputError
        If it cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(
            f"{what} must be a text file that can be read; {path} cannot: {reason}.", hint
        ) from error
