"""Paths as they are given, one or several, and the text that lies there."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from collect.errors import InputError

#: No sign of any text: every other byte of plain letters in UTF-16.
NUL = "\0"


def expand_path(typed: str | Path) -> Path:
    """Return a path with the home that ``~`` stands for; that of nobody as it was typed.

    >>> expand_path("~nobody-of-that-name/models").as_posix()
    '~nobody-of-that-name/models'
    """
    try:
        return Path(typed).expanduser()
    except RuntimeError:
        return Path(typed)


def local_path(typed: str | Path) -> Path:
    """Return the path of what is written, or changed where it lies.

    Raises
    ------
    InputError
        If it is an address, which can only be read.
    """
    if isinstance(typed, str) and "://" in typed:
        raise InputError(
            f"Output must be written to this machine; {typed} is an address.",
            "Name a path; a directory that is finished is copied to its address as it is.",
        )
    return expand_path(typed)


def is_local(path: Path) -> bool:
    """Return whether a path lies on this machine, and not behind an address."""
    return type(path) is type(Path())


def several(given: Any, what: str, hint: str) -> list[str | Path]:
    """Return names or paths that were given as one or as several.

    Parameters
    ----------
    given
        A name, a path, or some of them.
    what
        What they are, as a sentence begins: "Models".
    hint
        What to give instead of something else.

    Raises
    ------
    InputError
        If something is neither a name nor a path.

    Examples
    --------
    >>> several("gpt2", "Models", ""), several(("gpt2", "opt"), "Models", "")
    (['gpt2'], ['gpt2', 'opt'])
    """
    is_one = isinstance(given, (str, Path)) or not isinstance(given, Iterable)
    values = [given] if is_one else list(given)
    for each in values:
        if not isinstance(each, (str, Path)):
            raise InputError(
                f"{what} must be given as names or paths; found {type(each).__name__}.", hint
            )
    return values


def text_at(path: Path, what: str, hint: str) -> str:
    """Return the text of a file in UTF-8, without a mark of byte order, line ends as they are.

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
        If it cannot be read, is not UTF-8, or holds NUL, as UTF-16 does where it is read so.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        if isinstance(error, UnicodeDecodeError):
            reason = f"not UTF-8, at byte {error.start}"
        else:
            reason = error.strerror or str(error)
        raise InputError(f"{what} cannot be read: {path} ({reason}).", hint) from error
    if NUL in text:
        reason = f"NUL at character {text.index(NUL)}, as in UTF-16 without a mark"
        raise InputError(f"{what} is not UTF-8 text: {path} ({reason}).", hint)
    return text
